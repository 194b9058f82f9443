"""The leak table: nothing is left on any path, in the host or in the system."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import tempfile
import threading
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge import Shell
from bridge.errors import BridgeError, ShellDied, ShellStartFailed
from tests.machine import mostly_slow

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATHS = {
    "returns": "return 3",
    "prints": "echo out; echo err >&2",
    "exits": "exit 3",
    "exits past us": "builtin exit 3",
    "is killed": "kill -9 $$",
    "kills its group": "kill 0",
    "becomes a program": "exec true",
    "stops": "kill -STOP $$",
    "is late": "sleep 61",
    "is late, with jobs": "sleep 61 & (sleep 61 &) ; wait",
    "is late and deaf": "trap '' INT TERM; while :; do sleep 61; done",
    "leaves jobs": "sleep 61 & (sleep 61 &)",
    "leaves jobs of their own groups": "set -m; sleep 61 & set +m",
    "floods": "head -c 3000000 /dev/zero",
    "leaves a flood": "yes &",
    "fails at top level": "echo $((1 / 0))",
    "removes the folder": 'rm -rf "$__rb_d"',
    "recurses": "f",
    "closes descriptors": "exec 0<&- 1>&- 2>&-",
}
ZERO = {"descriptors": 0, "children": 0, "threads": 0, "temporary": 0}


def belongings(folder: Path) -> dict[str, int]:
    gc.collect()
    me = psutil.Process()
    return {
        "descriptors": me.num_fds(),
        "children": len(me.children(recursive=True)),
        "threads": me.num_threads(),
        "temporary": len(os.listdir(folder)),
    }


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of its own, so that tests that run beside this one don't show."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def difference(folder: Path, act: Callable[[], None]) -> dict[str, int]:
    before = belongings(folder)
    act()
    after = belongings(folder)
    return {what: after[what] - before[what] for what in before}


def of_sessions(sessions: set[int]) -> list[int]:
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError, psutil.NoSuchProcess):
            if os.getsid(pid) in sessions and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
    return found


@pytest.mark.parametrize(
    "path", [pytest.param(name, marks=[pytest.mark.slow] * (name == "recurses")) for name in PATHS]
)
@pytest.mark.parametrize("isolated", mostly_slow([False, True], 1), ids=["main", "isolated"])
def test_nothing_is_left(bash: str, temporary: Path, path: str, isolated: bool) -> None:
    sessions = []

    def act() -> None:
        with Shell(bash=bash, timeout=2, grace=0.1, output_limit=1_000_000) as shell:
            for _ in range(2):
                sessions.append(shell.pid)
                with contextlib.suppress(BridgeError):  # may tell of the parent's death
                    shell.execute(f"f() {{ {PATHS[path]}; }}")
                sessions.append(shell.pid)
                with contextlib.suppress(BridgeError):
                    shell.call("f", timeout=5 if path == "recurses" else 0.2, isolated=isolated, read=["X"])
            with contextlib.suppress(BridgeError):  # whatever it broke may show only now
                shell.call("true", timeout=1)
            assert shell.call("true").ok
            sessions.append(shell.pid)

    assert difference(temporary, act) == ZERO
    assert of_sessions(set(sessions)) == []


def test_nothing_is_left_by_other_ends(bash: str, temporary: Path) -> None:
    def unclosed() -> None:
        shell = Shell(bash=bash)
        shell.call("true")
        del shell

    def refused() -> None:
        for wrong in ({"bash": "/nonexistent/bash"}, {"cwd": "/proc/none"}, {"bash": "/etc/passwd"}):
            with pytest.raises(BridgeError):
                Shell(**{"bash": bash, **wrong})  # type: ignore[arg-type]

    def killed_between_calls() -> None:
        with Shell(bash=bash) as shell:
            for _ in range(3):
                os.kill(shell.pid, signal.SIGKILL)
                with contextlib.suppress(BridgeError):
                    shell.call("true")
                assert shell.call("true").ok

    def interrupted() -> None:
        with Shell(bash=bash) as shell:
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                shell.call("sleep", "61")
            timer.join()

    def two_at_once() -> None:
        with Shell(bash=bash) as one, Shell(bash=bash) as two:
            assert one.call("true").ok
            assert two.call("true").ok

    def no_descriptor_left() -> None:
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        with Shell(bash=bash) as shell, contextlib.ExitStack() as held:
            held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
            shell.execute("leaves() { sleep 61 & }")
            shell.call("leaves")
            top = os.dup(0)
            held.callback(os.close, top)
            resource.setrlimit(resource.RLIMIT_NOFILE, (top + 30, limits[1]))
            with contextlib.suppress(OSError):
                while True:
                    held.callback(os.close, os.dup(0))
            with pytest.raises(ShellStartFailed):
                Shell(bash=bash)
            with pytest.raises(ShellDied, match="Too many open files"):
                shell.call("true", "long" * 2000)
            with pytest.raises(ShellStartFailed):
                shell.call("true")
            held.close()
            assert shell.call("true").revived

    for act in (unclosed, refused, killed_between_calls, interrupted, two_at_once, no_descriptor_left):
        assert difference(temporary, act) == ZERO, act.__name__
