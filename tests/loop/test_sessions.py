"""Sessions, calls per hour, write timeouts: records and arithmetic."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.loop.calls import Calls, hour_stamp, read_calls, seconds_to_next_hour
from bridge.loop.heartbeat import write_timeout
from bridge.loop.sessions import (
    LoopSession,
    Resume,
    adopt_session,
    inactive_session,
    new_session,
    read_driver_session,
    read_session,
    resume,
    session_history,
    write_session,
)

NOW = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)
STAMP = "2026-11-20T14:00:00+00:00"
EARLIER = "2026-11-20T13:00:00+00:00"
ACTIVE = LoopSession("s-1", EARLIER, EARLIER)


def test_a_new_session() -> None:
    assert new_session(NOW, 77) == LoopSession(f"ralph-{int(NOW.timestamp())}-77", STAMP, STAMP)


def test_the_records() -> None:
    assert read_session(write_session(ACTIVE), NOW) == ACTIVE
    assert list(json.loads(write_session(ACTIVE))) == ["session_id", "created_at", "last_used"]
    inactive = inactive_session("manual_interrupt", NOW)
    assert json.loads(inactive) == {"session_id": "", "reset_at": STAMP, "reset_reason": "manual_interrupt"}
    assert read_session(inactive, NOW) is None


@pytest.mark.parametrize(
    ("record", "active"),
    [
        ({"session_id": "s", "created_at": STAMP}, True),
        ({"session_id": "s", "created_at": "2026-11-20T14:00:00Z", "reset_at": "", "reset_reason": ""}, True),
        ({"session_id": "s", "created_at": "2026-11-20 13:59:59"}, True),
        ({"session_id": "s", "created_at": "2026-11-20T14:00:01+00:00"}, False),
        ({"session_id": "s", "created_at": "yesterday"}, False),
        ({"session_id": "s", "created_at": 5}, False),
        ({"session_id": 5, "created_at": STAMP}, False),
        ({"session_id": "", "created_at": STAMP}, False),
        ([], False),
    ],
)
def test_active_or_not(record: object, active: bool) -> None:
    assert (read_session(json.dumps(record), NOW) is not None) is active


def test_a_drivers_id_is_adopted() -> None:
    assert adopt_session(ACTIVE, "s-1", NOW) == LoopSession("s-1", EARLIER, STAMP)
    assert adopt_session(ACTIVE, "s-2", NOW) == adopt_session(None, "s-2", NOW) == LoopSession("s-2", STAMP, STAMP)


def test_the_history_keeps_fifty() -> None:
    text = "damaged"
    for number in range(60):
        text = session_history(text, "project_complete", number, NOW)
    found = json.loads(text)
    assert [entry["loop_number"] for entry in found] == list(range(10, 60))
    assert list(found[0]) == ["timestamp", "from_state", "to_state", "reason", "loop_number"]


@pytest.mark.parametrize(
    ("text", "session_id"),
    [
        ("abc-1\n", "abc-1"),
        (b"ses_1\r\nnoise", "ses_1"),
        ('{"session_id": "x-1", "timestamp": "t"}', "x-1"),
        ('{"sessionId": "x-2"}', "x-2"),
        ("", None),
        ("null", None),
        ("{", None),
        ("two words", None),
        ("id1,id2," * 1000, None),
        ("--resume", None),
        (b"\xff\xfe", None),
    ],
)
def test_F5_a_drivers_session_is_one_token(text: str | bytes, session_id: str | None) -> None:  # noqa: N802
    assert read_driver_session(text) == session_id


@pytest.mark.parametrize(
    ("text", "age", "wanted"),
    [
        (None, 0, Resume(None, False, "none")),
        ("s-1", 24 * 3600 - 1, Resume("s-1", False, "resumed")),
        ("s-1", 24 * 3600, Resume(None, True, "expired")),
        ("s-1", None, Resume(None, True, "unreadable")),
        ("a b", 1, Resume(None, True, "invalid")),
        ("s-1", -60, Resume("s-1", False, "resumed")),
    ],
)
def test_resuming(text: str | None, age: int | None, wanted: Resume) -> None:
    assert resume(text, None if age is None else 1e9 - age, 1e9, 24) == wanted


# calls per hour


@pytest.mark.parametrize(
    ("minute", "second", "wait"), [(0, 0, 3600), (8, 9, 3111), (9, 8, 3052), (59, 59, 1), (59, 0, 60)]
)
def test_T9_the_wait_for_the_next_hour(minute: int, second: int, wait: int) -> None:  # noqa: N802
    assert seconds_to_next_hour(NOW.replace(minute=minute, second=second)) == wait


@given(st.datetimes())
def test_T9_the_wait_ends_on_the_hour(now: datetime) -> None:  # noqa: N802
    wait = seconds_to_next_hour(now)
    assert 1 <= wait <= 3600
    assert (now.minute * 60 + now.second + wait) % 3600 == 0


def test_calls_of_an_hour() -> None:
    calls = read_calls("99\n", "2026112014\n")
    assert (calls.at(NOW), calls.at(NOW.replace(hour=15))) == (Calls(99, "2026112014"), Calls(0, "2026112015"))
    assert (calls.left(100), calls.one_more().left(100), calls.left(50)) == (1, 0, 0)
    assert hour_stamp(NOW) == "2026112014"


@pytest.mark.parametrize("text", [None, "", "x", "-3", "08x", "\u0663"])
def test_a_damaged_count_is_none(text: str | None) -> None:
    assert read_calls(text, None) == Calls(0, "")


def test_T9_a_count_with_a_zero_in_front_is_decimal() -> None:  # noqa: N802
    assert read_calls("08", None).count == 8


# the write heartbeat


@pytest.mark.parametrize(
    ("minutes", "run", "override", "seconds"),
    [
        ("8", 15, "", 480),
        (8, 8, "", 360),
        (20, 15, "", 780),
        (3, 2, "", 0),
        (5, 3, "", 60),
        ("0", 15, "", 0),
        ("08", 15, "", 480),
        ("8", 15, "7", 7),
        ("0", 15, "7", 0),
        ("8", 15, "x", 480),
    ],
)
def test_write_timeouts(minutes: str | int, run: int, override: str, seconds: int) -> None:
    assert write_timeout(minutes, run, override_seconds=override) == (seconds, "")


@pytest.mark.parametrize("minutes", ["", "8m", "-1", "1.5"])
def test_a_write_timeout_that_is_no_number_is_off(minutes: str) -> None:
    found = write_timeout(minutes, 15)
    assert found.seconds == 0
    assert repr(minutes) in found.warning
