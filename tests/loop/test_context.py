"""What the agent, and people, are told: loop context, gates, reviews, metrics."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.loop.engine.plan import CONTEXT_LIMIT, Plan, context_for
from bridge.loop.engine.state import LoopState
from bridge.loop.engine.store import Facts
from bridge.loop.setups.bmalph import quality_gates as gates_module
from bridge.loop.setups.bmalph.policy import BmalphOutcome
from bridge.loop.setups.bmalph.quality_gates import (
    CommandRun,
    CustomGate,
    GateResults,
    custom_gate,
    failing_sentences,
    gates_due,
    outcome_of,
    results_document,
    results_of,
    split_gates,
)
from bridge.loop.setups.bmalph.review import (
    ReviewFacts,
    findings_in,
    findings_text,
    review_context,
    review_due,
)
from bridge.loop.setups.bmalph.state_files import metrics
from bridge.scripts.stream.analysis import Analysis
from bridge.scripts.stream.events import Usage
from tests.setups.bmalph import writing

NOW = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)
FAILED_TESTS = gates_module.test_gate("PASSING", CommandRun(1, "\x1b[31mFAIL\x1b[0m  a\n\n b"))
OPEN = ("Circuit breaker: OPEN.",)
LINT = custom_gate("npm run lint -- --fix", CommandRun(2))


def failing(found: GateResults) -> tuple[str, ...]:
    return failing_sentences(found)


def results(mode: str = "block", *custom: CustomGate, test: Any = FAILED_TESTS) -> GateResults:
    return results_of(3, test, custom, mode, NOW)


def context(
    loop: int,
    resumed: bool = False,
    plan: Plan | None = None,
    warnings: tuple[str, ...] = (),
    previous: str = "",
    failing: tuple[str, ...] = (),
    changed: str = "",
) -> str:
    state = LoopState(iteration=loop - 1, previous=previous, changed=changed)
    return context_for(state, plan, resumed=resumed, warnings=warnings, failing=failing)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (context(1), "Loop #1. "),
        (context(2, plan=Plan(1, 3, "Story 1.2: b ")), "Loop #2. Remaining tasks: 2. Next: Story 1.2: b. "),
        (context(2, plan=Plan(3, 3, None)), "Loop #2. Remaining tasks: 0. "),
        (context(2, plan=Plan(0, 1, "x" * 101)), f"Loop #2. Remaining tasks: 1. Next: {'x' * 100}. "),
        (context(2, warnings=("Circuit breaker: HALF_OPEN.",)), "Loop #2. Circuit breaker: HALF_OPEN. "),
        (context(2, previous="ä" * 101), f"Loop #2. Previous: {'ä' * 100}. "),
        (context(2, previous="a\nb"), "Loop #2. Previous: a\nb. "),
        (context(2, failing=failing(results())), "Loop #2. TESTS FAILING: FAIL a b. "),
        (
            context(2, failing=failing(results("block", LINT))),
            "Loop #2. TESTS FAILING: FAIL a b. QG fail: npm run. ",
        ),
        (context(2, failing=failing(results("warn", LINT))), "Loop #2. "),
        (
            context(2, failing=failing(results(test=gates_module.test_gate("FAILING", None)))),
            "Loop #2. TESTS FAILING. ",
        ),
    ],
)
def test_the_loop_context(found: str, wanted: str) -> None:
    assert found == wanted


def test_T31_the_diff_summary_is_told() -> None:  # noqa: N802
    assert context(2, changed="Changed: a.py (+1/-0)\n") == "Loop #2. Changed: a.py (+1/-0). "


def test_the_order_of_all_parts() -> None:
    found = context(4, True, Plan(0, 2, "do"), OPEN, "was", failing(results()), "Changed: x")
    parts = ["Loop #4. ", "Session continued", "Remaining", "Next: ", "Circuit", "Previous", "TESTS", "Changed"]
    assert [found.index(part) for part in parts] == sorted(found.index(part) for part in parts)
    assert found.endswith("Changed: x. ")


@given(st.text(max_size=600), st.text(max_size=600), st.booleans())
def test_the_context_is_short_and_fits_into_an_argument(one: str, other: str, resumed: bool) -> None:
    found = context(1, resumed, Plan(0, 1, one), OPEN, other, failing(results()), one)
    assert len(found) <= CONTEXT_LIMIT
    assert "\0" not in found


# quality gates


def test_gates_are_split_at_every_semicolon() -> None:
    assert split_gates(" make ;; echo 'a;b' ; ") == ("make", "echo 'a", "b'")
    assert split_gates("") == ()


@pytest.mark.parametrize(
    ("test", "gates", "completion_only", "exit_signal", "due"),
    [
        ("", "", False, True, False),
        ("", " ; ", False, True, False),
        ("make", "", False, False, True),
        ("", "make", False, False, True),
        ("make", "", True, False, False),
        ("make", "", True, True, True),
    ],
)
def test_due(test: str, gates: str, completion_only: bool, exit_signal: bool, due: bool) -> None:
    assert gates_due(test, gates, completion_only=completion_only, exit_signal=exit_signal) is due


@pytest.mark.parametrize(
    ("reported", "run", "status", "verified"),
    [
        (None, CommandRun(0), "skip", False),
        ("UNKNOWN", None, "skip", False),
        ("FAILING", None, "fail", False),
        ("PASSING", None, "pass", False),
        ("NOT_RUN", None, "pass", False),
        ("FAILING", CommandRun(0), "pass", True),
        ("PASSING", CommandRun(1), "fail", True),
        ("PASSING", CommandRun(124), "fail", True),
    ],
)
def test_the_test_gate(reported: str | None, run: CommandRun | None, status: str, verified: bool) -> None:
    found = gates_module.test_gate(reported, run)
    assert (found.status, found.verified) == (status, verified)


@pytest.mark.parametrize(
    ("mode", "outcome"),
    [("warn", ("pass", 0)), ("block", ("block", 1)), ("circuit-breaker", ("circuit-breaker", 2))],
)
def test_what_follows_from_a_failure(mode: str, outcome: tuple[str, int]) -> None:
    assert outcome_of(results(mode)) == outcome
    assert outcome_of(results_of(1, gates_module.test_gate("PASSING", None), [LINT], mode, NOW)) == outcome
    passed = results_of(1, gates_module.test_gate("PASSING", None), [custom_gate("true", CommandRun(0))], mode, NOW)
    assert outcome_of(passed) == ("pass", 0)
    assert outcome_of(None) == ("pass", 0)


def test_the_results_file() -> None:
    late = custom_gate("sleep 9", CommandRun(124, "x" * 600, 120))
    found = results_document(results("block", late))
    assert list(found) == ["timestamp", "loop_number", "test_gate", "custom_gates", "overall_status", "mode"]
    assert list(found["test_gate"]) == ["status", "tests_status_reported", "verified", "output"]
    assert found["custom_gates"] == [
        {
            "command": "sleep 9",
            "status": "fail",
            "exit_code": 124,
            "output": "x" * 500,
            "duration_seconds": 120,
            "timed_out": True,
        }
    ]


# reviews


@pytest.mark.parametrize(
    ("mode", "facts", "due"),
    [
        ("enhanced", ReviewFacts(5, head="b", last_head="a"), True),
        ("enhanced", ReviewFacts(5, head="a", last_head="a"), False),
        ("enhanced", ReviewFacts(5, head="a", last_head="a", dirty=True), True),
        ("enhanced", ReviewFacts(4, head="b"), False),
        ("enhanced", ReviewFacts(5, interval=0, head="b"), False),
        ("enhanced", ReviewFacts(5, head="b", circuit_closed=False), False),
        ("ultimate", ReviewFacts(4, head="b", tasks_delta=1), True),
        ("ultimate", ReviewFacts(5, head="b"), False),
        ("off", ReviewFacts(5, head="b", tasks_delta=1), False),
        ("deep", ReviewFacts(5, head="b", tasks_delta=1), False),
    ],
)
def test_review_due(mode: str, facts: ReviewFacts, due: bool) -> None:
    assert review_due(mode, facts) is due


def test_the_reviewers_context_is_short() -> None:
    found = review_context("\n".join(f"c{n} |" for n in range(30)), "\n".join(f"u{n} |" for n in range(30)))
    assert ("c19 |" in found, "c20 |" in found, "u9 |" in found, "u10 |" in found) == (True, False, True, False)


FOUND = {
    "severity": "HIGH",
    "issues_found": 2,
    "summary": "s",
    "details": [{"severity": "HIGH", "file": "a.py", "line": 3, "issue": "bad", "suggestion": "fix"}] * 3,
}
SAID = f"Look:\n---REVIEW_FINDINGS---\n{json.dumps(FOUND, indent=1)}\n---END_REVIEW_FINDINGS---\nBye."


@pytest.mark.parametrize(
    "output",
    [SAID, json.dumps({"result": SAID}), json.dumps({"type": "result", "result": SAID, "session_id": "s"})],
)
def test_findings_of_every_output(output: str) -> None:
    found = findings_in(output.encode())
    assert found is not None
    assert json.loads(found) == FOUND
    assert "\n" not in found


@pytest.mark.parametrize("output", [b"", b"---REVIEW_FINDINGS---\n{}", SAID.replace("HIGH", '"').encode(), b"\xff"])
def test_no_findings(output: bytes) -> None:
    assert findings_in(output) is None


@pytest.mark.parametrize(("severity", "limit"), [("HIGH", 700), ("critical", 700), ("LOW", 500)])
def test_findings_are_told_briefly(severity: str, limit: int) -> None:
    details = [{"file": "f" * 400}] * 3
    many = {**FOUND, "severity": severity, "summary": "s" * 900, "details": details}
    found = findings_text(json.dumps(many))
    assert len(found) <= limit
    assert found.startswith("PRIORITY") == (limit == 700)
    assert "s" * 301 not in found


@pytest.mark.parametrize("more", [{"issues_found": 0}, {"severity": ""}, {"severity": None}])
def test_findings_without_issues_are_not_told(more: dict[str, Any]) -> None:
    assert findings_text(json.dumps({**FOUND, **more})) == ""
    assert findings_text(None) == ""


# metrics


def record_of(reported: Analysis | None, **changes: Any) -> dict[str, Any]:
    outcome = BmalphOutcome(reported=reported, **changes)
    event = writing.ended(3, outcome, session_id="s-1")
    setup: Any = SimpleNamespace(started="r", driver="codex")
    facts = Facts(
        event=event, state=event.state, setup=setup, now=NOW.timestamp(), run=("", ""), read=lambda _: None
    )
    found = metrics(facts)
    assert isinstance(found, dict)
    return found


def test_a_record() -> None:
    analysis = Analysis(files_modified=2, usage=Usage(input_tokens=5), exit_signal=True)
    record = record_of(analysis, gates=results("block"))
    assert ",".join(record) == (
        "run_id,loop,timestamp,driver,session_id,loop_outcome,duration_ms,duration_api_ms,input_tokens,"
        "output_tokens,cache_read_tokens,cache_creation_tokens,total_cost_usd,num_turns,files_changed,"
        "reported_files_modified,has_errors,exit_signal,was_read_only_timeout,quality_gate_result,"
        "has_permission_denials,circuit_breaker_state"
    )
    assert (record["input_tokens"], record["session_id"], record["quality_gate_result"]) == (5, "s-1", 1)


def test_a_record_of_a_loop_that_was_not_analysed() -> None:
    found = record_of(None, idle=True)
    assert (found["was_read_only_timeout"], found["quality_gate_result"], found["has_errors"]) == (True, None, True)


def test_a_sessions_tokens_are_no_loops() -> None:
    assert record_of(Analysis(usage=Usage(input_tokens=5, cumulative=True)))["input_tokens"] is None
