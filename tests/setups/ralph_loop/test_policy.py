"""What follows from an attempt: pure decisions, and the lines of the log."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bridge.loop.engine.policy import GO_ON, Decision, Limits, Moment, Pauses
from bridge.loop.setups.ralph_loop import policy, session_log
from bridge.loop.setups.ralph_loop.plan import Slices
from bridge.loop.setups.ralph_loop.policy import Attempt, ContextUse, SessionPolicy, SessionState, promised
from bridge.scripts.stream.analysis import Limit
from tests.setups.ralph_loop.conftest import COMPLETE, REPLAN, RULE

NOW = datetime(2026, 11, 20, 18, 5, 9, tzinfo=UTC)
EARLY, LATE = Moment(NOW, 1.0), Moment(NOW, 60.0)
LIMITED = Attempt(1, limit=Limit("usage", None, "limit reached"))


def rules(iterations: int = 9, retries: int = 3, *, strict: bool = False) -> SessionPolicy:
    limits = Limits(iterations, 0, max_seconds=60.0)
    return SessionPolicy(limits, Pauses(retry=0.5, limit=3600.0), retries, strict)


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("", None),
        (COMPLETE, policy.ENDED_COMPLETE),
        (f"I would say {COMPLETE} if", policy.ENDED_COMPLETE),
        (REPLAN, policy.ENDED_REPLAN),
        (f"{REPLAN} {COMPLETE}", policy.ENDED_COMPLETE),
        (COMPLETE.lower(), None),
        ("<promise> COMPLETE </promise>", None),
    ],
)
def test_promises(text: str, ending: Decision | None) -> None:
    assert promised(text) is ending


def test_the_sigpipe_hole_is_strict_only() -> None:
    large = COMPLETE + "x" * 70_000
    assert promised(large) is policy.ENDED_COMPLETE
    assert promised(large, strict=True) is None
    assert promised("x" * 70_000 + COMPLETE, strict=True) is policy.ENDED_COMPLETE


def test_exit_codes_and_reasons() -> None:
    endings = (policy.ENDED_COMPLETE, policy.ENDED_AT_MOST, policy.ENDED_WITHOUT_PLAN, policy.ENDED_REPLAN)
    assert [(each.status, each.reason) for each in (*endings, policy.ENDED_FAILED)] == [
        (0, "completion signal"),
        (0, "max iterations reached"),
        (2, "implementation plan not found"),
        (3, "replan signal"),
        (4, "agent failure exceeded retries"),
    ]


def test_a_failed_attempt_says_nothing() -> None:
    one = rules(retries=0)
    assert one.decide(SessionState(), Attempt(7, response=COMPLETE), EARLY)[1] is policy.ENDED_FAILED
    assert one.decide(SessionState(), Attempt(0, response=""), EARLY)[1] is policy.ENDED_FAILED
    assert one.decide(SessionState(), Attempt(0, response="going on"), EARLY)[1] is GO_ON


def test_retries_count_within_an_iteration() -> None:
    two = rules(retries=2)
    first, decision = two.decide(SessionState(), Attempt(7), EARLY)
    assert (decision.reason, decision.wait, first.again, first.retries, first.iteration) == (
        "retry",
        0.5,
        True,
        1,
        0,
    )
    second, decision = two.decide(first, Attempt(7), EARLY)
    assert (decision.detail, decision.wait) == ("the agent failed, 2 of 2 retries", 1.0)
    assert two.begin(second, None, EARLY) == (second, GO_ON)
    assert two.decide(second, Attempt(0, response="done"), EARLY) == (SessionState(1, successful=1), GO_ON)
    assert two.decide(second, Attempt(7), EARLY) == (SessionState(1, failed=1), policy.ENDED_FAILED)


def test_a_limit_is_waited_out_and_costs_no_retry() -> None:
    state, decision = rules(retries=0).decide(SessionState(), LIMITED, EARLY)
    assert (state, decision.reason, decision.wait) == (SessionState(again=True, limits=1), "api_limit", 3600.0)
    assert decision.detail == "limit reached"
    assert rules(retries=0, strict=True).decide(SessionState(), LIMITED, EARLY)[1] is policy.ENDED_FAILED
    assert rules().decide(SessionState(), LIMITED, LATE) == (SessionState(1, failed=1), policy.ENDED_IN_TIME)
    assert rules().begin(state, None, LATE) == (SessionState(1, failed=1), policy.ENDED_IN_TIME)


def test_a_reset_that_has_passed_is_no_reason_to_hurry() -> None:
    stale = Attempt(1, limit=Limit("usage", NOW.timestamp() - 60, "limit reached", exact=True))
    state, waits = SessionState(), []
    for _ in range(4):
        state, decision = rules(retries=0).decide(state, stale, EARLY)
        waits.append(decision.wait)
    assert waits == [0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("done", "plan", "at", "decision"),
    [
        (0, None, EARLY, GO_ON),
        (2, Slices(missing=True), LATE, policy.ENDED_AT_MOST),
        (0, Slices(missing=True), LATE, policy.ENDED_WITHOUT_PLAN),
        (0, Slices(complete=True), LATE, policy.ENDED_COMPLETE),
        (0, Slices(waiting=("Task 1",)), LATE, policy.ENDED_REPLAN),
        (0, Slices(), LATE, policy.ENDED_IN_TIME),
        (1, Slices(), EARLY, GO_ON),
    ],
)
def test_before_an_iteration(done: int, plan: Slices | None, at: Moment, decision: Decision) -> None:
    assert rules(2).begin(SessionState(done, plan=plan), None, at)[1] is decision


def test_strict_arithmetic_dies_of_what_is_no_integer() -> None:
    attempt = Attempt(0, response=COMPLETE, percent="12.5")
    assert rules(strict=True).decide(SessionState(), attempt, EARLY)[1].status == 1
    after, decision = rules().decide(SessionState(), attempt, EARLY)
    assert (decision, after.context.percents) == (policy.ENDED_COMPLETE, (12,))


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
    assert session_log.begins(3, NOW, "plan", "p.md") == [
        RULE,
        "ITERATION 3  2026-11-20 18:05:09",
        "mode: plan  prompt: p.md",
        RULE,
    ]
    assert session_log.done(3, 12) == [RULE, "ITERATION 3 DONE in 12s ----"]
    state = SessionState(iteration=3, successful=2, failed=1, context=ContextUse((5,), "9"))
    assert session_log.summary(state, iterations=3, seconds=9, reason="completion signal", code=0) == [
        RULE,
        "SESSION SUMMARY",
        RULE,
        "Iterations: 3  Successful: 2  Failed: 1",
        "Duration: 9s",
        "Context: min 5% / avg 5% / max 5%  (window: 9 tokens)",
        "Exit: completion signal (code 0)",
        RULE,
    ]
