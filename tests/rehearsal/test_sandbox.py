"""The namespaces: nothing gets out of them, and nothing outlives them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.errors import SandboxUnavailable
from bridge.verify.rehearsal import sandbox
from bridge.verify.rehearsal.homes import PORT
from bridge.verify.rehearsal.sandbox import RehearsalResult, missing, rehearse
from bridge.verify.rehearsal.scenario import ModelTurn

if TYPE_CHECKING:
    from collections.abc import Callable

needs_namespaces = pytest.mark.skipif(bool(missing()), reason=f"no namespaces: {missing()}")
REACH_OUT = """
import socket, sys
for address in (("1.1.1.1", 53), ("8.8.8.8", 443), ("2606:4700:4700::1111", 443)):
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as each:
        each.settimeout(2)
        try:
            each.connect(address)
        except OSError as error:
            print(error.errno)
        else:
            sys.exit("it got out")
"""


def run(tmp_path: Path, *argv: str, turns: tuple[ModelTurn, ...] = (), timeout: float = 20) -> RehearsalResult:
    env = {"PATH": os.environ["PATH"]}
    return rehearse(argv, cwd=tmp_path, env=env, folder=tmp_path / "out", turns=turns, timeout=timeout)


@needs_namespaces
def test_nothing_but_loopback_can_be_reached(tmp_path: Path) -> None:
    done = run(tmp_path, sys.executable, "-c", REACH_OUT)
    assert (done.status, done.stderr) == (0, b"")
    assert len(done.stdout.split()) == 3
    assert (list(done.interfaces), list(done.outside)) == (["lo"], [])


@needs_namespaces
def test_the_server_answers_inside(tmp_path: Path) -> None:
    code = (
        "import urllib.request as u; r = u.Request("
        f'\'http://127.0.0.1:{PORT}/v1/messages\', b\'{{"tools": [{{"name": "x"}}]}}\'); print(u.urlopen(r).read())'
    )
    done = run(tmp_path, sys.executable, "-c", code, turns=(ModelTurn(text="hello from inside"),))
    assert b"hello from inside" in done.stdout
    assert [each["tools"] for each in done.requests] == [["x"]]


@needs_namespaces
def test_what_is_left_is_named_and_ended(tmp_path: Path) -> None:
    word = f"30{os.getpid()}"  # seconds that nobody else sleeps
    done = run(tmp_path, "bash", "-c", f"setsid sleep {word} & exit 3")
    assert done.status == 3
    assert [each.split(" ", 1)[1] for each in done.leftovers] == [f"sleep {word}"]
    running = [path for path in os.listdir("/proc") if path.isdecimal() and word in _command(path)]
    assert running == []


@needs_namespaces
def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    done = run(tmp_path, "bash", "-c", "echo begun; sleep 60", timeout=0.5)
    assert (done.status, done.stdout, list(done.leftovers)) == (None, b"begun\n", [])


@needs_namespaces
def test_the_dead_are_no_leftovers(tmp_path: Path) -> None:
    assert run(tmp_path, "bash", "-c", "(sleep 0.01 & exec true) & exit 0").leftovers == []


HOST = """
import sys
sys.path.insert(0, sys.argv[1])
from bridge.verify.rehearsal.sandbox import rehearse
rehearse(["sleep", sys.argv[3]], cwd=sys.argv[2], env={"PATH": "/usr/bin:/bin"}, folder=sys.argv[2] + "/out")
"""


@needs_namespaces
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_the_host(tmp_path: Path, number: signal.Signals) -> None:
    word = f"31{os.getpid()}{number:02}"
    root = str(Path(sandbox.__file__).parents[2])
    host = subprocess.Popen([sys.executable, "-c", HOST, root, str(tmp_path), word], stderr=subprocess.DEVNULL)
    wait_for(lambda: running(f"sleep\0{word}"))
    host.send_signal(number)
    host.wait(10)
    wait_for(lambda: not running(f"sleep\0{word}") and not running(f"{tmp_path}/out"))


LOOK_AROUND = """
import os, socket, sys
with socket.socket(socket.AF_UNIX) as each:
    try:
        each.connect(chr(0) + sys.argv[1])
    except ConnectionRefusedError:
        print("refused")
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as each:
    try:
        each.sendto(b"x", ("2606:4700:4700::1111", 53))
    except OSError:
        print("unreachable")
try:
    socket.getaddrinfo("example.com", 443)
except socket.gaierror:
    print("unknown")
print(sum(name.isdecimal() for name in os.listdir("/proc")), os.getppid(), sorted(os.environ))
"""


@needs_namespaces
def test_the_host_is_not_to_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "somebody's own")
    name = f"rehearsal-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as host:
        host.bind("\0" + name)
        host.listen()
        done = run(tmp_path, sys.executable, "-c", LOOK_AROUND, name)
    *words, seen = done.stdout.decode().splitlines()
    assert words == ["refused", "unreachable", "unknown"]
    assert seen in ("2 1 ['LC_CTYPE', 'PATH']", "2 1 ['PATH']")


@needs_namespaces
def test_a_daemon_that_forks_twice_is_found_and_ended(tmp_path: Path) -> None:
    word = f"32{os.getpid()}"
    done = run(
        tmp_path, "bash", "-c", f"(setsid bash -c 'exec sleep {word}' </dev/null >/dev/null 2>&1 &) & exit 0"
    )
    assert [each.split(" ", 1)[1] for each in done.leftovers] == [f"sleep {word}"]
    assert not running(f"sleep\0{word}")


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def running(words: str) -> bool:
    return any(words in _command(pid) for pid in os.listdir("/proc") if pid.isdecimal() and int(pid) != os.getpid())


def test_without_namespaces_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "missing", lambda: "unshare is not on PATH")
    with pytest.raises(SandboxUnavailable, match="not on PATH") as raised:
        run(tmp_path, "touch", str(tmp_path / "ran"))
    assert raised.value.exit_code == 4
    assert not (tmp_path / "ran").exists()


def _command(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
