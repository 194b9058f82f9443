"""What follows from an attempt: pure decisions, and the lines of the log."""

from __future__ import annotations

from datetime import datetime

import pytest

from bridge.setups.ralph_loop import logs
from bridge.setups.ralph_loop.decide import Attempt, Context, Ending, Signal, after_iteration, context, signal_in
from tests.setups.ralph_loop.conftest import COMPLETE, REPLAN, RULE


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("", Signal.NONE),
        (COMPLETE, Signal.COMPLETE),
        (f"I would say {COMPLETE} if", Signal.COMPLETE),
        (REPLAN, Signal.REPLAN),
        (f"{REPLAN} {COMPLETE}", Signal.COMPLETE),
        (COMPLETE.lower(), Signal.NONE),
        ("<promise> COMPLETE </promise>", Signal.NONE),
    ],
)
def test_signals(text: str, signal: Signal) -> None:
    assert signal_in(text) is signal


def test_the_sigpipe_hole_is_strict_only() -> None:
    large = COMPLETE + "x" * 70_000
    assert signal_in(large) is Signal.COMPLETE
    assert signal_in(large, strict=True) is Signal.NONE
    assert signal_in("x" * 70_000 + COMPLETE, strict=True) is Signal.COMPLETE


def test_a_failed_attempt_says_nothing() -> None:
    ending = after_iteration(Attempt(7, COMPLETE))
    assert ending == Ending(4, "agent failure exceeded retries")
    assert after_iteration(Attempt(0, "")) == ending
    assert after_iteration(Attempt(0, "going on")) is None


@pytest.mark.parametrize(
    ("percent", "counted"),
    [("", ()), ("12", (12,)), ("08", (8,)), ("12.5", (12,)), ("40%", (40,)), ("abc", None), ("-1", None)],
)
def test_context(percent: str, counted: tuple[int, ...] | None) -> None:
    found = context(Context(), percent, "1000")
    assert (None if found is None else found.percents) == counted


def test_the_context_line() -> None:
    assert Context((10, 21, 12), "200000").line() == "Context: min 10% / avg 14% / max 21%  (window: 200000 tokens)"
    assert Context((7,)).line() == "Context: min 7% / avg 7% / max 7%"
    assert Context().line() == ""


def test_the_lines_of_a_log() -> None:
    now = datetime(2026, 11, 20, 18, 5, 9)
    assert logs.begins(3, now, "plan", "p.md") == [
        RULE,
        "ITERATION 3  2026-11-20 18:05:09",
        "mode: plan  prompt: p.md",
        RULE,
    ]
    assert logs.done(3, 12) == [RULE, "ITERATION 3 DONE in 12s ----"]
    ending = Ending(0, "completion signal")
    summary = logs.summary(ending, iterations=3, successful=2, failed=1, seconds=9, context=Context((5,), "9"))
    assert summary == [
        RULE,
        "SESSION SUMMARY",
        RULE,
        "Iterations: 3  Successful: 2  Failed: 1",
        "Duration: 9s",
        "Context: min 5% / avg 5% / max 5%  (window: 9 tokens)",
        "Exit: completion signal (code 0)",
        RULE,
    ]
