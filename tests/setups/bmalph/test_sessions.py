"""Sessions (section 4.5), and what is left of a run that did not end in order."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from bridge.base.process import leftovers, table
from bridge.loop.engine import run_record
from bridge.loop.engine.events import LoopEnded, RunOpened
from bridge.loop.engine.policy import Verdict
from bridge.loop.setups.bmalph.policy import BmalphState
from bridge.loop.setups.dot_ralph import files, session_files
from bridge.loop.setups.dot_ralph.exits import ExitSignals, write_signals
from tests.setups.bmalph import readers, writing
from tests.setups.bmalph.conftest import NOW

if TYPE_CHECKING:
    from tests.setups.bmalph.conftest import Project


def complete(iterations: int) -> LoopEnded:
    return LoopEnded(Verdict.COMPLETE, "plan_complete", "", iterations, 1.0, BmalphState())


def started(project: Project, now: float = NOW) -> str:
    """The session of a run that begins."""
    writing.record(project.folder, RunOpened(None), now)
    return str(json.loads(project.read(".ralph/.ralph_session"))["session_id"])


def test_a_session_from_start_to_reset(project: Project) -> None:
    folder = project.folder
    first = started(project)
    assert first.startswith(f"ralph-{int(NOW)}-")
    assert started(project, NOW + 5) == first
    writing.record(folder, writing.prepared(), NOW + 60)
    record = readers.session(folder.path)
    assert (record["created_at"], record["last_used"]) == ("2026-01-02T03:04:05+00:00", "2026-01-02T03:05:05+00:00")
    writing.record(folder, writing.ended(1, session_id="agent-1", signals=ExitSignals(done_signals=(1,))), NOW + 90)
    assert project.read(".ralph/.claude_session_id") == "agent-1\n"
    assert readers.session(folder.path)["session_id"] == "agent-1"
    assert files.read_exit_signals(folder)
    project.write(".ralph/.response_analysis", "{}")
    writing.record(folder, complete(7), NOW + 99)
    assert readers.session(folder.path) == {
        "session_id": "",
        "reset_at": "2026-01-02T03:05:44+00:00",
        "reset_reason": "project_complete",
    }
    assert not (folder / ".claude_session_id").exists()
    assert not (folder / ".response_analysis").exists()
    assert not files.read_exit_signals(folder)
    (entry,) = json.loads(project.read(".ralph/.ralph_session_history"))
    assert (entry["reason"], entry["loop_number"], entry["to_state"]) == ("project_complete", 7, "reset")


def test_the_history_keeps_fifty(project: Project) -> None:
    project.write(".ralph/.ralph_session_history", "damaged")
    for number in range(53):
        writing.record(project.folder, complete(number))
    history = json.loads(project.read(".ralph/.ralph_session_history"))
    assert [history[0]["loop_number"], len(history)] == [3, 50]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"session_id": 5, "created_at": "2026-01-01T00:00:00+00:00"}',
        '{"session_id": "x", "created_at": "soon"}',
        '{"session_id": "x", "created_at": "2099-01-01T00:00:00+00:00"}',
        '{"session_id": "x"}',
        '{"session_id": "", "created_at": "2026-01-01T00:00:00+00:00"}',
        '{"session_id": "x", "created_at": 5}',
    ],
)
def test_a_session_that_makes_no_sense_is_replaced(project: Project, text: str) -> None:
    project.write(".ralph/.ralph_session", text)
    assert started(project).startswith("ralph-")


@pytest.mark.parametrize("created", ["2026-01-02T03:04:05Z", "2026-01-02 03:04:05", "2026-01-02T04:04:05+01:00"])
def test_a_session_of_another_member_of_the_family_goes_on(project: Project, created: str) -> None:
    record = {"session_id": "s", "created_at": created, "last_used": 5, "reset_at": "", "reset_reason": ""}
    project.write(".ralph/.ralph_session", json.dumps(record))
    assert started(project) == "s"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("abc-1\n", "abc-1"),
        ("abc-1\r\nnoise", "abc-1"),
        ('{"session_id": 5, "sessionId": "abc-1"}', "abc-1"),
        ('{"session_id": true}', None),
        ("id1,id2," * 1000, None),
        ("\udcff\udcfe", None),
        ("\ufeffabc-1", None),
        ("abc-1", "abc-1"),
        ('{"session_id": "abc-1", "timestamp": "x"}', "abc-1"),
        ('{"sessionId": "abc-1"}', "abc-1"),
        ("abc-1\nabc-1\nabc-1\n", "abc-1"),
        ("abc-1 abc-1 abc-1\n", None),
        ("--dangerous\n", None),
        ("[2026-01-01 00:00:00] [INFO] hello\n", None),
        ("null\n", None),
        ("{", None),
        ("", None),
    ],
)
def test_f5_only_one_token_is_ever_resumed(project: Project, text: str, found: str | None) -> None:
    path = project.write(".ralph/.claude_session_id", "")
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    resume = session_files.resume_id(project.folder, expiry_hours=24, now=path.stat().st_mtime)
    assert resume.session_id == found
    writing.record(project.folder, writing.prepared(session_id=found))
    assert path.exists() == (found is not None)
    assert bool(resume.dropped) == (found is None and text != "")


def test_a_session_expires_when_it_is_not_used(project: Project) -> None:
    path = project.write(".ralph/.claude_session_id", "abc\n")
    os.utime(path, (NOW, NOW))
    for now in (NOW - 60, NOW + 7199):  # a clock that was set back makes no session old
        assert session_files.resume_id(project.folder, expiry_hours=2, now=now).session_id == "abc"
    resume = session_files.resume_id(project.folder, expiry_hours=2, now=NOW + 7200)
    writing.record(project.folder, writing.prepared())
    assert (resume.session_id, "2 h" in resume.dropped, path.exists()) == (None, True, False)


def test_t20_a_dead_session_is_dropped_and_the_loops_own_goes_on(project: Project) -> None:
    started(project)
    writing.record(project.folder, writing.ended(1, session_id="agent-1"))
    assert session_files.peek(project.folder) == "agent-1"
    writing.record(project.folder, writing.ended(2, session="agent-1"))
    assert session_files.resume_id(project.folder, expiry_hours=1, now=NOW).session_id is None
    assert session_files.active_session(project.read(".ralph/.ralph_session"), NOW) is not None


def leave_signals(project: Project) -> None:
    project.write(".ralph/.exit_signals", write_signals(ExitSignals(done_signals=(4, 5))))
    writing.record(project.folder, writing.progress("x", elapsed=3))
    project.write(".ralph/.response_analysis", "{}")
    project.write(".ralph/.write_heartbeat_triggered", "true")
    project.write(".ralph/.status.json.abcd1234.tmp", "torn")


@pytest.mark.parametrize("before", ["crashed", "unknown"])
def test_t07_what_a_crash_has_left_does_not_end_the_next_run(project: Project, before: str) -> None:
    folder = project.folder
    if before == "crashed":
        run_record.begin_run(folder.path, command=["x"], now=NOW)
    leave_signals(project)
    project.write(".ralph/.claude_session_id", "agent-1\n")
    writing.record(folder, writing.prepared(session_id="agent-1"))
    project.write(".ralph/.call_count", "1\n")
    last = run_record.read_run(folder.path)
    told = writing.opened(folder, last, NOW + 1)
    assert not files.read_exit_signals(folder)
    assert len(told) == 1
    assert "exit signals" in told[0]
    assert readers.progress(folder.path)["status"] == "failed"
    left = set(os.listdir(folder.path))
    assert left & {".response_analysis", ".write_heartbeat_triggered", ".status.json.abcd1234.tmp"} == set()
    assert files.calls_made(folder, NOW) == 1
    assert (folder / ".claude_session_id").exists()
    assert (last is None) == (told[0].startswith("exit signals of a run"))


def test_t07_after_an_orderly_end_signals_count_on(project: Project) -> None:
    run = run_record.begin_run(project.folder.path, command=["x"], now=NOW)
    leave_signals(project)
    run_record.write_run(project.folder.path, run, now=NOW, end="max_iterations")
    assert files.stale_files(project.folder) == []
    assert writing.opened(project.folder, run_record.read_run(project.folder.path)) == ()
    assert files.read_exit_signals(project.folder).done_signals == (4, 5)


def test_runs_have_ids_of_their_own_and_know_their_agent(project: Project) -> None:
    ids = set()
    for _ in range(5):
        run = run_record.begin_run(project.folder.path, command=["ralph", "run"], now=NOW)
        ids.add(run.run_id)
    assert len(ids) == 5
    assert run.alive
    with subprocess.Popen(["sleep", "60"]) as agent:
        run = run_record.write_run(project.folder.path, run, now=NOW, agent=table.identify(agent.pid))
        assert run.agent is not None
        assert table.alive(run.agent)
        agent.kill()
    assert not table.alive(run.agent)
    assert run_record.read_run(project.folder.path) == run


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"run_id": 1}', '{"run_id":"a","pid":"x"}'])
def test_a_record_that_makes_no_sense_counts_as_none(project: Project, text: str) -> None:
    project.write(".ralph/.ralph_bridge.json", text)
    assert run_record.read_run(project.folder.path) is None


def test_a_pid_that_somebody_else_has_now_is_not_that_process() -> None:
    me = table.identify()
    assert table.alive(me)
    assert not table.alive(me._replace(started="1"))
    assert not table.alive(me._replace(boot="another"))
    assert table.command_of(me.pid)


def test_what_agents_leave_running_is_found_by_its_mark(project: Project) -> None:
    env = os.environ | {leftovers.MARK: str(project.path)}
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], env=env, stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        child = int(agent.stdout.readline())
        end = time.monotonic() + 20
        while table.command_of(child) != "sleep 60" and time.monotonic() < end:
            pass  # in the middle of its exec, which it hasn't behind it before, a process shows no environment
        assert leftovers.marked(project.path) == sorted([agent.pid, child])
        os.kill(child, 9)
    assert leftovers.marked(project.path) == []
