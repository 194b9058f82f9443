"""The loop's decisions, as a table and as properties."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.plan import Plan, parse_plan
from bridge.loop.engine.policy import Decision, Limits, Moment, PlanPolicy, Verdict
from bridge.loop.engine.state import LoopState
from bridge.scripts.session_id import is_dead_session

OPEN = Plan(1, 3, "two")
DONE = Plan(3, 3, None)
NO_BOXES = Plan(0, 0, None)
GO_ON, COMPLETE, INCOMPLETE = Verdict.CONTINUE, Verdict.COMPLETE, Verdict.INCOMPLETE
AT = Moment(datetime(2026, 1, 2, tzinfo=UTC))


def begin(state: LoopState, plan: Plan | None) -> Decision:
    policy: PlanPolicy[LoopState, Outcome] = PlanPolicy()
    return policy.begin(state, plan, AT)[1]


def decide(state: LoopState, outcome: Outcome, limits: Limits) -> tuple[LoopState, Decision]:
    policy: PlanPolicy[LoopState, Outcome] = PlanPolicy(limits)
    return policy.decide(state, outcome, AT)


@pytest.mark.parametrize(
    ("outcome", "verdict", "reason"),
    [
        (Outcome(), GO_ON, ""),
        (Outcome(exit_signal=True), COMPLETE, "project_complete"),
        (Outcome(exit_signal=False), GO_ON, ""),
        (Outcome(promised=True), COMPLETE, "completion_promise"),
        (Outcome(promised=True, exit_signal=False), COMPLETE, "completion_promise"),
        (Outcome(plan=OPEN), GO_ON, ""),
        (Outcome(plan=DONE), COMPLETE, "plan_complete"),
        (Outcome(plan=DONE, exit_signal=False), COMPLETE, "plan_complete"),
        (Outcome(plan=DONE, status=1), COMPLETE, "plan_complete"),
        (Outcome(plan=NO_BOXES), GO_ON, ""),
        (Outcome(plan=OPEN, exit_signal=True), COMPLETE, "project_complete"),
        (Outcome(status=1), GO_ON, "retry"),
        (Outcome(status=-15), GO_ON, "retry"),
        (Outcome(timed_out=True), GO_ON, "retry"),
        (Outcome(is_error=True), GO_ON, "retry"),
        (Outcome(completed=False), GO_ON, "retry"),
        (Outcome(completed=True), GO_ON, ""),
        (Outcome(status=1, exit_signal=True), GO_ON, "retry"),
        (Outcome(completed=False, promised=True), GO_ON, "retry"),
    ],
)
def test_one_iteration(outcome: Outcome, verdict: Verdict, reason: str) -> None:
    _, decision = decide(LoopState(), outcome, Limits())
    assert (decision.verdict, decision.reason) == (verdict, reason)


def test_the_cap_on_iterations() -> None:
    _, decision = decide(LoopState(iteration=4), Outcome(), Limits(max_iterations=5))
    assert (decision.verdict, decision.reason) == (INCOMPLETE, "max_iterations")
    _, decision = decide(LoopState(iteration=4), Outcome(exit_signal=True), Limits(max_iterations=5))
    assert decision.verdict is COMPLETE


def test_the_cap_on_failures_counts_consecutive_ones_only() -> None:
    state, reasons = LoopState(), []
    for outcome in (Outcome(status=1), Outcome(status=1), Outcome(), *[Outcome(status=2, error="boom")] * 3):
        state, decision = decide(state, outcome, Limits())
        reasons.append(decision.reason)
    assert reasons == ["retry", "retry", "", "retry", "retry", "consecutive_failures"]
    assert decision.detail == "3 runs in a row failed, the last: exit status 2: boom"


def test_a_session_that_fails_twice_is_dropped() -> None:
    failed = Outcome(status=1, resumed=True, session_id="s1")
    once, decision = decide(LoopState(iteration=2, session_id="s1"), failed, Limits())
    assert (once.session_id, "dropped" in decision.detail) == ("s1", False)
    twice, decision = decide(once, failed, Limits())
    assert (twice.session_id, "session dropped" in decision.detail) == (None, True)


def test_a_dead_session_is_dropped_and_the_turn_repeated_at_once() -> None:
    after, decision = decide(
        LoopState(session_id="old"), Outcome(status=1, resumed=True, dead_session=True), Limits()
    )
    assert (after.session_id, decision.reason, decision.wait) == (None, "retry", 0.0)


def test_a_finished_plan_needs_no_run() -> None:
    assert begin(LoopState(), DONE).verdict is COMPLETE
    assert begin(LoopState(), DONE).detail == "all 3 tasks of the fix plan are ticked"
    assert begin(LoopState(), Plan(1, 1, None)).detail == "the only task of the fix plan is ticked"
    assert [begin(LoopState(), plan).verdict for plan in (None, OPEN, NO_BOXES)] == [GO_ON] * 3


outcomes = st.builds(
    Outcome,
    status=st.sampled_from([0, 0, 0, 1, 137, -9]),
    timed_out=st.booleans(),
    completed=st.sampled_from([None, True, False]),
    is_error=st.booleans(),
    exit_signal=st.sampled_from([None, True, False]),
    promised=st.booleans(),
    plan=st.sampled_from([None, OPEN, NO_BOXES, DONE]),
    session_id=st.sampled_from([None, "a", "b"]),
    resumed=st.booleans(),
)


@given(st.lists(outcomes, min_size=60, max_size=60), st.integers(1, 50), st.integers(1, 5))
def test_every_loop_ends_within_its_limits(runs: list[Outcome], iterations: int, failures: int) -> None:
    state = LoopState()
    limits = Limits(iterations, failures)
    for outcome in runs:
        state, decision = decide(state, outcome, limits)
        if decision.verdict is not GO_ON:
            break
    assert decision.verdict is not GO_ON
    assert 1 <= state.iteration <= iterations
    assert state.failures <= failures


@given(outcomes, outcomes)
def test_a_decision_depends_on_nothing_but_failures_and_the_session(first: Outcome, second: Outcome) -> None:
    after, _ = decide(LoopState(), first, Limits())
    carried = replace(after, previous="whatever", changed="whatever")
    assert decide(after, second, Limits())[1] == decide(carried, second, Limits())[1]


def test_plans() -> None:
    text = "# Plan\n- [x] one\n  - [X] sub\n- [ ]   two  \n* [ ] four\n-[ ] no\n- [-] no\n1. [ ] five\n- [ ] three"
    assert parse_plan(text) == Plan(2, 6, "two")
    assert parse_plan("") == NO_BOXES
    assert parse_plan("- [x] a\r\n- [x] b\r\n").complete


@given(st.lists(st.booleans(), max_size=30))
def test_counting_boxes(ticks: list[bool]) -> None:
    plan = parse_plan("\n".join(f"- [{'x' if tick else ' '}] task {n}" for n, tick in enumerate(ticks)))
    assert (plan.done, plan.total) == (sum(ticks), len(ticks))
    assert plan.complete == (bool(ticks) and all(ticks))
    first = next(itertools.compress(itertools.count(), (not tick for tick in ticks)), None)
    assert plan.next_task == (None if first is None else f"task {first}")


@pytest.mark.parametrize(
    ("said", "dead"),
    [
        ("No conversation found with session ID: 6f1c2a9e", True),
        ('Error resuming session: Invalid session identifier "6f1c2a9e".', True),
        ("No saved session found with ID 6f1c2a9e", True),
        ("Error: session ses_7f3a91 not found", True),
        ("Chat not found", True),
        ("Error: Session ID 6f1c2a9e is already in use.", True),
        ("ERROR: Your input exceeds the context window of this model.", True),
        ("This model's maximum context length is 128000 tokens.", True),
        ("Error: Codex ran out of room in the model's context window.", True),
        ("the session was long and the file was not found", False),
        ("the chat program was not found", False),
    ],
)
def test_words_for_a_session_that_is_gone(said: str, *, dead: bool) -> None:
    assert is_dead_session(said) is dead


def test_a_claim_beside_open_tasks_says_how_many() -> None:
    for outcome in (Outcome(promised=True, plan=OPEN), Outcome(exit_signal=True, plan=OPEN)):
        _, decision = decide(LoopState(), outcome, Limits())
        assert decision.verdict is COMPLETE
        assert decision.detail.endswith(", but 2 of 3 tasks are open")
    _, decision = decide(LoopState(), Outcome(promised=True), Limits())
    assert "open" not in decision.detail


def test_a_turn_that_hung_before_its_first_word_says_what_it_printed() -> None:
    hung = Outcome(status=-15, timed_out=True, said=False, error="Error: cannot reach the provider")
    assert hung.failure == "it ran for too long and was ended: Error: cannot reach the provider"
    assert replace(hung, said=True).failure == "it ran for too long and was ended"
