"""What follows from an attempt: pure decisions, and the lines of the log."""

from __future__ import annotations

from datetime import datetime

import pytest

from bridge.setups.ralph_loop import store
from bridge.setups.ralph_loop.plan import Slices
from bridge.setups.ralph_loop.policy import (
    Attempt,
    ContextUse,
    Ending,
    Policy,
    SessionState,
    Signal,
    Step,
    signal_in,
)
from bridge.stream.analysis import Limit
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


FAILED = Ending(4, "agent failure exceeded retries")
AT_MOST = Ending(0, "max iterations reached")
IN_TIME = Ending(0, "max minutes reached")


def test_a_failed_attempt_says_nothing() -> None:
    policy = Policy(9, 0)
    assert policy.decide(SessionState(), Attempt(7, COMPLETE), time_is_up=False)[1] == FAILED
    assert policy.decide(SessionState(), Attempt(0, ""), time_is_up=False)[1] == FAILED
    assert policy.decide(SessionState(), Attempt(0, "going on"), time_is_up=False)[1] is Step.NEXT


def test_retries_count_within_an_iteration() -> None:
    policy, state = Policy(9, 1), SessionState()
    state, step = policy.decide(state, Attempt(7, ""), time_is_up=False)
    assert (step, state.retries, state.iteration) == (Step.RETRY, 1, 0)
    after, step = policy.decide(state, Attempt(0, "done"), time_is_up=False)
    assert (step, after) == (Step.NEXT, SessionState(iteration=1, successful=1))
    after, step = policy.decide(state, Attempt(7, ""), time_is_up=False)
    assert (step, after) == (FAILED, SessionState(iteration=1, failed=1))


def test_a_limit_costs_no_retry() -> None:
    attempt, state = Attempt(1, "", Limit("usage", None, "limit reached")), SessionState()
    assert Policy(9, 0).decide(state, attempt, time_is_up=False) == (state, Step.LIMIT)
    assert Policy(9, 0, strict=True).decide(state, attempt, time_is_up=False)[1] == FAILED
    assert Policy(9, 3).decide(state, attempt, time_is_up=True)[1] == IN_TIME


@pytest.mark.parametrize(
    ("done", "plan", "time_is_up", "ending"),
    [
        (0, None, False, None),
        (2, Slices(missing=True), True, AT_MOST),
        (0, Slices(missing=True), True, Ending(2, "implementation plan not found")),
        (0, Slices(complete=True), True, Ending(0, "completion signal")),
        (0, Slices(waiting=("Task 1",)), True, Ending(3, "replan signal")),
        (0, Slices(), True, IN_TIME),
        (1, Slices(), False, None),
    ],
)
def test_before_an_iteration(done: int, plan: Slices | None, time_is_up: bool, ending: Ending | None) -> None:
    assert Policy(2, 3).begin(SessionState(iteration=done), plan, time_is_up=time_is_up) == ending


@pytest.mark.parametrize(
    ("percent", "counted"),
    [("", ()), ("12", (12,)), ("08", (8,)), ("12.5", (12,)), ("40%", (40,)), ("abc", None), ("-1", None)],
)
def test_context(percent: str, counted: tuple[int, ...] | None) -> None:
    found = ContextUse().counted(percent, "1000")
    assert (None if found is None else found.percents) == counted


def test_the_context_line() -> None:
    assert (
        ContextUse((10, 21, 12), "200000").line() == "Context: min 10% / avg 14% / max 21%  (window: 200000 tokens)"
    )
    assert ContextUse((7,)).line() == "Context: min 7% / avg 7% / max 7%"
    assert ContextUse().line() == ""


def test_the_lines_of_a_log() -> None:
    now = datetime(2026, 11, 20, 18, 5, 9)
    assert store.begins(3, now, "plan", "p.md") == [
        RULE,
        "ITERATION 3  2026-11-20 18:05:09",
        "mode: plan  prompt: p.md",
        RULE,
    ]
    assert store.done(3, 12) == [RULE, "ITERATION 3 DONE in 12s ----"]
    ending = Ending(0, "completion signal")
    state = SessionState(iteration=3, successful=2, failed=1, context=ContextUse((5,), "9"))
    summary = store.summary(state, ending, iterations=3, seconds=9)
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
