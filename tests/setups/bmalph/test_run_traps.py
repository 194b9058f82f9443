"""The traps of the original's loop, by number: each test shows one gone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from bridge.errors import ProjectBusy, ProjectUnusable
from bridge.loop.engine.lock import one_loop
from bridge.loop.setups.dot_ralph.handler import FolderHandler
from bridge.loop.turn.tool import TurnLogs
from tests.setups.bmalph import inside, readers
from tests.setups.bmalph.agents import SESSION, Agent, let_go

if TYPE_CHECKING:
    from tests.setups.bmalph.conftest import Project

FAILS = "echo 'Error: no such model' >&2; exit 1"


def context(call: list[str]) -> str:
    return call[-1]


class Jumping(inside.Time):
    """The wall clock is set by so many hours during the first wait; the other one goes on."""

    hours = 0.0
    passed = 0.0

    def monotonic(self) -> float:
        return self.passed

    def wait(self, seconds: float) -> None:
        super().wait(seconds)
        self.passed += seconds
        if len(self.waits) == 1:
            self.moment += timedelta(hours=self.hours)


@pytest.mark.parametrize(("hours", "waits"), [(-5, 30), (5, 1)])
def test_a_clock_that_is_set_keeps_no_loop_waiting(looping: Project, hours: float, waits: int) -> None:
    Agent(looping, "codex").runs(FAILS, "change; working")
    looping.env["RALPH_BRIDGE_RETRY_SECONDS"] = "30"
    time = Jumping()
    time.hours = hours
    inside.run(looping, max_iterations=2, time=time)
    assert sum(time.waits) == waits


def test_t1_a_failed_run_is_repeated_with_a_growing_pause(looping: Project) -> None:
    again, last = (FAILS.replace("no such model", f"{word} is broken") for word in ("network", "disk"))
    agent = Agent(looping, "codex").runs(FAILS, again, last, "change; working", FAILS)
    looping.env["RALPH_BRIDGE_RETRY_SECONDS"] = "30"
    looping.env["RALPH_BRIDGE_RETRY_MAX_SECONDS"] = "100"
    loop = inside.run(looping, max_iterations=5)
    assert loop.waits == [("retry", 30), ("retry", 60), ("retry", 100)]
    assert len(agent.calls) == 5
    log = looping.read(".ralph/logs/ralph.log")
    assert "exit status 1: Error: no such model" in log
    outcomes = [json.loads(line)["loop_outcome"] for line in looping.read(".ralph/logs/metrics.jsonl").splitlines()]
    assert outcomes == ["error", "error", "error", "success", "error"]


def test_t1_failures_in_a_row_have_a_cap(looping: Project) -> None:
    Agent(looping, "codex").otherwise(FAILS)
    loop = inside.run(looping, RALPH_BRIDGE_RETRY_LIMIT="2", max_iterations=None)
    assert (loop.reason, loop.end.iterations) == ("consecutive_failures", 2)
    assert readers.status(looping.path / ".ralph")["status"] == "halted"


def test_t4_the_status_block_of_a_stream_is_read_with_its_newlines(looping: Project) -> None:
    Agent(looping, "codex").otherwise(
        'change; say "Everything is done and complete.\\\\n$(block IN_PROGRESS false 0)"'
    )
    loop = inside.run(looping, max_iterations=3)
    assert loop.reason == "max_iterations"
    analysis = readers.analysis(looping.path / ".ralph")
    assert (analysis["exit_signal"], analysis["tests_status"]) == (False, "PASSING")


def test_t5_opencode_as_it_is_today(looping: Project) -> None:
    agent = Agent(looping, "opencode").otherwise("change; complete")
    assert inside.run(looping, "opencode").reason == "completion_signals"
    assert [("ses_1" in call) for call in agent.calls] == [False, True]


def test_t6_tracked_state_files_are_no_progress(looping: Project) -> None:
    Agent(looping, "codex").runs("git add -A -f .ralph; commit; working").otherwise("working")
    loop = inside.run(looping, max_iterations=9)
    assert (loop.reason, loop.end.iterations) == ("stagnation_detected", 3)
    assert looping.git("ls-files", ".ralph/status.json")


def test_t6_committing_them_is_none_either(looping: Project) -> None:
    Agent(looping, "codex").otherwise("git add -A -f .ralph; commit; working")
    loop = inside.run(looping, max_iterations=9)
    assert (loop.reason, loop.end.iterations) == ("stagnation_detected", 3)


def test_t7_what_a_crashed_run_left_does_not_end_the_next(looping: Project) -> None:
    agent = Agent(looping, "codex").otherwise("change; working")
    looping.write(
        ".ralph/.exit_signals", '{"test_only_loops":[],"done_signals":[1,2],"completion_indicators":[1,2]}\n'
    )
    loop = inside.run(looping, max_iterations=1)
    assert len(agent.calls) == 1
    assert "exit signals" in loop.notices


def test_t8_findings_and_warnings_travel_in_the_context(looping: Project) -> None:
    agent = Agent(looping, "codex").otherwise("change; working")
    looping.write(
        ".ralph/.review_findings.json", '{"severity":"HIGH","issues_found":1,"summary":"a leak","details":[]}\n'
    )
    inside.run(looping, max_iterations=2)
    assert "a leak" in context(agent.calls[0])
    assert all("--append-system-prompt" not in call for call in agent.calls)
    assert "a leak" not in context(agent.calls[1])  # dealt with
    assert not (looping.path / ".ralph/.review_findings.json").exists()


def test_t9_the_rate_limit_at_eight_minutes_nine_seconds(looping: Project) -> None:
    agent = Agent(looping, "codex").otherwise("change; working")
    time = inside.Time()
    loop = inside.run(looping, max_iterations=3, MAX_CALLS_PER_HOUR="2", time=time)
    assert loop.waits == [("rate_limit", 51 * 60 + 51)]
    assert len(agent.calls) == 3
    assert [event.iteration for event in loop.iterations] == [1, 2, 3]  # no number is used up by waiting
    assert time.moment.minute == 0
    assert looping.read(".ralph/.call_count") == "1\n"


def test_t10_progress_is_json_whatever_the_agent_prints(looping: Project) -> None:
    agent = Agent(looping, "codex")
    gate = agent.fifo("gate")
    agent.otherwise(f'printf \'{{"type":"x","text":"\\\\"q\\\\" \\\\\\\\ \\t"}}\\n\'; read -r _ < {gate}; working')
    process = looping.start(
        "run", "--no-live", "--max-iterations", "1", "--driver", "codex", RALPH_BRIDGE_POLL_SECONDS="0.01"
    )
    path = looping.path / ".ralph/progress.json"
    while process.poll() is None:
        if path.exists() and readers.progress(path.parent).get("last_output"):
            break
    assert readers.progress(path.parent)["last_output"].startswith('{"type":"x","text":"\\"q\\"')
    let_go(gate)
    assert looping.finished(process) == 1


def test_t11_words_about_limits_are_no_limit(looping: Project) -> None:
    text = "We hit the 5 hour limit: usage limit reached, try again in 2 hours"
    Agent(looping, "codex").runs(f'say "{text}"; exit 7').otherwise("change; working")
    loop = inside.run(looping, max_iterations=2)
    assert [event.decision.reason for event in loop.iterations] == ["retry", "max_iterations"]


def test_t12_without_sessions_the_context_stays(looping: Project) -> None:
    agent = Agent(looping, "codex").otherwise("change; working")
    inside.run(looping, max_iterations=2, SESSION_CONTINUITY="false")
    assert all("Remaining tasks: 3. Next: Story 1.1" in context(call) for call in agent.calls)
    assert SESSION not in agent.calls[1]
    assert not (looping.path / ".ralph/.claude_session_id").exists()  # trap T20, too


def test_t13_a_line_that_is_no_json_costs_itself(looping: Project) -> None:
    Agent(looping, "codex").otherwise("echo 'warning: {not json'; change; complete")
    loop = inside.run(looping, live=True)
    assert loop.reason == "completion_signals"
    assert "All of it." in looping.read(".ralph/live.log")


def test_t14_nothing_waits_for_a_heartbeat(looping: Project) -> None:
    Agent(looping, "codex").otherwise("change; working")
    time = inside.Time()
    inside.run(looping, max_iterations=3, WRITE_TIMEOUT_MINUTES="8", time=time)
    assert time.waits == []


COUNTED = """
import sys
count = 0
def hook(event, _arguments):
    global count
    count += event in ("os.fork", "os.posix_spawn", "subprocess.Popen")
sys.addaudithook(hook)
import atexit
atexit.register(lambda: print(count, file=sys.stderr))
from bridge.cli import main
sys.exit(main())
"""


def test_t15_an_iteration_starts_few_processes(looping: Project) -> None:
    """Counted are those of our process: the agent's and git's. bash has the hooks of codex without any."""
    Agent(looping, "codex").otherwise("change; commit; working")
    counts = []
    for iterations in ("1", "4"):
        done = subprocess.run(
            [sys.executable, "-c", COUNTED, "run", "-q", "--no-live", "--max-iterations", iterations],
            cwd=looping.path,
            env=looping.environment(PLATFORM_DRIVER="codex"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1, done.stderr
        counts.append(int(done.stderr.splitlines()[-1]))
    assert (counts[1] - counts[0]) / 3 <= 10


def test_t16_two_loops_never_share_a_project(looping: Project) -> None:
    agent = Agent(looping, "codex")
    (looping.path / ".ralph/logs").mkdir()
    with one_loop(looping.folder.path, looping.path), pytest.raises(ProjectBusy):
        inside.run(looping)
    assert agent.calls == []
    assert not (looping.path / ".ralph/status.json").exists()


def test_t17_two_runs_within_a_second_keep_their_logs(looping: Project) -> None:
    Agent(looping, "codex").otherwise("change; working")
    inside.run(looping, max_iterations=3)
    logs = sorted(name for name in os.listdir(looping.path / ".ralph/logs") if name.startswith("claude_output"))
    assert [name.removeprefix("claude_output_2026-01-02_08-08-09") for name in logs] == ["-2.log", "-3.log", ".log"]


def test_t19_a_run_out_of_time_with_work_done_is_analysed(looping: Project) -> None:
    agent = (
        Agent(looping, "codex")
        .runs("change; commit; tick; working 1 | grep -v turn.completed; exec sleep 60")
        .otherwise("change; working")
    )
    loop = inside.run(looping, max_iterations=2, timeout=1.5)
    first = loop.iterations[0]
    assert first.outcome.timed_out
    assert (first.decision.reason, first.outcome.files_changed) == ("", 2)
    assert SESSION in agent.calls[1]
    assert "Changed: " in context(agent.calls[1])
    assert looping.read(".ralph/.call_count") == "2\n"


def test_t19_a_run_out_of_time_without_any_is_repeated(looping: Project) -> None:
    Agent(looping, "codex").runs("exec sleep 60").otherwise("change; working")
    loop = inside.run(looping, max_iterations=2, timeout=0.5)
    assert [event.decision.reason for event in loop.iterations] == ["retry", "max_iterations"]


def test_t20_a_session_that_the_cli_does_not_know_is_dropped(looping: Project) -> None:
    looping.write(".ralph/.claude_session_id", "dead-1\n")
    looping.env["RALPH_BRIDGE_RETRY_SECONDS"] = "30"
    fails = "echo 'Error: thread/resume failed: no rollout found for thread id dead-1' >&2; exit 1"
    agent = Agent(looping, "codex").runs(fails).otherwise("change; working")
    loop = inside.run(looping, max_iterations=2)
    assert ["dead-1" in call for call in agent.calls] == [True, False]
    assert loop.waits == []
    assert looping.read(".ralph/.claude_session_id") == f"{SESSION}\n"


def test_t20_other_failures_keep_it_once(looping: Project) -> None:
    looping.write(".ralph/.claude_session_id", "kept-1\n")
    agent = Agent(looping, "codex").runs(FAILS, FAILS).otherwise("change; working")
    inside.run(looping, max_iterations=3)
    assert ["kept-1" in call for call in agent.calls] == [True, True, False]


def test_t22_and_t2_a_run_that_only_reads_is_ended_with_all_it_started(looping: Project) -> None:
    agent = Agent(looping, "codex").runs("sleep 300 & echo $! >> $kept/pids; wait").otherwise("change; working")
    loop = inside.run(looping, max_iterations=2, WRITE_TIMEOUT_MINUTES="8", _HEARTBEAT_TIMEOUT_SECS_OVERRIDE="0.3")
    assert [event.decision.reason for event in loop.iterations] == ["write_timeout", "max_iterations"]
    assert "wrote no file" in context(agent.calls[1])
    assert not any(os.path.exists(f"/proc/{pid}/cmdline") and _lives(pid) for pid in agent.pids)
    outcomes = [json.loads(line)["loop_outcome"] for line in looping.read(".ralph/logs/metrics.jsonl").splitlines()]
    assert outcomes == ["read_only_timeout", "success"]


def test_t23_bash_and_git_are_all_it_needs(looping: Project) -> None:
    """No timeout, stdbuf, sed, date or jq: macOS has none of the first two, and others of the rest."""
    Agent(looping, "codex").otherwise("change; complete")
    few = looping.path.parent / "few"
    few.mkdir()
    for name in ("bash", "git", "cat", "env"):
        (few / name).symlink_to(str(shutil.which(name)))
    done = looping.run("run", "--no-live", "--driver", "codex", PATH=f"{looping.path / 'bin'}:{few}")
    assert done.returncode == 0, done.stderr


def test_t24_a_prompt_that_no_command_line_holds_goes_to_stdin(looping: Project) -> None:
    """Gone for drivers that know the offer; what a foreign one puts on the command line is measured first."""
    agent = Agent(looping, "codex").otherwise("change; complete")
    looping.write(".ralph/PROMPT.md", "x" * 131_072)
    assert looping.run("run", "--no-live", "--driver", "codex").returncode == 0
    assert len(agent.calls) == 2
    looping.write(
        ".ralph/drivers/foreign.sh",
        'source "${BASH_SOURCE%/*}/codex.sh"\n'
        'driver_build_command() { CLAUDE_CMD_ARGS=(codex exec --json "$(cat "$1")"); }\n',
    )
    done = looping.run("run", "--no-live", "--driver", "foreign")
    assert (done.returncode, "128 KiB" in done.stderr, len(agent.calls)) == (2, True, 2)


def test_t29_a_default_of_the_file_is_the_value_of_the_file(looping: Project) -> None:
    agent = Agent(looping, "codex").otherwise("change; complete")
    looping.write(".ralph/.ralphrc", 'PLATFORM_DRIVER="${PLATFORM_DRIVER:-codex}"\n')
    assert looping.run("run", "--no-live").returncode == 0
    assert len(agent.calls) == 2


def _lives(pid: int) -> bool:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] not in "ZX"


def test_t31_what_changed_reaches_the_next_run(looping: Project) -> None:
    agent = Agent(looping, "codex").runs("change a.txt; commit; working").otherwise("change; working")
    inside.run(looping, max_iterations=2)
    assert "Changed: a.txt (+1/-0)" in context(agent.calls[1])


# -- what agents leave behind or take away -----------------------------------------------------------------


def test_t2_what_left_the_agents_session_ends_with_the_loop(looping: Project) -> None:
    """It lives on between the runs (a server that the next one tests against), and not after the last one."""
    server = 'setsid sh -c "echo \\$\\$ > $kept/{0}; exec sleep 300" >/dev/null 2>&1 & '
    server += "until [ -s $kept/{0} ]; do :; done"  # it has left the agent's group by then
    stray, kept = server.format("stray"), "env -u RALPH_BRIDGE_PROJECT " + server.format("kept")
    seen = 'kill -0 "$(cat $kept/stray)" && : > $kept/seen'
    agent = Agent(looping, "codex").runs(f"change; {stray}; {kept}; working").otherwise(f"change; {seen}; complete")
    inside.run(looping, max_iterations=3)
    assert (agent.kept / "seen").exists()
    spared = int((agent.kept / "kept").read_text())
    try:
        assert not _lives(int((agent.kept / "stray").read_text()))
        assert _lives(spared)
    finally:
        os.kill(spared, 9)
    assert "What the agent had left running was ended: 1 process group" in looping.read(".ralph/logs/ralph.log")


@pytest.mark.parametrize("live", [False, True])
def test_an_agent_that_cleans_up_ignored_files_takes_the_logs(looping: Project, live: bool) -> None:
    looping.write(".gitignore", ".ralph/logs/\n")
    agent = Agent(looping, "codex").runs("git clean -fdxq -e bin; change; working").otherwise("change; complete")
    loop = inside.run(looping, live=live, max_iterations=5)
    assert (loop.reason, len(agent.calls)) == ("completion_signals", 3)
    assert SESSION in agent.calls[1]


def test_a_full_disk_ends_the_loop_with_a_message(looping: Project) -> None:
    Agent(looping, "codex").otherwise("change; working")
    full = TurnLogs(Path("/dev/full"), looping.path / ".ralph/logs/e")
    refused = pytest.raises(ProjectUnusable, match="the log /dev/full can't be used: No space left on device")
    opens, names = (
        patch("bridge.loop.turn.logs.descriptor", os.open),
        patch.object(FolderHandler, "new_logs", lambda _self: full),
    )
    with refused, opens, names:
        inside.run(looping)


# -- what the original refuses, and repairs ----------------------------------------------------------------


def test_a_driver_that_the_project_lacks_is_refused(looping: Project) -> None:
    (looping.path / ".ralph/drivers/codex.sh").unlink()
    agent = Agent(looping, "codex").otherwise("change; complete")
    looping.run("adopt")
    done = subprocess.run(
        ["bash", ".ralph/ralph_loop.sh"],
        cwd=looping.path,
        env=looping.environment(PLATFORM_DRIVER="codex"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "PLATFORM_DRIVER in the environment" in done.stderr
    assert "claude-code, copilot" in done.stderr
    assert "cursor-agent-wrapper" not in done.stderr
    assert agent.calls == []
    assert looping.run("run", "--driver", "codex", "--no-live").returncode == 0, "asked for, it is the shipped one"


def test_a_torn_history_is_made_anew(looping: Project) -> None:
    looping.write(".ralph/.circuit_breaker_history", "{nope")
    looping.write(".ralph/.circuit_breaker_state", '{"state":"WEIRD"}')
    Agent(looping, "codex").otherwise("change; complete")
    inside.run(looping)
    assert json.loads(looping.read(".ralph/.circuit_breaker_history")) == []
    assert json.loads(looping.read(".ralph/.circuit_breaker_state"))["state"] == "CLOSED"


def test_warnings_about_settings_are_in_the_log(looping: Project) -> None:
    looping.write(".ralph/.ralphrc", "NO_SUCH_KEY=1\n")
    Agent(looping, "codex").otherwise("change; complete")
    inside.run(looping)
    assert "[WARN] .ralph/.ralphrc:1: unknown key NO_SUCH_KEY" in looping.read(".ralph/logs/ralph.log")


def test_live_output_takes_json_and_says_so(looping: Project) -> None:
    agent = Agent(looping, "claude-code").otherwise("change; complete")
    done = looping.run("run", "--live", "--max-iterations", "1", CLAUDE_OUTPUT_FORMAT="text")
    assert "CLAUDE_OUTPUT_FORMAT in the environment is text; live output needs json" in done.stderr
    assert "stream-json" in agent.calls[0]
