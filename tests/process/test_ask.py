"""A short run of a program, within its bounds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge.base.process.ask import TOO_LONG, TOO_MUCH, ask

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("where", ["", ">&2"])
def test_a_program_that_prints_too_much_is_ended(tmp_path: Path, where: str) -> None:
    script = f"echo $$ > pid; yes {where} & yes {where}"
    ran = ask(["sh", "-c", script], cwd=tmp_path, env=os.environ, patience=100, most=100_000)
    assert (ran.status, ran.out) == (TOO_MUCH, b"")
    assert "printed more than 100,000 bytes" in ran.err
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_what_is_within_its_bounds_is_given(tmp_path: Path) -> None:
    ran = ask(["echo", "a"], cwd=tmp_path, env=os.environ, patience=100, most=2)
    assert (ran.status, ran.out) == (0, b"a\n")
    assert ask(["sleep", "100"], cwd=tmp_path, env=os.environ, patience=0.1, most=2).status == TOO_LONG
    assert ask(["true"], cwd=tmp_path, env=os.environ, patience=100, most=0).ok
