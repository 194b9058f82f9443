"""The runner with a driver made of Python and a scripted CLI that is really started."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ArgumentTooLong, ProgramNotFound, ProjectUnusable
from bridge.loop.engine.active_run import ActiveRun
from bridge.loop.engine.events import IterationEnded, IterationStarted, LoopEnded, LoopEvent, Notice, OutputText
from bridge.loop.engine.loop_settings import LoopSettings
from bridge.loop.engine.policy import Limits, Verdict
from bridge.loop.engine.run_record import read_run
from bridge.loop.setups.plain.opening import run_plain
from bridge.loop.turn.driver import DriverTool

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from bridge.loop.turn.tool import Command, Event, TurnRequest, TurnResult

# Prints, per run, the lines of the next file in `script/`; `status:N` ends it, `run:CODE` is executed.
CLI = """
import glob, os, sys
path = sorted(glob.glob("script/*"))[0]
lines = open(path, "rb").read().splitlines(keepends=True)
os.unlink(path)
with open("calls", "a") as calls:
    calls.write(repr(sys.argv[1:]) + "\\n")
for line in lines:
    if line.startswith(b"status:"):
        sys.stderr.write("a warning\\nthe reason\\n\\n")
        sys.exit(int(line[7:]))
    if line.startswith(b"run:"):
        exec(line[4:])
    else:
        sys.stdout.buffer.write(line)
        sys.stdout.flush()
"""


@dataclass
class FakeDriver:
    """Answers as a driver does; `found` are the session ids that runs leave behind, in turn."""

    live: bool = True
    sessions: bool = True
    found: list[str | None] = field(default_factory=list)
    filter: str = 'if .type == "text" then .part.text else empty end'
    settings: dict[str, str] = field(default_factory=dict)
    argv: list[str] = field(default_factory=list)
    extra: str = ""

    def set(self, name: str, value: str) -> None:
        self.settings[name] = value

    def build_command(self, prompt_file: str, loop_context: str = "", session_id: str = "") -> list[str]:
        self.argv = [sys.executable, "-I", "-S", "-c", CLI, prompt_file, loop_context, session_id]
        self.argv += [self.extra] if self.extra else []
        return list(self.argv)

    def prepare_live_command(self) -> list[str]:
        return [*self.argv, "live"]

    def supports_sessions(self) -> bool:
        return self.sessions

    def supports_live_output(self) -> bool:
        return self.live

    def stream_filter(self) -> str:
        return self.filter

    def recover_session_id(self, output_file: str) -> str | None:
        assert os.path.exists(output_file)
        return self.found.pop(0) if self.found else None


def text(words: str) -> str:
    """One opencode event: a text part."""
    return json.dumps({"type": "text", "sessionID": "ses_1", "part": {"type": "text", "text": words}}) + "\n"


STOP = json.dumps({"type": "step_finish", "sessionID": "ses_1", "part": {"type": "step-finish", "reason": "stop"}})
STOP += "\n"


def status(exit_signal: str) -> str:
    return text(f"---RALPH_STATUS---\nSTATUS: X\nEXIT_SIGNAL: {exit_signal}\n---END_RALPH_STATUS---\n")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph" / "PROMPT.md").write_text("do it")
    (tmp_path / "script").mkdir()
    return tmp_path


def script(project: Path, *runs: str | bytes) -> None:
    for number, run in enumerate(runs):
        data = run.encode() if isinstance(run, str) else run
        (project / "script" / f"{number:03}").write_bytes(data)


def loop(project: Path, driver: FakeDriver, **settings: object) -> list[LoopEvent]:
    options = {"limits": Limits(max_iterations=5), "resume": True, **settings}
    given = LoopSettings(project=project, **options)  # type: ignore[arg-type]
    with closing(run_plain(DriverTool(driver, given), given)) as events:
        return list(events)


def calls(project: Path) -> list[list[str]]:
    return [eval(line) for line in (project / "calls").read_text().splitlines()]


def end(events: list[LoopEvent]) -> tuple[Verdict, str, int]:
    last = events[-1]
    assert isinstance(last, LoopEnded)
    return last.verdict, last.reason, last.iterations


def shown(events: list[LoopEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, OutputText))


def state_of(project: Path) -> dict[str, object]:
    record = json.loads((project / ".ralph" / "status.json").read_text())
    assert isinstance(record, dict)
    return record


def test_until_the_exit_signal_with_sessions_resumed(project: Path) -> None:
    script(project, text("one") + status("false") + STOP, text("two") + status("true") + STOP)
    events = loop(project, FakeDriver(found=["s-1", "s-1"]))
    assert end(events) == (Verdict.COMPLETE, "project_complete", 2)
    assert [(call[1][:8], call[2], call[3]) for call in calls(project)] == [
        ("Loop #1.", "", "live"),
        ("Loop #2.", "s-1", "live"),
    ]
    assert [type(event) for event in events if not isinstance(event, OutputText)] == [
        IterationStarted,
        IterationEnded,
        IterationStarted,
        IterationEnded,
        LoopEnded,
    ]
    turns = [json.loads(line) for line in (project / ".ralph/logs/turns.jsonl").read_text().splitlines()]
    assert [(each["schema"], each["turn"]) for each in turns] == [(1, 1), (1, 2)]
    record = state_of(project)
    record.pop("timestamp")
    assert record == {
        "loop_count": 2,
        "status": "completed",
        "exit_reason": "project_complete",
        "last_action": "graceful_exit",
    }
    assert not (project / ".ralph" / ".claude_session_id").exists()


def test_the_session_ends_with_its_run(project: Path) -> None:
    script(project, text("one") + STOP, text("two") + STOP)
    once = Limits(max_iterations=1)
    events = loop(project, FakeDriver(found=["s-1"]), limits=once)
    assert end(events) == (Verdict.INCOMPLETE, "max_iterations", 1)
    assert (project / ".ralph" / ".claude_session_id").read_bytes() == b"s-1\n"
    assert state_of(project)["status"] == "halted"
    loop(project, FakeDriver(found=["s-1"]), limits=once)
    assert [call[2] for call in calls(project)] == ["", ""]


def test_no_session_is_resumed_when_told_so_or_not_supported(project: Path) -> None:
    script(project, *[text("x") + STOP] * 3)
    (project / ".ralph" / ".claude_session_id").write_text("s-0\n")
    once = Limits(max_iterations=1)
    driver = FakeDriver(found=["s-1"])
    loop(project, driver, limits=once, resume=False)
    assert driver.settings["CLAUDE_USE_CONTINUE"] == "false"
    loop(project, FakeDriver(sessions=False, found=["s-1"]), limits=once)
    assert [call[2] for call in calls(project)] == ["", ""]
    assert (project / ".ralph" / ".claude_session_id").read_text() == "s-0\n"


@pytest.mark.parametrize("saved", ["--model evil", "a b", "-x", "\x1b[1m"])
def test_what_is_no_session_id_is_not_passed_on(project: Path, saved: str) -> None:
    (project / ".ralph" / ".claude_session_id").write_text(saved)
    script(project, text("x") + STOP)
    events = loop(project, FakeDriver(), limits=Limits(max_iterations=1))
    assert isinstance(events[0], Notice)
    assert calls(project)[0][2] == ""


@pytest.mark.parametrize("saved", ['{"session_id": "s-7", "timestamp": "x"}', '{"sessionId":"s-7"}', "s-7\nold\n"])
def test_older_forms_of_the_session_file(project: Path, saved: str) -> None:
    (project / ".ralph" / ".claude_session_id").write_text(saved)
    script(project, text("x") + STOP)
    loop(project, FakeDriver(), limits=Limits(max_iterations=1))
    assert calls(project)[0][2] == "s-7"


def test_a_resume_that_fails_twice_drops_the_session_and_is_retried(project: Path) -> None:
    (project / ".ralph" / ".claude_session_id").write_text("stale\n")
    script(project, "status:1\n", "status:1\n", status("true") + STOP)
    events = loop(project, FakeDriver(found=["s-1"]))
    assert end(events) == (Verdict.COMPLETE, "project_complete", 3)
    assert [call[2] for call in calls(project)] == ["stale", "stale", ""]
    failed = [event for event in events if isinstance(event, IterationEnded)][1]
    assert failed.decision.detail == "exit status 1: the reason; the run is repeated and its session dropped"


def test_three_failures_in_a_row_end_it(project: Path) -> None:
    script(project, *["status:7\n"] * 3)
    events = loop(project, FakeDriver())
    assert end(events) == (Verdict.INCOMPLETE, "consecutive_failures", 3)
    assert state_of(project)["exit_reason"] == "consecutive_failures"


def lines(*events: object) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def block(words: str = "Worked.") -> str:
    return f"{words}\n---RALPH_STATUS---\nSTATUS: DONE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n"


SESSION_CREATED = {"type": "session.created", "session": {"id": "ses_1"}}
THREAD = {"type": "thread.started", "thread_id": "t-1"}
INIT = {"type": "system", "subtype": "init", "session_id": "s-1", "tools": []}
DELTA = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": block()}}
WITHOUT_AN_END = {
    "opencode": status("true"),
    "opencode, between two steps": status("true") + STOP.replace('"stop"', '"tool-calls"'),
    "opencode, older": lines(
        SESSION_CREATED,
        {
            "type": "message.updated",
            "message": {"role": "assistant", "content": [{"type": "text", "text": block()}]},
        },
    ),
    "codex": lines(
        THREAD, {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": block()}}
    ),
    "claude": lines(INIT, {"type": "assistant", "message": {"content": [{"type": "text", "text": block()}]}}),
    "claude, in pieces": lines(INIT, {"type": "stream_event", "event": DELTA}),
    "cursor": lines(
        {"type": "thinking", "subtype": "completed"},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": block()}]}},
    ),
    "copilot": lines({"type": "assistant.message", "data": {"messageId": "1", "content": block()}}),
    "cline": lines(
        {"type": "agent_event", "event": {"type": "content_end", "contentType": "text", "text": block()}}
    ),
    "text": block(),
    "one object": lines({"result": block()}),
}


@pytest.mark.parametrize("name", WITHOUT_AN_END)
def test_c1_words_and_status_0_are_a_success_without_the_closing_event(project: Path, name: str) -> None:
    script(project, WITHOUT_AN_END[name])
    assert end(loop(project, FakeDriver())) == (Verdict.COMPLETE, "project_complete", 1)


ERROR_OF = {
    "opencode": status("true") + lines({"type": "error", "sessionID": "s", "error": {"name": "APIError"}}),
    "codex": WITHOUT_AN_END["codex"] + lines({"type": "turn.failed", "error": {"message": "401"}}),
    "claude": WITHOUT_AN_END["claude"] + lines({"type": "result", "is_error": True, "result": "401"}),
    "claude, limited": WITHOUT_AN_END["claude"]
    + lines(
        {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1, "rateLimitType": "x"}}
    ),
    "copilot": WITHOUT_AN_END["copilot"] + lines({"type": "result", "exitCode": 1}),
    "nothing": "",
    "blanks": "\n \n",
    "claude without words": lines(INIT),
    "codex without words": lines(THREAD, {"type": "turn.started"}),
    "opencode without words": lines(SESSION_CREATED),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if "limited" in name else []) for name in ERROR_OF]
)  # a limit is waited for
def test_c1_an_error_in_the_stream_and_silence_are_failures_with_status_0_too(project: Path, name: str) -> None:
    script(project, ERROR_OF[name])
    failed = next(
        event for event in loop(project, FakeDriver(), limits=Limits(1)) if isinstance(event, IterationEnded)
    )
    assert failed.outcome.failure is not None


def test_c1_silence_gives_the_reason_on_stderr_and_is_none_where_there_is_work(project: Path) -> None:
    script(project, 'run:sys.stderr.write("no provider\\n")\n')
    failed = next(
        event for event in loop(project, FakeDriver(), limits=Limits(1)) if isinstance(event, IterationEnded)
    )
    assert failed.outcome.failure == "it printed nothing: no provider"
    (project / ".ralph" / "@fix_plan.md").write_text("- [ ] one\n- [ ] two\n")
    script(project, 'run:open(".ralph/@fix_plan.md", "w").write("- [x] one\\n- [ ] two\\n")\n')
    worked = next(
        event for event in loop(project, FakeDriver(), limits=Limits(1)) if isinstance(event, IterationEnded)
    )
    assert worked.outcome.failure is None


def test_a_malformed_line_stops_nothing(project: Path) -> None:
    bad = b'{"type": "text", "part"\n\xff\xfe not json\n\n[1]\n"x"\n' + text("still here").encode()
    script(project, bad + (status("true") + STOP).encode())
    events = loop(project, FakeDriver())
    assert "still here" in shown(events)
    assert end(events)[0] is Verdict.COMPLETE


def test_the_raw_log_holds_exactly_what_was_printed(project: Path) -> None:
    raw = b"\xff\0\r\n" + (status("true") + STOP).encode() + b"no newline at the end"
    script(project, raw)
    started = loop(project, FakeDriver())[0]
    assert isinstance(started, IterationStarted)
    assert started.log.read_bytes() == raw
    assert started.log.parent == project / ".ralph" / "logs"
    assert started.log.name.startswith("driver_output_1_")


def test_text_comes_at_the_end_without_live_output(project: Path) -> None:
    script(project, "plain words\n---RALPH_STATUS---\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n")
    events = loop(project, FakeDriver(live=False, sessions=False))
    assert [type(event) for event in events] == [IterationStarted, OutputText, IterationEnded, LoopEnded]
    assert shown(events).startswith("plain words\n")
    assert calls(project)[0][-1] != "live"


def test_live_forces_json(project: Path) -> None:
    driver = FakeDriver(settings={"CLAUDE_OUTPUT_FORMAT": "text"})
    script(project, status("true") + STOP)
    loop(project, driver)
    assert driver.settings["CLAUDE_OUTPUT_FORMAT"] == "json"


@pytest.mark.parametrize("program", ["empty", "this is ( no jq"])
def test_a_filter_that_shows_nothing_leaves_the_answer(project: Path, program: str) -> None:
    script(project, text("the answer") + status("true") + STOP)
    events = loop(project, FakeDriver(filter=program))
    assert "EXIT_SIGNAL" in shown(events)
    assert any(isinstance(event, Notice) for event in events) == (program != "empty")
    assert end(events)[0] is Verdict.COMPLETE


def test_a_filter_that_never_ends_is_ended(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.loop.turn.driver._SLOWEST_LINE", 0.5)
    script(project, text("the answer") + status("true") + STOP)
    events = loop(project, FakeDriver(filter='def f: f; if .type == "text" then f else "shown" end'))
    assert "took longer than 0.5 s" in "".join(event.text for event in events if isinstance(event, Notice))
    assert "EXIT_SIGNAL" in shown(events)
    assert end(events)[0] is Verdict.COMPLETE


def test_a_filter_that_never_ends_leaves_the_deadline_where_it_is(project: Path) -> None:
    script(project, text("a") + STOP + "run:import time; time.sleep(60)\n")
    began = time.monotonic()
    loop(project, FakeDriver(filter="def f: f; f"), timeout=1.0, limits=Limits(max_iterations=1))
    assert time.monotonic() - began < 8


def test_a_filter_errs_on_its_line_only(project: Path) -> None:
    script(project, "no JSON\n[1]\n" + text("a") + '{"type":"text"} 5\n' + text("b") + status("true") + STOP)
    events = loop(project, FakeDriver(filter='if .type == "text" then .part.text + "" else .x end // empty'))
    assert shown(events).startswith("ab")


def test_the_promise(project: Path) -> None:
    script(project, text("<promise>NO</promise>") + STOP, text("<promise>DONE</promise>") + STOP)
    assert end(loop(project, FakeDriver(), promise="DONE")) == (Verdict.COMPLETE, "completion_promise", 2)


def test_a_promise_before_further_words_is_none(project: Path) -> None:
    script(
        project,
        text("<promise>DONE</promise> comes last.") + text("More is to do.") + STOP,
        text("<promise>DONE</promise>") + STOP,
    )
    assert end(loop(project, FakeDriver(), promise="DONE")) == (Verdict.COMPLETE, "completion_promise", 2)


@pytest.mark.parametrize("where", [".ralph/@fix_plan.md", "@fix_plan.md"])
def test_a_plan_that_is_ticked(project: Path, where: str) -> None:
    (project / where).write_text("- [x] a\n- [ ] b\n")
    script(project, f'run:open({where!r}, "w").write("- [x] a\\n- [x] b\\n")\n' + status("false") + STOP)
    events = loop(project, FakeDriver())
    assert end(events) == (Verdict.COMPLETE, "plan_complete", 1)
    assert "Remaining tasks: 1. Next: b." in calls(project)[0][1]
    assert end(loop(project, FakeDriver())) == (Verdict.COMPLETE, "plan_complete", 0)


def test_a_run_that_takes_too_long(project: Path) -> None:
    script(project, "run:import time; time.sleep(60)\n", status("true") + STOP)
    events = loop(project, FakeDriver(), timeout=0.5)
    assert end(events) == (Verdict.COMPLETE, "project_complete", 2)


def test_whoever_ends_turns_hears_when_none_is_running_any_more(project: Path) -> None:
    script(project, status("true") + STOP)
    heard: list[int | None] = []

    class Heard(DriverTool):
        def run(self, command: Command, request: TurnRequest) -> Generator[Event, None, TurnResult]:
            return super().run(command, replace(request, on_start=heard.append))

    settings = LoopSettings(project=project)
    with closing(run_plain(Heard(FakeDriver(), settings), settings)) as events:
        list(events)
    assert [type(each) for each in heard] == [int, type(None)]


def test_leaving_early_is_written_down(project: Path) -> None:
    script(project, text("one") + "run:import time; time.sleep(60)\n")
    settings = LoopSettings(project=project)
    with closing(run_plain(DriverTool(FakeDriver(), settings), settings)) as events:
        assert any(isinstance(event, OutputText) for event in events)
    record = state_of(project)
    assert (record["status"], record["last_action"]) == ("stopped", "interrupted")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes when what the tool has left running is being ended behind the last turn, once."""
    came: list[int] = []

    def end(self: ActiveRun) -> int:
        came.append(1)
        if len(came) == 2:  # the first time is behind the turn
            raise KeyboardInterrupt
        return 0

    monkeypatch.setattr(ActiveRun, "end_leftovers", end)


@pytest.mark.usefixtures("impatient")
def test_an_end_is_written_down_where_a_signal_comes_before_the_leftovers_are_gone(project: Path) -> None:
    script(project, status("true") + STOP)
    with pytest.raises(KeyboardInterrupt):
        loop(project, FakeDriver())
    record = state_of(project)
    assert (record["status"], record["exit_reason"]) == ("completed", "project_complete")
    run = read_run(project / ".ralph")
    assert run is not None
    assert run.end == "project_complete"


@pytest.mark.usefixtures("impatient")
def test_an_interruption_is_written_down_where_a_second_signal_comes(project: Path) -> None:
    script(project, text("one") + "run:import time; time.sleep(60)\n")
    settings = LoopSettings(project=project)
    events = run_plain(DriverTool(FakeDriver(), settings), settings)
    assert any(isinstance(event, OutputText) for event in events)
    with pytest.raises(KeyboardInterrupt):
        events.throw(SystemExit(143))
    record = state_of(project)
    assert (record["status"], record["exit_reason"]) == ("stopped", "SIGTERM")


def test_a_turn_that_puts_a_file_where_the_logs_were_is_no_bug_of_ours(project: Path) -> None:
    spoil = "run:import shutil; shutil.rmtree('.ralph/logs'); open('.ralph/logs', 'w').close()\n"
    script(project, text("one") + spoil + STOP)
    with pytest.raises(ProjectUnusable, match="logs"):
        loop(project, FakeDriver(sessions=False))


def test_the_error_that_ended_it_is_told_where_the_end_can_t_be_written(project: Path) -> None:
    class NoCli(FakeDriver):
        def build_command(self, *_: str) -> list[str]:
            shutil.rmtree(project / ".ralph")
            (project / ".ralph").touch()
            return ["no-such-cli"]

    with pytest.raises(ProgramNotFound, match="no-such-cli"):
        loop(project, NoCli(live=False))


def test_an_error_is_written_down(project: Path) -> None:
    with pytest.raises(ArgumentTooLong):
        loop(project, FakeDriver(extra="x" * 200_000))
    assert state_of(project)["exit_reason"] == "ArgumentTooLong"

    class NoCli(FakeDriver):
        def build_command(self, *_: str) -> list[str]:
            return ["no-such-cli"]

    with pytest.raises(ProgramNotFound, match="no-such-cli"):
        loop(project, NoCli(live=False))
