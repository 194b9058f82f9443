"""Texts of a turn: what hooks print, and a live filter that is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.errors import FilterNotCompiled
from bridge.loop.turn.agent import hook_texts
from bridge.loop.turn.tool import HookText
from bridge.scripts.stream.display import LiveFilter

if TYPE_CHECKING:
    from pathlib import Path


def test_what_a_hook_prints_is_told_apart() -> None:
    assert [*hook_texts("out\n", "err\n")] == [HookText("out\n"), HookText("err\n", error=True)]
    assert [*hook_texts("", "")] == []


@pytest.mark.usefixtures("leaks")
def test_a_filter_that_does_not_compile_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(FilterNotCompiled, match=r"does not compile: \. \| \("):
        LiveFilter(". | (", env=None, cwd=tmp_path)
