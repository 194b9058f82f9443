"""The last sentence of what an agent says: not its last piece, not an event, not a rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.cli._view import Bottom
from bridge.loop.engine.events import CheckEnded, CheckStarted, IterationStarted, OutputText, RunProgress
from bridge.loop.engine.logs import LiveLog, last_words
from bridge.loop.engine.state import LoopState
from bridge.loop.turn.check import Checked
from bridge.loop.turn.progress import last_sentence


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("Read it. Now I fix the te", "Now I fix the te"),
        ("One.\nTwo, v1.2.3 it is.\n\n=====\n", "Two, v1.2.3 it is."),
        ("好的。现在修复", "现在修复"),
        ("...\n", ""),
        ("", ""),
    ],
)
def test_of_a_text(text: str, last: str) -> None:
    assert last_sentence(text) == last


def test_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "live.log"
    assert last_words(log) is None
    delta = '{"type":"stream_event","event":{"type":"content_block_delta","delta":{"text":"x"}}}'
    message = '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"A. Then b."}]}}'
    log.write_text(f"=== Turn 1 ===\n{message}\n{delta}\n")
    assert last_words(log) == "Then b."
    log.write_text("x" * 100_000 + "\nDone. And more")
    assert last_words(log) == "And more"


def test_of_a_run_whose_text_comes_in_pieces() -> None:
    bottom = Bottom(100, None)
    bottom.take(_started())
    for piece in ("Read", " it. No", "w I fi", "x it"):
        bottom.take(OutputText(1, piece))
    assert bottom.lines()[-1] == "last: Now I fix it"
    bottom.take(_started())
    bottom.take(RunProgress(1, 1.0, "One. Two.", "", 0))
    bottom.take(RunProgress(1, 2.0, '{"type":"x","text":"cu', "", 1))
    assert bottom.lines()[-1] == "last: Two."


def test_a_check_that_is_under_way_is_shown_in_place_of_the_agent() -> None:
    bottom = Bottom(100, None, clock=lambda: 0.0)
    bottom.take(_started())
    bottom.take(CheckStarted(1, "make test", Path("log")))
    assert bottom.lines()[1:] == ["check `make test` under way for 0.0 s"]
    bottom.take(CheckEnded(1, "make test", Path("log"), Checked(0, "", 1.0, ())))
    assert bottom.lines()[1:] == []


def _started() -> IterationStarted:
    return IterationStarted(1, ("claude",), None, live=True, plan=None, log=Path("log"), state=LoopState())


def test_a_turn_that_has_said_nothing_has_no_last_words(tmp_path: Path) -> None:
    log = tmp_path / "live.log"
    live = LiveLog(log)
    live.begin("Turn 2")
    assert last_words(log) is None
    live.write(b"I read the plan.\n")
    assert last_words(log) == "I read the plan."
    live.close()
