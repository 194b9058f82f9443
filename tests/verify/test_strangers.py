"""Scripts as strangers write them: no false alarm on the sound ones, and each mistake is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .strangers import Stranger, gaps, judged, strangers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ALL = strangers()
KNOWN = gaps()
SOME = ("claude-container", "gemini-stream", "codex-devbox: any id", "claude-ci: contents")


def test_gaps_are_of_scripts_that_are_there() -> None:
    names = [stranger.name for stranger in ALL]
    assert len(names) == len(set(names))
    assert not set(KNOWN) - set(names)
    assert not set(KNOWN) & set(SOME)


@pytest.mark.parametrize("name", SOME)
def test_some(name: str, tmp_path: Path) -> None:
    verdict = judged(next(stranger for stranger in ALL if stranger.name == name), tmp_path)
    assert verdict.right, verdict.said


@pytest.mark.slow
@pytest.mark.parametrize("stranger", ALL, ids=[f"{s.kind}: {s.name}" for s in ALL])
def test_each(stranger: Stranger, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    gap = KNOWN.get(stranger.name)
    verdict = judged(stranger, tmp_path)
    record_property("mistake" if stranger.expected else "sound", verdict.right)
    if gap is not None:
        assert not verdict.right, "verify judges it rightly now: take it out of gaps.yaml"
        pytest.xfail(gap)
    assert verdict.right, f"{stranger.kind}: {stranger.expected or 'sound'}, but verify says\n{verdict.said}"
