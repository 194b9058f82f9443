"""What only shows from outside: signals, a second loop, readers that have gone, the original's own programs."""

from __future__ import annotations

import signal
import subprocess
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.command import MAIN

if TYPE_CHECKING:
    from tests.setups.frankbria.conftest import Project

PATIENCE = 60.0


def wait_until_held(project: Project) -> None:
    with open(project.fifo("up")) as pipe:
        pipe.read()


def held(project: Project) -> str:
    """What an agent does that says that it is up, starts a child, and takes no notice of polite signals."""
    up, go = project.fifo("up"), project.fifo("go")
    return f"trap '' TERM INT; sleep 1000 & echo $! >> $kept/pids; echo x > {up}; read -r _ < {go}"


def all_gone(project: Project) -> bool:
    end = time.monotonic() + PATIENCE
    pids = [int(line) for line in (project.kept / "pids").read_text().split()]
    while time.monotonic() < end:
        found = [pid for pid in pids if psutil.pid_exists(pid)]
        if all(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE for pid in found):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_f16_a_signal_ends_the_loop_and_all_that_it_started(project: Project, number: int, code: int) -> None:
    project.claude(held(project))
    process = project.start()
    wait_until_held(project)
    assert project.status[:2] == ("executing", "running")
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "Traceback" in err) == (code, False)
    assert all_gone(project)
    assert project.status == ("interrupted", "stopped", "")
    assert project.json(".ralph_session")["reset_reason"] == "manual_interrupt"


def test_f16_a_second_loop_is_refused_and_leftovers_of_a_killed_one_are_ended(project: Project) -> None:
    project.claude(held(project))
    process = project.start()
    wait_until_held(project)
    done = project.run()
    assert (done.returncode, f"process {process.pid}" in done.stderr) == (1, True)
    process.kill()
    process.communicate()
    done = project.run("--max-iterations", "1")
    assert done.returncode == 0, done.stderr
    assert all_gone(project)


def test_f16_the_original_at_work_keeps_ours_out(project: Project) -> None:
    up = project.fifo("up")
    script = project.home.path / ".ralph/ralph_loop.sh"
    script.parent.mkdir()
    script.write_text(f"#!/usr/bin/env bash\necho x > {up}\nread -r _\n")
    script.chmod(0o755)
    with subprocess.Popen([str(script)], cwd=project.path, stdin=subprocess.PIPE) as original:
        wait_until_held(project)
        before = project.files()
        done = project.run()
        assert (done.returncode, project.files()) == (1, before)
        assert f"process {original.pid}" in done.stderr
        original.communicate(b"\n")


def test_f35_readers_that_have_gone_cost_lines_and_a_closed_terminal_nothing(project: Project) -> None:
    go = project.fifo("go")
    project.claude(f"echo x > {project.fifo('up')}; read -r _ < {go}; works", otherwise="completes")
    process = project.start("--live")
    wait_until_held(project)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    process.send_signal(signal.SIGHUP)
    with open(go, "w") as pipe:
        pipe.write("\n")
    assert process.wait(PATIENCE) == 0
    assert project.status == ("graceful_exit", "completed", "completion_signals")
    assert "Ralph has completed the project" in (project.ralph / "logs/ralph.log").read_text()


def test_a_2_leaves_the_wait_for_a_limit(project: Project) -> None:
    limit = (
        '{"type":"result","subtype":"success","is_error":true,"session_id":"s","result":"session limit reached"}'
    )
    project.claude(otherwise=f"echo '{limit}'; exit 1")
    done = project.run(stdin=b"2\n")
    assert (done.returncode, project.status) == (0, ("api_limit_exit", "stopped", "api_5hour_limit"))
    assert "1: wait until it ends, 2: leave" in done.stdout


def test_the_stand_in_hands_over_what_only_the_original_does(project: Project) -> None:
    project.home.install()
    project.settings("SANDBOX_PROVIDER=e2b")
    words = ["stand-in", "frankbria", "", str(project.home.command), "--calls", "5"]
    from tests.command import MAIN

    done = subprocess.run(
        [*MAIN, *words],
        cwd=project.path,
        env=project.home.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (7, "ralph_loop.sh first\n")
    assert (project.home.installed / "said.argv").read_text() == "--calls\0005\0"
    assert project.calls == []


def test_run_finds_the_project_from_below_and_by_name(project: Project) -> None:
    (project.path / "src/deep").mkdir(parents=True)
    project.claude(otherwise="completes")
    done = subprocess.run(
        [*MAIN, "run", "--project", str(project.path), "--setup", "frankbria", "-q"],
        env=project.home.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, len(project.calls)) == (0, 2)
    assert "Starting Loop" not in done.stderr
