"""Which tool has the next turn: limits, probes, overload, escalation, and what is kept of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest

from bridge.loop.engine.loop_settings import Candidate, LoopSettings, Reserves
from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.plan import Plan
from bridge.loop.engine.policy import MARGIN, Decision, Verdict
from bridge.loop.engine.tool_choice import OVERLOAD_TURNS, PROBES, Crew
from bridge.scripts.stream.analysis import Analysis, Limit, PermanentFailure, PermanentReason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.loop.turn.tool import Tool

NOW = 1_790_000_000.0
WELL, FAILED = Outcome(session_id="new"), Outcome(status=1, error="connection reset", is_error=True)
OVERLOADED = Outcome(status=1, error="API Error: 529 Overloaded", is_error=True)
RATE = Outcome(status=1, limit=Limit("rate", None, "429 too many requests"))
NO_END = Outcome(status=1, limit=Limit("usage", None, "You've hit your usage limit"))
NO_CREDIT = Outcome(
    status=1, analysis=Analysis(permanent=PermanentFailure(PermanentReason.NO_CREDIT, "Credit balance is too low"))
)


def until(seconds: float, *, exact: bool = True) -> Outcome:
    return Outcome(status=1, limit=Limit("usage", NOW + seconds, "You've hit your usage limit", exact=exact))


class Named:
    def __init__(self, name: str) -> None:
        self.name = name


def candidate(name: str) -> Candidate:
    @contextmanager
    def opened(_loop: LoopSettings) -> Iterator[Tool]:
        yield cast("Tool", Named(name))

    return Candidate(name, opened)


def crew_of(folder: Path, *fallback: str, escalate: str = "", after: int = 0) -> Crew:
    reserves = Reserves(
        fallback=tuple(map(candidate, fallback)), escalate=candidate(escalate) if escalate else None, after=after
    )
    made = Crew(cast("Tool", Named("own")), LoopSettings(project=folder, reserves=reserves))
    made.__enter__()
    return made


def turn(crew: Crew, outcome: Outcome, now: float = NOW, plan: Plan | None = None) -> str | None:
    """One turn of the tool whose turn it is, and who comes next."""
    name = crew.choose(plan, now)
    assert name is not None
    crew.took(name, outcome, now, own_session="own's")
    return crew.choose(plan, now)


@pytest.mark.parametrize("outcome", [until(3600), NO_END, NO_CREDIT])
def test_what_only_another_tool_gets_around_switches(tmp_path: Path, outcome: Outcome) -> None:
    crew = crew_of(tmp_path, "second", "third")
    assert turn(crew, outcome) == "second"
    assert turn(crew, outcome) == "third"
    assert turn(crew, outcome) is None


@pytest.mark.parametrize("outcome", [RATE, FAILED, OVERLOADED, WELL, Outcome(status=1, timed_out=True)])
def test_what_a_pause_gets_around_does_not(tmp_path: Path, outcome: Outcome) -> None:
    assert turn(crew_of(tmp_path, "second"), outcome) == "own"


def test_a_limit_ends_at_its_reset_and_the_margin(tmp_path: Path) -> None:
    crew = crew_of(tmp_path, "second")
    turn(crew, until(3600))
    assert crew.choose(None, NOW + 3600) == "second"
    assert crew.choose(None, NOW + 3600 + MARGIN) == "own"


def test_an_end_that_was_read_from_words_is_asked_about_after_half_an_hour(tmp_path: Path) -> None:
    crew = crew_of(tmp_path, "second")
    turn(crew, until(7200, exact=False))
    assert crew.choose(None, NOW + 1799) == "second"
    assert crew.choose(None, NOW + 1800) == "own"
    turn(crew, until(7200, exact=False), NOW + 1800)
    assert crew.choose(None, NOW + 3599) == "second"
    turn(crew, NO_END, NOW + 3599)
    decision = crew.wait(NOW + 3599)
    assert decision is not None
    assert decision.wait == 1


def refused(reason: PermanentReason, text: str) -> Outcome:
    return Outcome(status=1, is_error=True, analysis=Analysis(permanent=PermanentFailure(reason, text)))


LOGGED_OUT = refused(PermanentReason.NOT_LOGGED_IN, "Please run login")
UNFIT = [
    LOGGED_OUT,
    refused(PermanentReason.UNKNOWN_MODEL, "model not found"),
    Outcome(status=127, error="env: node: No such file"),
]


@pytest.mark.parametrize("outcome", UNFIT)
def test_a_stand_in_that_can_not_work_is_set_aside_and_told_once(tmp_path: Path, outcome: Outcome) -> None:
    crew = crew_of(tmp_path, "second", "third")
    turn(crew, until(3600))
    seen = crew.took("second", outcome, NOW, own_session="own's", cli="codex")
    assert (seen.permanent, seen.limit is not None, seen.session_id) == (None, True, "own's")
    assert "second is set aside until " in crew.news
    assert crew.choose(None, NOW) == "third"
    again = NOW + PROBES[0]
    assert crew.choose(None, again) == "second"
    crew.took("second", outcome, again, own_session=None, cli="codex")
    assert (crew.news, crew.choose(None, again)) == ("", "third")


def test_what_there_is_to_do_for_a_stand_in_is_told(tmp_path: Path) -> None:
    crew = crew_of(tmp_path, "second")
    turn(crew, until(3600))
    crew.took("second", LOGGED_OUT, NOW, own_session=None, cli="codex")
    assert "codex is not logged in: Please run login · next: " in crew.news
    waits = crew.wait(NOW)
    assert waits is not None
    assert "own is at a limit until" in waits.detail
    assert "second is set aside: codex is not logged in" in waits.detail


def test_a_stand_in_that_fails_again_and_again_is_set_aside_and_the_loops_own_tool_never_is(tmp_path: Path) -> None:
    crew = crew_of(tmp_path, "second", "third")
    assert [turn(crew, FAILED) for _ in range(4)] == ["own"] * 4
    turn(crew, until(3600))
    assert [turn(crew, FAILED) for _ in range(3)] == ["second", "second", "third"]
    assert "3 turns in a row failed, the last: " in crew.news
    assert crew_of(tmp_path, "second").took("own", LOGGED_OUT, NOW, own_session=None).permanent is not None


def test_a_limit_without_a_known_end_is_tried_ever_less_often(tmp_path: Path) -> None:
    crew, now = crew_of(tmp_path, "second"), NOW
    for pause in (*PROBES, PROBES[-1]):
        assert turn(crew, NO_END, now) == "second"
        assert crew.choose(None, now + pause - 1) == "second"
        now += pause
        assert crew.choose(None, now) == "own"
    turn(crew, WELL, now)
    turn(crew, NO_END, now)
    assert crew.choose(None, now + PROBES[0]) == "own"


def test_a_provider_that_stays_overloaded_is_left_after_so_many_turns(tmp_path: Path) -> None:
    crew = crew_of(tmp_path, "second")
    for _ in range(OVERLOAD_TURNS - 1):
        assert turn(crew, OVERLOADED) == "own"
    assert turn(crew, OVERLOADED) == "second"


def test_until_then_an_overload_is_repeated_as_a_limit_per_minute_and_is_no_failure(tmp_path: Path) -> None:
    seen = crew_of(tmp_path, "second").took("own", OVERLOADED, NOW, own_session=None)
    assert seen.limit is not None
    assert seen.limit.kind == "rate"
    assert crew_of(tmp_path).took("own", OVERLOADED, NOW, own_session=None) == OVERLOADED


def test_or_after_five_minutes_but_not_where_other_failures_lie_between(tmp_path: Path) -> None:
    crew = crew_of(tmp_path, "second")
    assert turn(crew, OVERLOADED, NOW) == "own"
    assert turn(crew, OVERLOADED, NOW + 299) == "own"
    assert turn(crew, FAILED, NOW + 299) == "own"
    assert turn(crew, OVERLOADED, NOW + 301) == "own"
    assert turn(crew, OVERLOADED, NOW + 601) == "second"


def test_of_several_limits_the_one_that_ends_first_is_waited_for(tmp_path: Path) -> None:
    crew = crew_of(tmp_path, "second")
    turn(crew, until(3600))
    assert crew.wait(NOW) is None
    name = crew.choose(None, NOW)
    assert name == "second"
    crew.took(name, until(600), NOW, own_session=None)
    hour = Decision(Verdict.CONTINUE, "api_limit", "its limit", 3600.0)
    waits = crew.instead(hour, name, NOW)
    assert (waits.reason, waits.wait) == ("api_limit", 600 + MARGIN)
    assert "second is the first to be back" in waits.detail
    assert crew.wait(NOW) == waits
    assert crew.choose(None, NOW + 600 + MARGIN) == "second"


def test_there_is_no_wait_while_there_is_a_tool(tmp_path: Path) -> None:
    crew = crew_of(tmp_path, "second")
    turn(crew, until(3600))
    hour = Decision(Verdict.CONTINUE, "api_limit", "its limit", 3600.0)
    assert crew.instead(hour, "own", NOW).wait == 0
    retry = Decision(Verdict.CONTINUE, "retry", "", 5.0)
    assert crew.instead(retry, "own", NOW) == retry
    assert crew.instead(hour, "second", NOW) == hour  # its limit per minute


def test_what_has_to_be_paid_for_ends_no_loop_that_has_another_tool(tmp_path: Path) -> None:
    seen = crew_of(tmp_path, "second").took("own", NO_CREDIT, NOW, own_session=None)
    assert seen.permanent is None
    assert seen.limit is not None
    assert crew_of(tmp_path).took("own", NO_CREDIT, NOW, own_session=None) == NO_CREDIT


def test_each_tool_has_its_own_session(tmp_path: Path) -> None:
    crew = crew_of(tmp_path, "second")
    turn(crew, until(60))
    assert crew.session("second", "own's") is None
    seen = crew.took("second", WELL, NOW, own_session="own's")
    assert (seen.session_id, seen.resumed) == ("own's", False)
    assert crew.session("second", "own's") == "new"
    assert crew.session("own", "own's") == "own's"


def plan(task: str | None) -> Plan:
    return Plan(done=0, total=5, next_task=task)


def test_a_task_that_stays_open_goes_to_the_tool_for_hard_ones_until_it_is_done(tmp_path: Path) -> None:
    crew = crew_of(tmp_path, escalate="strong", after=2)
    assert turn(crew, WELL, plan=plan("a")) == "own"
    assert turn(crew, WELL, plan=plan("a")) == "strong"
    assert turn(crew, WELL, plan=plan("a")) == "strong"
    assert crew.why("strong", NOW) == "3 turns did not get 'a' done"
    assert crew.choose(plan("b"), NOW) == "own"


def test_so_does_one_whose_turns_fail_and_it_stays_there_when_one_goes_well(tmp_path: Path) -> None:
    crew = crew_of(tmp_path, escalate="strong", after=3)
    for outcome in (FAILED, FAILED):
        assert turn(crew, outcome, plan=plan("a")) == "own"
    assert turn(crew, FAILED, plan=plan("a")) == "strong"
    assert turn(crew, WELL, plan=plan("a")) == "strong"
    assert crew.choose(plan("b"), NOW) == "own"


def test_without_a_plan_only_failures_count_and_a_turn_that_goes_well_ends_it(tmp_path: Path) -> None:
    crew = crew_of(tmp_path, escalate="strong", after=2)
    for _ in range(9):
        assert turn(crew, WELL) == "own"
    assert turn(crew, FAILED) == "own"
    assert turn(crew, FAILED) == "strong"
    assert turn(crew, FAILED) == "strong"
    assert turn(crew, WELL) == "own"


def test_limits_are_no_attempts_and_a_limit_of_the_strong_one_leaves_it_to_the_others(tmp_path: Path) -> None:
    crew = crew_of(tmp_path, "second", escalate="strong", after=1)
    assert turn(crew, until(60), plan=plan("a")) == "second"
    assert turn(crew, WELL, plan=plan("a")) == "strong"
    assert turn(crew, until(60), plan=plan("a")) == "second"
    assert crew.choose(plan("a"), NOW + 60 + MARGIN) == "strong"


def test_the_next_run_goes_on_from_what_is_kept(tmp_path: Path) -> None:
    crew = crew_of(tmp_path, "second", escalate="strong", after=1)
    turn(crew, until(3600), plan=plan("a"))
    crew.took("second", WELL, NOW, own_session=None)
    later = crew_of(tmp_path, "second", escalate="strong", after=1)
    later.take_over(crew.document(), NOW, goes_on=True)
    assert later.document() == crew.document() | {"at_work": "own"}
    assert later.choose(plan("a"), NOW) == "strong"
    assert later.session("second", None) == "new"
    other = crew_of(tmp_path, "elsewhere")
    other.take_over(crew.document(), NOW, goes_on=True)
    assert other.choose(None, NOW) == "elsewhere"


GARBAGE: list[Any] = [None, {}, {"tools": 3}, {"tools": {"own": 3, "second": []}, "attempts": []}]
FORGED = [
    {"until": "9999-01-01T00:00:00Z", "why": "\x1b[2J" * 999, "probes": 10**30, "session": "; rm -rf /"},
    {"until": [], "why": {}, "probes": -3, "session": ["x"]},
    {"until": 1e400, "why": None, "probes": True, "session": "-" * 10**6},
]


@pytest.mark.parametrize(
    "found",
    [*GARBAGE, *({"tools": dict.fromkeys(("own", "second"), each), "attempts": each} for each in FORGED)],
)
def test_whatever_somebody_else_wrote_there_is_read_with_bounds(tmp_path: Path, found: Any) -> None:
    crew = crew_of(tmp_path, "second", escalate="strong", after=2)
    crew.take_over(found, NOW, goes_on=True)
    assert crew.session("second", None) is None
    assert crew.choose(None, NOW + 9 * 86_400) == "own"
    wait = crew.wait(NOW)
    assert wait is None or wait.wait <= 8 * 86_400
    assert all(len(each["why"]) <= 200 and "\x1b" not in each["why"] for each in crew.document()["tools"].values())
    turn(crew, NO_END, NOW + 9 * 86_400)
