"""The outer loop with a tool of its own: pauses after failed turns, and turns that run for too long."""

from __future__ import annotations

import signal
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from bridge.agent import Agent
from bridge.cli._terminal import guarded
from bridge.errors import ProgramNotFound
from bridge.git.work import Probe
from bridge.setups.wiggum import outer
from bridge.setups.wiggum.breaker import BreakerSettings
from bridge.setups.wiggum.files import FILES
from bridge.setups.wiggum.outer import Ended, Paused, run_outer
from bridge.setups.wiggum.start import Request, prepare
from bridge.setups.wiggum.tools import AgentTool
from bridge.setups.wiggum.turns import AgentReply
from tests.setups.wiggum.project import none_sleeps, unique_seconds

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from bridge.setups.wiggum.files import Layout
    from tests.setups.wiggum.project import Project

FAILED = AgentReply(failure="exit status 1")
DONE = AgentReply("<promise>COMPLETE</promise>")


class Scripted:
    """Says what it was told to say, turn by turn; with `work`, it changes a file in each."""

    def __init__(self, replies: Sequence[AgentReply], *, work: bool = False) -> None:
        self.replies = list(replies)
        self.work = work
        self.seconds: list[float | None] = []

    def turn(self, layout: Layout, number: int, seconds: float | None) -> Generator[None, None, AgentReply]:
        self.seconds.append(seconds)
        if self.work:
            (layout.project / "work.txt").write_text(f"turn {number}\n")
        return self.replies.pop(0)
        yield


def events(project: Project, tool: Scripted, delay: float, **request: object) -> list[object]:
    probe = Probe(project.path, FILES)
    wanted = Request(breaker=BreakerSettings(no_change=0, same_error=0), **request)  # type: ignore[arg-type]
    state = prepare(project.layout, probe, wanted, datetime.now(UTC)).state
    found: list[object] = []
    for event in run_outer(project.layout, probe, state, tool, retry_delay=delay):  # type: ignore[arg-type]
        found.append(event)
        if isinstance(event, Paused) and delay > 1:
            project.write(".claude/ralph/cancel", "now\n")  # what `wiggum stop` leaves
    return found


def test_req_rw_103_a_cli_that_fails_at_once_is_given_growing_pauses(project: Project) -> None:
    told = events(project, Scripted([FAILED, FAILED, FAILED, AgentReply("Worked."), FAILED, DONE]), 0.001)
    pauses = [(each.seconds, each.failures) for each in told if isinstance(each, Paused)]
    assert pauses == [(0.001, 1), (0.002, 2), (0.004, 3), (0.001, 1)]
    assert project.state["outcome"] == "complete"


def test_no_pause_is_asked_for_with_0(project: Project) -> None:
    told = events(project, Scripted([FAILED, FAILED, DONE]), 0)
    assert not [each for each in told if isinstance(each, Paused)]


def test_a_stop_ends_a_pause(project: Project) -> None:
    told = events(project, Scripted([FAILED]), 600)
    assert isinstance(told[-1], Ended)
    assert (told[-1].state.outcome, told[-1].state.iteration) == ("cancelled", 1)


def test_a_pause_isn_t_longer_than_the_minutes_that_are_left(project: Project) -> None:
    told = events(project, Scripted([FAILED]), 1, max_minutes=0.005)
    assert isinstance(told[-1], Ended)
    assert (told[-1].state.outcome, told[-1].state.iteration) == ("max_minutes", 1)
    assert all(each.seconds <= 0.3 for each in told if isinstance(each, Paused))


def test_f7_a_turn_gets_the_minutes_that_are_left(project: Project) -> None:
    """14 F.7."""
    tool = Scripted([AgentReply("Worked."), DONE])
    events(project, tool, 0, max_minutes=60)
    first, second = tool.seconds
    assert first is not None
    assert second is not None
    assert 0 < second < first <= 3600
    tool = Scripted([DONE])
    events(project, tool, 0, fresh=True)
    assert tool.seconds == [None]


@pytest.mark.parametrize("failure", ["it ran for too long and was ended", "the agent gave no response"])
def test_req_rw_108_work_excuses_a_turn_that_was_cut_off_or_silent(project: Project, failure: str) -> None:
    cut = AgentReply(failure=failure, excused=True)
    told = events(project, Scripted([cut, cut, DONE], work=True), 0.001)
    assert not [each for each in told if isinstance(each, Paused)]
    warned = [each.decision.warnings for each in told if isinstance(each, outer.TurnEnded)]
    assert warned == [(f"{failure}; its work counts",)] * 2 + [()]
    assert project.state["breaker"]["same_error_count"] == 0


def test_without_work_such_a_turn_has_failed(project: Project) -> None:
    cut = AgentReply(failure="it ran for too long and was ended", excused=True)
    told = events(project, Scripted([cut, DONE]), 0.001)
    assert [each.failures for each in told if isinstance(each, Paused)] == [1]


# -- agents ------------------------------------------------------------------------------------------


def turn(project: Project, script: str, timeout: float | None = None) -> AgentReply:
    path = project.write(
        "bin/my.sh", script + "\nagent_extract_response() { cat; }\nagent_format_display() { cat; }\n"
    )
    project.write(".claude/ralph/prompt.md", "Go.\n")
    with Agent.load(path, cwd=project.path) as agent:
        run = AgentTool(agent=agent, timeout=timeout).turn(project.layout, 1, None)
        while True:
            try:
                next(run)
            except StopIteration as end:
                found: AgentReply = end.value
                return found


@pytest.mark.parametrize("trap", [":", "trap '' INT"])
def test_an_agent_that_runs_for_too_long_is_ended_with_all_that_it_started(project: Project, trap: str) -> None:
    mark = unique_seconds()
    script = f"AGENT_CLI=sh\nagent_invoke() {{ {trap}\nsh -c 'sleep {mark}; :'; }}"
    reply = turn(project, script, timeout=0.3)
    assert (reply.failure, reply.excused) == ("it ran for too long and was ended", True)
    assert none_sleeps(mark)


def test_an_agent_whose_program_is_missing_has_no_turn(project: Project) -> None:
    with pytest.raises(ProgramNotFound, match="no-such-cli was not found on PATH"):
        turn(project, "AGENT_CLI=no-such-cli\nagent_invoke() { echo hi; }")


# -- in a session ------------------------------------------------------------------------------------


def test_req_rw_104_a_session_s_turn_is_counted_by_its_stop_only(project: Project) -> None:
    def start() -> str:
        given = Request(mode="hook", description="Port it")
        return "; ".join(prepare(project.layout, Probe(project.path, FILES), given, datetime.now(UTC)).notices)

    start()
    assert "interrupted" not in start()
    assert project.state["iteration"] == 0
    project.hook()
    assert "goes on behind iteration 1" in start()
    project.hook()
    assert project.state["iteration"] == 2


# -- signals -----------------------------------------------------------------------------------------


def test_a_hangup_that_nohup_has_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with guarded():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
