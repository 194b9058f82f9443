"""The circuit breaker: its transitions, its files, and what must hold whatever happens."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bridge.loop.setups.dot_ralph.breaker import (
    Breaker,
    BreakerSettings,
    Circuit,
    LoopEvidence,
    Transition,
    prepare,
    record,
    reset,
)
from bridge.loop.setups.dot_ralph.breaker_files import read_breaker, read_history, write_breaker, write_history

NOW = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)
STAMP = "2026-11-20T14:00:00+00:00"
CLOSED, HALF_OPEN, OPEN = Circuit.CLOSED, Circuit.HALF_OPEN, Circuit.OPEN
IDLE: dict[str, Any] = {}
WORK = {"files_changed": 1}
WRONG = {"files_changed": 1, "has_errors": True}


def loops(*evidence: dict[str, Any], start: Breaker | None = None, **settings: Any) -> list[Breaker]:
    """Record one loop after the other and give all states."""
    states = [start or Breaker()]
    for number, one in enumerate(evidence, 1):
        states.append(record(states[-1], LoopEvidence(number, **one), BreakerSettings(**settings), NOW)[0])
    return states[1:]


def circuits(*evidence: dict[str, Any], **settings: Any) -> list[str]:
    return [breaker.state.value for breaker in loops(*evidence, **settings)]


@pytest.mark.parametrize(
    ("evidence", "settings", "wanted"),
    [
        ([IDLE] * 4, {}, ["CLOSED", "HALF_OPEN", "OPEN", "OPEN"]),
        ([IDLE, IDLE, WORK, IDLE], {}, ["CLOSED", "HALF_OPEN", "CLOSED", "CLOSED"]),
        ([IDLE, {"complete": True}, IDLE], {}, ["CLOSED", "CLOSED", "CLOSED"]),
        ([IDLE, {"reported_files": 2}, IDLE], {}, ["CLOSED", "CLOSED", "CLOSED"]),
        ([IDLE, IDLE], {"no_progress": 2}, ["CLOSED", "OPEN"]),
        ([IDLE], {"no_progress": 1}, ["OPEN"]),
        ([IDLE] * 3, {"no_progress": 0}, ["CLOSED", "HALF_OPEN", "HALF_OPEN"]),
        ([WRONG] * 5, {}, ["CLOSED"] * 4 + ["OPEN"]),
        ([WRONG, WRONG, WORK, WRONG], {"same_error": 3}, ["CLOSED"] * 4),
        ([{"files_changed": 1, "denied": True}] * 2, {"count_denials": True}, ["CLOSED", "OPEN"]),
        ([{"files_changed": 1, "denied": True}] * 9, {}, ["CLOSED"] * 9),
        ([{"files_changed": 1, "read_only_timeout": True}] * 2, {}, ["CLOSED", "OPEN"]),
        ([{"failed": True}] * 3, {}, ["CLOSED", "HALF_OPEN", "OPEN"]),
        ([{"failed": True}] * 3, {"count_failures": False}, ["CLOSED"] * 3),
        ([{"failed": True, "files_changed": 2}] * 3, {}, ["CLOSED"] * 3),
    ],
)
def test_documented_transitions(
    evidence: list[dict[str, Any]], settings: dict[str, Any], wanted: list[str]
) -> None:
    assert circuits(*evidence, **settings) == wanted


def test_T18_other_errors_are_not_the_same() -> None:  # noqa: N802
    errors = [{**WRONG, "error": f"Error: {number % 2}"} for number in range(8)]
    assert {breaker.consecutive_same_error for breaker in loops(*errors)} == {1}
    assert circuits(*[{**WRONG, "error": "Error: x"}] * 5)[-1] == "OPEN"


def test_T18_half_open_looks_at_errors() -> None:  # noqa: N802
    start = Breaker(HALF_OPEN, consecutive_same_error=4, last_error="Error: x")
    assert (
        loops({**WRONG, "error": "Error: x"}, start=start)[0].reason == "Same error repeated in 5 consecutive loops"
    )
    assert loops({**WRONG, "error": "Error: y"}, start=start)[0].state is CLOSED


def test_T19_a_timeout_that_wrote_something_is_progress() -> None:  # noqa: N802
    found = loops(IDLE, IDLE, {"failed": True, "files_changed": 3})[-1]
    assert (found.state, found.last_progress_loop) == (CLOSED, 3)


@pytest.mark.parametrize(
    ("lengths", "percent", "wanted"),
    [
        ([1000, 1000, 1000, 1000, 1000, 100], 70, "OPEN"),
        ([1000, 1000, 1000, 1000, 1000, 400], 70, "HALF_OPEN"),
        ([1000, 1000, 1000, 1000, 1000, 0], 100, "HALF_OPEN"),
        ([1000, 1000, 1000, 1000, 1000, 0], 0, "HALF_OPEN"),
    ],
)
def test_T18_output_decline(lengths: list[int], percent: int, wanted: str) -> None:  # noqa: N802
    evidence = [{"output_length": length, "files_changed": number < 3} for number, length in enumerate(lengths)]
    assert circuits(*evidence, output_decline=percent, no_progress=9)[-1] == wanted


def test_a_decline_never_opens_before_the_default_threshold() -> None:
    evidence = [{"output_length": 1000, "files_changed": 1}] * 4 + [{"output_length": 1}] * 2
    assert circuits(*evidence)[-1] == "HALF_OPEN"


def test_reasons_are_for_people() -> None:
    states = loops(IDLE, IDLE, IDLE)
    assert [state.reason for state in states] == [
        "",
        "Monitoring: 2 loops without progress",
        "No progress detected in 3 consecutive loops",
    ]
    assert (states[-1].total_opens, states[-1].opened_at, states[-1].current_loop) == (1, STAMP, 3)


# cooldown and resets

OPENED = Breaker(
    OPEN, STAMP, consecutive_no_progress=3, total_opens=2, reason="No progress", current_loop=7, opened_at=STAMP
)


@pytest.mark.parametrize(
    ("breaker", "minutes", "wanted"),
    [
        (OPENED, 29.99, OPEN),
        (OPENED, 30, HALF_OPEN),
        (OPENED, -1, OPEN),
        (replace(OPENED, opened_at=None), 30, HALF_OPEN),
        (replace(OPENED, opened_at="soon"), 99, OPEN),
        (replace(OPENED, opened_at="2026-11-20T14:00:00"), 30, HALF_OPEN),
        (replace(OPENED, opened_at="2026-11-20T16:00:00+02:00"), 30, HALF_OPEN),
        (Breaker(), 99, CLOSED),
    ],
)
def test_cooldown(breaker: Breaker, minutes: float, wanted: Circuit) -> None:
    found, transition = prepare(breaker, BreakerSettings(), NOW + timedelta(minutes=minutes))
    assert (found.state, transition is not None) == (wanted, wanted is HALF_OPEN)


def test_counters_survive_a_cooldown() -> None:
    found, _ = prepare(OPENED, BreakerSettings(), NOW + timedelta(hours=1))
    assert found.consecutive_no_progress == 3
    assert found.opened_at is None
    again, _ = record(found, LoopEvidence(8), BreakerSettings(), NOW)
    assert (again.state, again.total_opens) == (OPEN, 3)


def test_auto_reset() -> None:
    found, transition = prepare(OPENED, BreakerSettings(auto_reset=True), NOW)
    assert (found.state, found.total_opens, found.consecutive_no_progress) == (CLOSED, 2, 0)
    assert transition == Transition(STAMP, 7, OPEN, CLOSED, "Auto-reset on startup")


def test_a_manual_reset_forgets_everything() -> None:
    found, transition = reset(OPENED, NOW)
    assert found == Breaker(last_change=STAMP, reason="Manual reset via command line")
    assert transition is not None
    assert reset(Breaker(), NOW)[1] is None


# files

DOCUMENT = """\
{
  "state": "OPEN",
  "last_change": "2026-11-20T14:00:00+00:00",
  "consecutive_no_progress": 3,
  "consecutive_same_error": 0,
  "consecutive_permission_denials": 0,
  "consecutive_read_only_timeouts": 0,
  "last_progress_loop": 0,
  "total_opens": 2,
  "reason": "No progress",
  "current_loop": 7,
  "opened_at": "2026-11-20T14:00:00+00:00"
}
"""


def test_the_state_file() -> None:
    assert write_breaker(OPENED) == DOCUMENT
    assert read_breaker(DOCUMENT, NOW) == OPENED


def test_a_fresh_state_has_no_loop() -> None:
    assert list(json.loads(write_breaker(Breaker())))[-1] == "reason"


@pytest.mark.parametrize(
    "text", [None, "", "{", "[]", '{"state": "AJAR"}', '{"state": ["OPEN"]}', b"\xff", "[" * 99_999]
)
def test_what_is_no_state_is_closed(text: str | bytes | None) -> None:
    assert read_breaker(text, NOW) == Breaker(last_change=STAMP)
    assert read_history(text) == []


def test_a_state_of_an_older_version() -> None:
    older = {"state": "HALF_OPEN", "last_change": "x", "consecutive_no_progress": 2, "total_opens": "3"}
    assert read_breaker(json.dumps(older), NOW) == Breaker(HALF_OPEN, "x", consecutive_no_progress=2)


def test_the_history() -> None:
    _, transition = prepare(OPENED, BreakerSettings(auto_reset=True), NOW)
    assert transition is not None
    first = write_history([], transition)
    assert json.loads(first) == [
        {
            "timestamp": STAMP,
            "loop": 7,
            "from_state": "OPEN",
            "to_state": "CLOSED",
            "reason": "Auto-reset on startup",
        }
    ]
    assert len(read_history(write_history(read_history(first), transition))) == 2


COUNTERS = [key for key, value in json.loads(DOCUMENT).items() if isinstance(value, int) and key != "current_loop"]


@given(
    state=st.sampled_from(Circuit),
    counts=st.lists(st.integers(0, 9), min_size=6, max_size=6),
    loop=st.none() | st.integers(0, 99),
    reason=st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    lengths=st.lists(st.integers(0, 999), max_size=5),
)
def test_any_state_is_read_back(
    state: Circuit, counts: list[int], loop: int | None, reason: str, lengths: list[int]
) -> None:
    numbers: dict[str, Any] = dict(zip(COUNTERS, counts, strict=True))
    breaker = Breaker(
        state,
        STAMP,
        **numbers,
        reason=reason,
        current_loop=loop,
        opened_at=STAMP if state is OPEN else None,
        recent_lengths=tuple(lengths),
    )
    assert read_breaker(write_breaker(breaker), NOW) == breaker


class AnyNight(RuleBasedStateMachine):
    """Loops, waits and resets in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.breaker = Breaker()
        self.now = NOW
        self.loop = 0
        self.idle = 0
        self.transitions: list[Transition] = []
        self.settings = BreakerSettings(count_denials=True)

    def _take(self, moved: tuple[Breaker, Transition | None]) -> None:
        before = self.breaker.state
        self.breaker, transition = moved
        assert (transition is not None) == (before is not self.breaker.state)
        self.transitions += [transition] if transition else []

    @rule(
        files=st.integers(0, 1),
        error=st.sampled_from(["", "a", "b"]),
        denied=st.booleans(),
        failed=st.booleans(),
        length=st.none() | st.integers(0, 1000),
    )
    def record(self, files: int, error: str, denied: bool, failed: bool, length: int | None) -> None:
        self.loop += 1
        evidence = LoopEvidence(
            self.loop,
            files,
            has_errors=bool(error),
            error=error,
            denied=denied,
            failed=failed,
            output_length=length,
        )
        self.idle = 0 if files else self.idle + 1
        self._take(record(self.breaker, evidence, self.settings, self.now))

    @rule(minutes=st.integers(0, 40))
    def wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)
        self._take(prepare(self.breaker, self.settings, self.now))

    @rule()
    def reset(self) -> None:
        self.idle = 0
        self.transitions.clear()
        before = self.breaker
        self.breaker, _ = reset(before, self.now)

    @invariant()
    def holds(self) -> None:
        breaker = self.breaker
        assert breaker.consecutive_no_progress == self.idle
        assert (breaker.opened_at is not None) == breaker.is_open
        assert breaker.total_opens == sum(one.to_state is OPEN for one in self.transitions)
        assert len(breaker.recent_lengths) <= 5
        assert read_breaker(write_breaker(breaker), self.now) == breaker


TestAnyNight = AnyNight.TestCase
