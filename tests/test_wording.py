"""Counts, time spans, money and foreign text as people read them."""

from __future__ import annotations

import pytest

from bridge.base.wording import columns, duration, one_line, plural, tame, usd


def test_plural_forms() -> None:
    told = plural(1, "error"), plural(0, "error"), plural(2, "turn"), plural(2, "entry", "entries")
    assert told == ("1 error", "0 errors", "2 turns", "2 entries")


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.42, "0.4 s"), (75, "1 min 15 s"), (119.6, "2 min 0 s"), (7261, "2 h 1 min")]
)
def test_time_spans(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("amount", "shown"), [(0, "$0.00"), (0.0123, "$0.0123"), (0.1, "$0.10"), (12.345, "$12.35")]
)
def test_small_amounts_have_more_digits(amount: float, shown: str) -> None:
    assert usd(amount) == shown


def test_foreign_text_moves_no_cursor() -> None:
    assert tame("a\x1b[2Jb\n") == "a [2Jb "
    assert tame("a\nb\t", keep="\n") == "a\nb "
    assert one_line("a \x1b\n b") == "a b"
    assert (one_line("abcdef", 5), one_line("abcde", 5)) == ("ab...", "abcde")


def test_a_column_is_as_wide_as_a_terminal_shows_it() -> None:
    assert columns([("日本", "x"), ("abc", "y"), ("", "z")], indent=" ") == [" 日本  x", " abc   y", "       z"]
    assert columns([("a", ""), ("bb", "")]) == ["a", "bb"]
