"""Calls per hour: arithmetic."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.base import timestamps
from bridge.loop.setups.dot_ralph.files import Calls

NOW = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)


# calls per hour


@pytest.mark.parametrize(
    ("minute", "second", "wait"), [(0, 0, 3600), (8, 9, 3111), (9, 8, 3052), (59, 59, 1), (59, 0, 60)]
)
def test_T9_the_wait_for_the_next_hour(minute: int, second: int, wait: int) -> None:  # noqa: N802
    now = NOW.replace(minute=minute, second=second).timestamp()
    assert timestamps.next_hour(now) - now == wait


@given(st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1)))
def test_T9_the_wait_ends_on_the_hour(now: datetime) -> None:  # noqa: N802
    wait = timestamps.next_hour(now.timestamp()) - now.timestamp()
    assert 0 < wait <= 3600
    spent = now.minute * 60 + now.second + now.microsecond / 1e6
    assert spent + wait == pytest.approx(3600)


def test_calls_of_an_hour() -> None:
    calls = Calls.read("99\n", "2026112014\n")
    assert (calls.at(NOW), calls.at(NOW.replace(hour=15))) == (Calls(99, "2026112014"), Calls(0, "2026112015"))
    assert (calls.left(100), calls.one_more().left(100), calls.left(50)) == (1, 0, 0)
    assert timestamps.hour(NOW.timestamp()) == "2026112014"


@pytest.mark.parametrize("text", [None, "", "x", "-3", "08x", "\u0663"])
def test_a_damaged_count_is_none(text: str | None) -> None:
    assert Calls.read(text, None) == Calls(0, "")


def test_T9_a_count_with_a_zero_in_front_is_decimal() -> None:  # noqa: N802
    assert Calls.read("08", None).count == 8
