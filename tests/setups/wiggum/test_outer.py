"""The outer loop with a tool of its own: pauses after failed turns, and turns that run for too long."""

from __future__ import annotations

import signal
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from bridge.base.git.work import WorkDetector
from bridge.cli._failures import guarded
from bridge.loop.engine.active_run import ActiveRun
from bridge.loop.engine.events import IterationEnded, LoopEnded, Notice, Waiting
from bridge.loop.engine.loop_settings import LoopSettings
from bridge.loop.engine.policy import Limits
from bridge.loop.engine.runner import run_loop
from bridge.loop.setups.wiggum.breaker import WiggumBreakerSettings
from bridge.loop.setups.wiggum.files import FILES
from bridge.loop.setups.wiggum.handler import OuterHandler
from bridge.loop.setups.wiggum.outer import OuterPolicy, OuterState
from bridge.loop.setups.wiggum.start import prepare
from bridge.loop.setups.wiggum.task import StartRequest
from bridge.loop.turn.tool import Command, TurnResult
from bridge.scripts.stream.analysis import Analyzer
from tests.setups.wiggum.project import none_sleeps, unique_seconds

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.turn.tool import TurnRequest
    from tests.setups.wiggum.project import Project


def reply(text: str, status: int = 0, *, cut: bool = False) -> TurnResult:
    output = Analyzer()
    output.feed(text.encode())
    return TurnResult(status, output, timed_out=cut, response=text)


FAILED = reply("", 1)
DONE = reply("<promise>COMPLETE</promise>")
CUT = reply("", 1, cut=True)
USED_UP = reply("Error: Reached max turns (5)\n", 1)
SILENT = reply("")


class Scripted:
    """Says what it was told to say, turn by turn; with `work`, it changes a file in each."""

    name = "agent scripted"

    def __init__(self, project: Project, replies: Sequence[TurnResult], *, work: bool = False) -> None:
        self.project = project
        self.replies = list(replies)
        self.work = work
        self.seconds: list[float | None] = []

    def supports_sessions(self) -> bool:
        return False

    def try_model(self) -> None:
        return

    def prepare(self, _request: TurnRequest) -> Command:
        return Command(("scripted",))

    def run(self, _command: Command, request: TurnRequest) -> Generator[LoopEvent, None, TurnResult]:
        self.seconds.append(request.timeout)
        if self.work:
            self.project.write("work.txt", f"turn {request.number}\n")
        return self.replies.pop(0)
        yield

    def recover_session_id(self, _output_file: str) -> str | None:
        return None

    def denial_help(self) -> str:
        return ""


def events(
    project: Project, *replies: TurnResult, delay: float = 0.001, work: bool = False, **request: object
) -> tuple[list[LoopEvent], Scripted]:
    tool = Scripted(project, replies, work=work)
    layout, probe = project.layout, WorkDetector(project.path, FILES)
    wanted = StartRequest(breaker_settings=WiggumBreakerSettings(no_change=0, same_error=0), **request)  # type: ignore[arg-type]
    state = prepare(layout, probe, wanted, datetime.now(UTC)).state
    seconds = None if state.max_minutes is None else state.max_minutes * 60
    settings = LoopSettings(project=project.path, resume=False, limits=Limits(None, 0, seconds), files=FILES)
    store = OuterHandler(layout, probe, logs_bytes=0, for_agent=True)
    active = ActiveRun(layout.folder, project.path, command=[])
    found: list[LoopEvent] = []
    loop = run_loop(tool, OuterPolicy(delay), store, settings, active=active, state=OuterState(saved=state))
    with closing(loop):
        for event in loop:
            found.append(event)
            if isinstance(event, Waiting) and delay > 1:
                project.write(".claude/ralph/cancel", "now\n")  # what `wiggum stop` leaves
    return found, tool


def pauses(told: list[LoopEvent]) -> list[tuple[float, int]]:
    ends = [each for each in told if isinstance(each, IterationEnded)]
    return [(each.decision.wait, each.state.failures) for each in ends if each.decision.wait]


def test_req_rw_103_a_cli_that_fails_at_once_is_given_growing_pauses(project: Project) -> None:
    told, _ = events(project, FAILED, FAILED, FAILED, reply("Worked."), FAILED, DONE)
    assert pauses(told) == [(0.001, 1), (0.002, 2), (0.004, 3), (0.001, 1)]
    assert project.state["outcome"] == "complete"
    log = project.layout.log.read_text()
    assert "iteration 1 failed: " in log
    assert "iteration 4 is over: " in log
    assert "iteration 6: the loop ends, complete (exit code 0): " in log


def test_no_pause_is_asked_for_with_0(project: Project) -> None:
    told, _ = events(project, FAILED, FAILED, DONE, delay=0)
    assert not pauses(told)


def test_a_stop_ends_a_pause(project: Project) -> None:
    told, _ = events(project, FAILED, delay=600)
    assert isinstance(told[-1], LoopEnded)
    assert (told[-1].reason, told[-1].iterations, told[-1].status) == ("cancelled", 1, 130)


def test_a_pause_isn_t_longer_than_the_minutes_that_are_left(project: Project) -> None:
    told, _ = events(project, FAILED, delay=60, max_minutes=0.01)
    assert isinstance(told[-1], LoopEnded)
    assert told[-1].iterations == 1
    assert all(wait <= 0.6 for wait, _ in pauses(told))


def test_f7_a_turn_gets_the_minutes_that_are_left(project: Project) -> None:
    """14 F.7."""
    _, tool = events(project, reply("Worked."), DONE, max_minutes=60)
    first, second = tool.seconds
    assert first is not None
    assert second is not None
    assert 0 < second < first <= 3600
    _, tool = events(project, DONE, fresh=True)
    assert tool.seconds == [None]


@pytest.mark.parametrize(
    ("turn", "failure"),
    [
        (CUT, "it ran for too long and was ended"),
        (SILENT, "the agent gave no response"),
        (USED_UP, "exit status 1: Error: Reached max turns (5)"),
    ],
)
def test_req_rw_108_work_excuses_a_turn_that_was_cut_off_or_silent(
    project: Project, turn: TurnResult, failure: str
) -> None:
    told, _ = events(project, turn, turn, DONE, work=True)
    assert not pauses(told)
    assert [each.text for each in told if isinstance(each, Notice)] == [f"{failure}; its work counts"] * 2
    assert project.state["breaker"]["same_error_count"] == 0


def test_without_work_such_a_turn_has_failed(project: Project) -> None:
    told, _ = events(project, CUT, DONE)
    assert [failures for _, failures in pauses(told)] == [1]


# -- agents ------------------------------------------------------------------------------------------


def start_agent(project: Project, script: str) -> str:
    shown = "agent_extract_response() { cat; }\nagent_format_display() { cat; }\n"
    project.write("bin/my.sh", f"{script}\n{shown}")
    return project.wiggum("start", "--agent", "bin/my.sh", "--timeout", "0.005", "--max-iterations", "1").stderr


@pytest.mark.parametrize("trap", [":", "trap '' INT"])
def test_an_agent_that_runs_for_too_long_is_ended_with_all_that_it_started(project: Project, trap: str) -> None:
    mark = unique_seconds()
    told = start_agent(project, f"AGENT_CLI=sh\nagent_invoke() {{ {trap}\nsh -c 'sleep {mark}; :'; }}")
    assert "it ran for too long and was ended" in told
    assert none_sleeps(mark)


def test_an_agent_whose_program_is_missing_has_no_turn(project: Project) -> None:
    told = start_agent(project, "AGENT_CLI=no-such-cli\nagent_invoke() { echo hi; }")
    assert "no-such-cli was not found on PATH" in told
    assert not project.layout.state.exists()


def test_a_prompt_that_a_turn_has_removed_ends_the_loop(project: Project) -> None:
    project.write("bin/my.sh", "AGENT_CLI=rm\nagent_invoke() { rm PROMPT.md; echo done; }\n"
        "agent_extract_response() { cat; }\nagent_format_display() { cat; }\n")  # fmt: skip
    told = project.wiggum("start", "--agent", "bin/my.sh", "--max-iterations", "3").stderr
    assert "PROMPT.md is gone since turn 1 · next: bring it back" in told


# -- in a session ------------------------------------------------------------------------------------


def test_req_rw_104_a_session_s_turn_is_counted_by_its_stop_only(project: Project) -> None:
    def start() -> str:
        given = StartRequest(mode="hook", description="Port it")
        return "; ".join(
            prepare(project.layout, WorkDetector(project.path, FILES), given, datetime.now(UTC)).notices
        )

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
