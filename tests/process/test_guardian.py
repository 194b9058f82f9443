"""The host may be killed with -9: its shells and their children end, and their folders go."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from bridge import Shell
from bridge.base.process import guardian
from bridge.errors import ShellStartFailed
from tests.machine import mostly_slow

ROOT = Path(__file__).parents[2]
HOST = """
import sys
from bridge import Shell
shell = Shell(bash=sys.argv[1])
shell.execute(sys.argv[2])
print(shell.pid, shell._process.folder, flush=True)
if sys.argv[3] == "fork":
    import os, time
    if os.fork() == 0:
        time.sleep(60)
try:
    shell.call("hook", timeout=None)
except BaseException:
    raise SystemExit(9)
if sys.argv[3] == "idle":
    sys.stdin.read()
while True:
    shell.call("hook", timeout=None)
"""


@pytest.fixture(autouse=True)
def _own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guardian of the test's own: what other tests have open in this process has one already."""
    monkeypatch.setattr(guardian, "_process", None)
    monkeypatch.setattr(guardian, "_watched", {})


def until(true: object, seconds: float = 10) -> bool:
    assert callable(true)
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def session(leader: int) -> list[int]:
    found = []
    for process in psutil.process_iter(["pid", "status"]):
        with contextlib.suppress(OSError):
            if os.getsid(process.pid) == leader and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


@pytest.mark.parametrize(
    ("hook", "then"),
    mostly_slow(
        [
            ("sleep 62", "wait"),
            ("trap '' HUP INT TERM; while :; do sleep 62; done", "wait"),
            ("set -m; sleep 62 & sleep 62", "wait"),
            ("while :; do :; done", "wait"),
            (":", "calls"),
            ("sleep 62 &", "idle"),
            ("sleep 62", "fork"),
        ],
        2,
    ),
)
def test_a_killed_host_leaves_nothing(bash: str, tmp_path: Path, hook: str, then: str) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, bash, f"hook() {{ {hook}\n}}", then],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert host.stdin is not None
    assert host.stdout is not None
    pid, folder = host.stdout.readline().decode().split()
    assert until(lambda: len(session(int(pid))) > ("sleep" in hook))
    if then == "fork":
        assert until(lambda: len(psutil.Process(host.pid).children()) == 3)
    guardians = [
        child.pid for child in psutil.Process(host.pid).children() if child.name() in ("sh", "dash", "bash")
    ]
    os.kill(host.pid, signal.SIGKILL)
    host.wait()
    try:
        assert until(lambda: not session(int(pid))), "the session is still there"
        assert until(lambda: not Path(folder).exists()), "its folder is still there"
        assert until(lambda: not any(map(psutil.pid_exists, guardians))), "the guardian is still there"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(host.pid, signal.SIGKILL)  # the fork
        host.stdin.close()
        host.stdout.close()


def test_a_host_that_is_killed_right_after_the_fork_leaves_nothing(bash: str, tmp_path: Path) -> None:
    code = """
import os, signal, sys
from bridge import Shell
from bridge.base.process import guardian
def watch(pid, folder=""):
    print(pid, folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
guardian.watch = watch
Shell(bash=sys.argv[1])
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code, bash], env=env, stdout=subprocess.PIPE, text=True, check=False
    )
    pid, folder = done.stdout.split()
    assert until(lambda: not session(int(pid))), "the session is still there"
    assert until(lambda: not Path(folder).exists()), "its folder is still there"


def test_a_bash_that_can_t_be_started_leaves_no_guardian(tmp_path: Path) -> None:
    with pytest.raises(ShellStartFailed):
        Shell(bash=str(tmp_path / "none"))
    assert guardian._process is None


def test_a_child_that_is_not_watched_yet_keeps_the_guardian(bash: str, tmp_path: Path) -> None:
    folder = tmp_path / "its"
    folder.mkdir()
    other = Shell(bash=bash)  # the only one that is watched
    with guardian.pipe() as copy:
        code = 'echo "+ $$ $1" >&"$2"; eval "exec $2>&-"; echo said; read -r _'
        child = subprocess.Popen(
            [bash, "-c", code, "child", str(folder), str(copy)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            pass_fds=[copy],
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"said\n"
    other.close()
    guardian.watch(child.pid, str(folder))
    try:
        assert folder.is_dir()
        assert child.poll() is None
        child.communicate(b"end\n")
        assert child.returncode == 0
    finally:
        guardian.release(child.pid)
    assert guardian._process is None


def test_the_guardian_is_replaced_when_somebody_kills_it(bash: str, leaks: None) -> None:
    with Shell(bash=bash) as one:
        first = guardian._process
        assert first is not None
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        with Shell(bash=bash) as two:
            second = guardian._process
            assert second is not None
            assert second.pid != first.pid
            assert set(guardian._watched) == {one.pid, two.pid}
    assert guardian._process is None


def test_a_forked_child_gets_a_shell_of_its_own(bash: str, tmp_path: Path) -> None:
    with Shell(bash=bash) as shell:
        shell.execute("hook() { echo $$; }")
        pid = shell.call("hook").stdout
        child = os.fork()
        if child == 0:
            status = 1
            try:
                reply = shell.call("hook")
                status = 0 if reply.revived and reply.stdout != pid else 2
                shell.close()
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert shell.call("hook").stdout == pid


def test_a_forked_child_that_ends_normally_spares_its_parents_shell(bash: str) -> None:
    code = """
import os, sys
from bridge import Shell
shell = Shell(bash=sys.argv[1])
pid = shell.call("eval", "echo $$").stdout
child = os.fork()
if child == 0:
    sys.exit(0)
os.waitpid(child, 0)
assert shell.call("eval", "echo $$").stdout == pid
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, bash],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_process_that_one_look_misses_is_ended_all_the_same(tmp_path: Path) -> None:
    """A table is read line by line: a process that forks and ends meanwhile hides its child from one reading."""
    orphan = subprocess.Popen(["sleep", "63"], start_new_session=True)
    ps = tmp_path / "ps"
    ps.write_text(
        f"#!/bin/sh\n[ -e {tmp_path}/looked ] || {{ : > {tmp_path}/looked; exit; }}\n"
        f'kill -0 {orphan.pid} && [ "$(cat /proc/{orphan.pid}/comm)" ] && echo {orphan.pid} 1 {orphan.pid} S\n'
    )
    ps.chmod(0o755)
    script = guardian._SCRIPT.replace("/proc/self/stat", "/nowhere")
    try:
        subprocess.run(
            ["/bin/sh", "-c", script],
            input=f"+ {orphan.pid} \n".encode(),
            env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
            check=True,
            timeout=60,
        )
        assert orphan.wait(timeout=10) == -signal.SIGKILL
    finally:
        orphan.kill()
        orphan.wait()
