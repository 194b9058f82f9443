"""Calls per hour and write timeouts: arithmetic."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.setups.dot_ralph.rules.calls import Calls, hour_stamp, read_calls, seconds_to_next_hour
from bridge.setups.dot_ralph.values import write_timeout

NOW = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)


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
