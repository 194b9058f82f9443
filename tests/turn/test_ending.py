"""When a turn is over though its program isn't: by the last event of each CLI's recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.loop.turn.ending import EndWatch, Over
from bridge.scripts.stream.events import Reader

ROOT = Path(__file__).resolve().parents[1]
ANSWERED = sorted(
    [
        *(ROOT / "real/captures").glob("*.out"),
        *(ROOT / "data/recordings").glob("*.out"),
    ]
)
# Nothing closes these: plain text, an error behind which the CLI may go on.
OPEN = {"copilot-text.out", "opencode-401.out"}
TOLD_BEFORE = {"kimi.out": 1}
"""Lines behind the one that closes the turn."""


def fed(lines: list[bytes]) -> Reader:
    reader = Reader(text=False)
    for line in lines:
        reader.feed(line)
    return reader


@pytest.mark.parametrize("path", ANSWERED, ids=lambda path: path.name)
def test_the_last_event_closes_the_turn(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    assert fed(lines).answered() is (path.name not in OPEN)
    if path.name not in OPEN:
        closing = len(lines) - 1 - TOLD_BEFORE.get(path.name, 0)
        assert [fed(lines[:each]).answered() for each in (closing, closing + 1)] == [False, True]


RESULT = b'{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s"}\n'
INIT = b'{"type":"system","subtype":"init","session_id":"s","tools":[]}\n'
NEWS = b'{"type":"system","subtype":"task_notification","session_id":"s"}\n'


def test_a_second_answer_of_the_same_process_counts() -> None:
    reader = fed([INIT, RESULT, INIT])
    assert not reader.answered()
    reader.feed(RESULT)
    assert (reader.answered(), reader.closings) == (True, 2)


@pytest.mark.parametrize("line", [b"GET / 200\n", NEWS, b"\n"], ids=["a child's log", "news", "blank"])
def test_what_comes_behind_an_answer_does_not_take_it_back(line: bytes) -> None:
    reader, watch = fed([INIT, RESULT]), EndWatch(0.0, grace=5.0, silence=None)
    watch.printed(1.0, reader.closings)
    reader.feed(line)
    watch.printed(5.5, reader.closings)
    assert watch.over(5.9, reader.answered) is None
    assert watch.over(6.0, reader.answered) is Over.ANSWERED


def test_one_document_is_an_answer_when_it_is_whole() -> None:
    lines = [b"{\n", b'  "session_id": "s",\n', b'  "response": "Done.",\n', b'  "stats": {}\n', b"}\n"]
    assert [fed(lines[:count]).answered() for count in range(6)] == [False] * 5 + [True]


def test_nothing_ends_what_has_not_answered() -> None:
    watch = EndWatch(0.0, grace=5.0, silence=None)
    watch.printed(1.0, 0)
    assert watch.over(1e6, lambda: False) is None
    assert EndWatch(0.0, grace=0.0, silence=None).over(1e6, lambda: True) is None


def test_silence_is_counted_from_the_last_output() -> None:
    watch = EndWatch(0.0, grace=5.0, silence=60.0)
    watch.printed(30.0, 0)
    assert watch.over(89.0, lambda: False) is None
    assert watch.over(90.0, lambda: False) is Over.SILENT


def test_a_cli_without_events_is_over_once_it_is_at_rest() -> None:
    asked: list[float] = []

    def at_rest() -> bool:
        asked.append(now)
        return len(asked) > 2

    watch = EndWatch(0.0, grace=5.0, silence=None, rest=60.0)
    for now in range(40):
        assert watch.over(now, lambda: False, at_rest) is None
    watch.printed(40.0, 0)
    for now in range(40, 130):
        assert watch.over(now, lambda: False, at_rest) is (Over.ANSWERED if now >= 100 else None)
        if now == 100:
            break
    assert asked == [30, 70, 100]
