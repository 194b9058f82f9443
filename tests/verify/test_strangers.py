"""Scripts as strangers write them: no false alarm on the sound ones, and each mistake is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .representatives import is_listed, is_same, representatives
from .strangers import Stranger, gaps, judged, strangers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Record = Callable[[str, object], None]

ALL = {stranger.id: stranger for stranger in strangers()}
KNOWN = gaps()
LISTED = representatives()["strangers"]
SOME = (
    *("sound: claude-container", "sound: gemini-stream"),
    *("extract-other-id: codex-devbox: any id", "response-name: claude-ci: contents"),
)


def test_gaps_and_representatives_are_of_scripts_that_are_there() -> None:
    names = [stranger.name for stranger in ALL.values()]
    assert len(names) == len(set(names))
    assert not set(KNOWN) - set(names)
    assert not set(LISTED) - set(ALL)
    assert not set(KNOWN) & {ALL[each].name for each in (*SOME, *LISTED)}


@pytest.mark.parametrize("name", SOME)
def test_some(name: str, tmp_path: Path) -> None:
    verdict = judged(ALL[name], tmp_path)
    assert verdict.right, verdict.said


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTED)
def test_one_of_each_verdict(name: str, tmp_path: Path, record_property: Record) -> None:
    verdict = judged(ALL[name], tmp_path)
    record_property("mistake" if ALL[name].expected else "sound", verdict.right)
    assert verdict.right, f"{ALL[name].expected or 'sound'}, but verify says\n{verdict.said}"
    same = is_same(verdict.codes, LISTED[name])
    assert same, f"where that is right, correct representatives.yaml:\n{verdict.said}"


def _wrong(stranger: Stranger, folder: Path, record_property: Record) -> str:
    verdict = judged(stranger, folder)
    record_property("mistake" if stranger.expected else "sound", verdict.right)
    gap = KNOWN.get(stranger.name)
    if gap is None and not verdict.right:
        return f"{stranger.id}: {stranger.expected or 'sound'}, but verify says\n{verdict.said}"
    if gap is not None and verdict.right:
        return f"{stranger.id}: verify judges it rightly now: take it out of gaps.yaml"
    if gap is None and stranger.expected and not is_listed(verdict.codes):
        return f"{stranger.id}: no script of representatives.yaml has this verdict: add it there\n{verdict.said}"
    return ""


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", sorted({stranger.kind for name, stranger in ALL.items() if name not in LISTED}))
def test_all_others(kind: str, tmp_path: Path, record_property: Record) -> None:
    wrong = []
    for number, stranger in enumerate(
        each for name, each in ALL.items() if name not in LISTED and each.kind == kind
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        wrong.append(_wrong(stranger, folder, record_property))
    assert not any(wrong), "\n".join(filter(None, wrong))
