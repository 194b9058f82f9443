"""The loop as a process: exit codes, signals, pipes that nobody reads, ``kill -9``, two terminals."""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from bridge.base.process.leftovers import marked
from tests.command import MAIN
from tests.setups.bmalph import readers
from tests.setups.bmalph.agents import CLIS, Agent, heard
from tests.setups.bmalph.test_run import Watched

if TYPE_CHECKING:
    from tests.setups.bmalph.conftest import Project


pytestmark = pytest.mark.slow

F_SETPIPE_SZ = 1031


def lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def stand_in(project: Project) -> None:
    assert project.run("adopt").returncode == 0


# -- exit codes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("driver", CLIS)
def test_the_stand_in_to_the_end(looping: Project, driver: str) -> None:
    """What bmalph's own end-to-end tests look at: two calls, resume flags on the second, the line on stderr."""
    agent = Agent(looping, driver).otherwise("change; complete")
    stand_in(looping)
    done = looping.controller(PLATFORM_DRIVER=driver, REVIEW_MODE="off")
    assert done.returncode == 0, done.stderr
    assert len(agent.calls) == 2
    assert "Ralph has completed the project" in done.stderr
    record = readers.status(looping.path / ".ralph")
    assert (record["status"], record["exit_reason"]) == ("completed", "completion_signals")


def test_run_says_1_and_the_stand_in_0_for_an_end_without_completion(looping: Project) -> None:
    Agent(looping, "claude-code").otherwise("working")
    looping.env["CB_NO_PROGRESS_THRESHOLD"] = "1"
    assert looping.run("run", "--no-live").returncode == 1
    stand_in(looping)
    done = looping.controller()
    assert done.returncode == 0, done.stderr
    assert readers.status(looping.path / ".ralph")["status"] == "halted"


@pytest.mark.parametrize(
    ("breaks", "env", "code", "said"),
    [
        (".ralph/PROMPT.md", {}, 2, "PROMPT.md"),
        ("", {"PLATFORM_DRIVER": "nobody"}, 2, "nobody"),
        ("", {"CLAUDE_TIMEOUT_MINUTES": "soon"}, 2, "soon"),
        ("bin/claude", {}, 4, "npm install -g @anthropic-ai/claude-code"),
    ],
)
def test_what_fails_before_the_loop(
    looping: Project, breaks: str, env: dict[str, str], code: int, said: str
) -> None:
    Agent(looping, "claude-code")
    stand_in(looping)
    if breaks:
        (looping.path / breaks).unlink()
    plain = {"PATH": f"{looping.path / 'bin'}:/usr/bin:/bin"} | env
    ours = looping.run("run", **plain)
    assert (ours.returncode, said in ours.stderr) == (code, True), ours.stderr
    theirs = looping.controller(**env)
    assert theirs.returncode == 1
    if breaks != "bin/claude":
        assert said in theirs.stderr


def test_dry_run_touches_nothing(looping: Project) -> None:
    agent = Agent(looping, "claude-code")
    before = looping.files()
    done = looping.run("run", "--dry-run", "--calls", "7")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("claude ")
    assert "MAX_CALLS_PER_HOUR='7' (on the command line)" in done.stderr
    assert (looping.files(), agent.calls) == (before, [])


def test_a_foreign_option_is_refused(looping: Project) -> None:
    assert looping.run("run", "--agent", "x").returncode == 2
    assert looping.run("run", "build").returncode == 2


# -- signals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "code", "name"),
    [(signal.SIGINT, 130, "SIGINT"), (signal.SIGTERM, 143, "SIGTERM"), (signal.SIGHUP, 129, "SIGHUP")],
)
def test_t2_a_signal_ends_the_agent_and_all_that_it_started(
    looping: Project, number: signal.Signals, code: int, name: str
) -> None:
    agent = Agent(looping, "codex")
    up = agent.fifo("up")
    agent.otherwise(f"sleep 300 & echo $! >> $kept/pids; echo x > {up}; wait")
    process = looping.start("run", "--driver", "codex", "--no-live")
    assert heard(up)
    process.send_signal(number)
    assert looping.finished(process) == code
    assert len(agent.pids) == 2
    assert not any(map(lives, agent.pids))
    record = readers.status(looping.path / ".ralph")
    assert (record["last_action"], record["status"], record["exit_reason"]) == ("interrupted", "stopped", name)
    session = json.loads(looping.read(".ralph/.ralph_session"))
    assert session["reset_reason"] == "manual_interrupt"
    readers.read_all(looping.path / ".ralph")


def test_a_second_ctrl_c_spares_the_patience(looping: Project) -> None:
    agent = Agent(looping, "codex")
    up = agent.fifo("up")
    agent.otherwise(f"trap 'echo heard > {up}' INT TERM; echo x > {up}; while :; do sleep 0.05; done")
    process = looping.start("run", "--driver", "codex", "--no-live", RALPH_BRIDGE_KILL_GRACE_SECONDS="1000")
    assert heard(up)
    process.send_signal(signal.SIGINT)
    assert heard(up) == "heard\n"  # and it goes on
    process.send_signal(signal.SIGINT)
    assert looping.finished(process) == 130
    assert not any(map(lives, agent.pids))


def test_a_signal_while_it_waits(looping: Project) -> None:
    agent = Agent(looping, "copilot").otherwise('echo "You\'ve hit your session limit"; exit 1')
    process = looping.start("run", "--driver", "copilot", RALPH_BRIDGE_LIMIT_WAIT_SECONDS="5000")
    path = looping.path / ".ralph/status.json"
    while not (path.exists() and readers.status(path.parent)["last_action"] == "api_limit"):
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert looping.finished(process) == 143
    assert len(agent.calls) == 1


# -- pipes -----------------------------------------------------------------------------------------------


def test_t3_pipes_that_nobody_reads_hold_nothing_up(looping: Project) -> None:
    agent = Agent(looping, "codex").otherwise('change; say "$(head -c 3000 /dev/zero | tr "\\0" x)"')
    agent.runs(*["change; working"] * 20, "change; complete", "change; complete")
    stand_in(looping)
    ends = [os.pipe() for _ in range(2)]
    for _, writer in ends:
        fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
    process = subprocess.Popen(
        ["bash", "./.ralph/ralph_loop.sh"],
        cwd=looping.path,
        env=looping.environment(PLATFORM_DRIVER="codex"),
        stdin=subprocess.DEVNULL,
        stdout=ends[0][1],
        stderr=ends[1][1],
    )
    try:
        assert process.wait(timeout=90) == 0
    finally:
        process.kill()
        for pair in ends:
            for end in pair:
                os.close(end)
    assert len(agent.calls) == 22


def test_t3_pipes_that_have_gone_end_nothing(looping: Project) -> None:
    agent = Agent(looping, "codex").otherwise("change; complete")
    stand_in(looping)
    reader, writer = os.pipe()
    process = subprocess.Popen(
        ["bash", "./.ralph/ralph_loop.sh", "--live"],
        cwd=looping.path,
        env=looping.environment(PLATFORM_DRIVER="codex"),
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=writer,
    )
    os.close(reader)
    os.close(writer)
    assert process.wait(timeout=60) == 0
    assert len(agent.calls) == 2


# -- kill -9 ---------------------------------------------------------------------------------------------


def killed_at_random(project: Project, times: int, seed: int) -> None:
    """Kill the loop at random moments; after each: nothing torn, no agent, and the next one goes on."""
    chance = random.Random(seed)
    agent = Agent(project, "codex")
    agent.otherwise(
        "sleep 300 & echo $! >> $kept/pids; change; commit; working; sleep 0.0$((RANDOM % 10)); kill $!"
    )
    folder = project.path / ".ralph"
    project.env["MAX_CALLS_PER_HOUR"] = "1000000"
    done = 0
    for _ in range(times):
        process = subprocess.Popen(
            [*MAIN, "run", "--driver", "codex", "--no-live", "--max-iterations", "1000"],
            cwd=project.path,
            env=project.environment(RALPH_BRIDGE_POLL_SECONDS="0.01"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(chance.uniform(0, 3.0))
        process.kill()
        process.wait()
        until = time.monotonic() + 30
        # Not by the pids that the agents have noted: of hundreds, some belong to others after a while.
        while left := marked(project.path):
            assert time.monotonic() < until, f"{left} of the agent have outlived their loop"
            time.sleep(0.01)
        readers.read_all(folder)
        (project.path / ".git/index.lock").unlink(missing_ok=True)  # the agent's, killed with it
        done = len(agent.calls)
    assert done > 0
    agent.otherwise("change; complete")
    assert project.run("run", "--driver", "codex", "--no-live").returncode == 0
    readers.read_all(folder)
    torn = [path.name for path in folder.iterdir() if path.name.endswith(".tmp")]
    assert torn == []


@pytest.mark.slow
def test_it_must_show_4_killed_at_any_moment(looping: Project) -> None:
    times = int(os.environ.get("RALPH_BRIDGE_KILLS", "10"))
    killed_at_random(looping, times, seed=times)


def test_after_a_kill_the_next_run_resumes(looping: Project) -> None:
    agent = Agent(looping, "codex")
    up = agent.fifo("up")
    agent.runs("change; commit; working", f"echo x > {up}; sleep 300").otherwise("change; complete")
    process = looping.start("run", "--driver", "codex", "--no-live")
    assert heard(up)
    process.kill()
    looping.finished(process)
    while any(map(lives, agent.pids)):
        time.sleep(0.01)
    with Watched(looping.path / ".ralph"):
        done = looping.run("run", "--driver", "codex", "--no-live")
    assert done.returncode == 0, done.stderr
    assert "resume" in agent.calls[2]
