"""Hostile scripts, each with its one defined outcome, on every bash.

A script's header says what a caller must see; unknown keys are an error::

    # about:   what it tries
    # call:    hook and its arguments, separated by spaces          (default: hook)
    # env:     NAME=VALUE, added to the environment of bash
    # source:  outcome of sourcing it                               (default: returned 0)
    # sees:    outcome of the call; alternatives separated by |
    # stdout:  what the call printed, with Python's escapes
    # size:    bytes on stdout and on stderr
    # reads:   NAME COUNT, an array or mapping of that many elements after the call
    # length:  NAME BYTES, a scalar of that length after the call
    # state:   kept | lost | any: the globals from before           (default: kept, unless bash died)
    # next:    ok | any: how the calls after it go                  (default: ok)
    # alone:   yes: no isolated call can be had afterwards
    # noisy:   yes: later calls may print (a trap of the script's)
    # timeout: seconds for the call                                 (default: 10)
    # within:  seconds after which the caller must have its answer  (default: timeout and the kill ladder)
    # limit:   bytes of output
    # bash:    the oldest version that has what the script uses
    # before:  VERSION KEY VALUE: what another key says on a bash that is older than that
    # slow:    yes: marked so
    # escapes: yes: it starts a daemon that leaves the session; its pid lies in $PIDFILE

Outcomes: ``returned N``, ``exited N``, ``died [STATUS]``, ``timeout``, ``limit``, ``missing`` (no such hook).
"""

from __future__ import annotations

import functools
import os
import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge import Shell
from bridge.errors import HookError, HookExited, HookNotFound, HookTimeout, OutputLimitExceeded, ShellDied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.shell import Reply

HERE = Path(__file__).parent
GRACE = 0.15
LADDER = 4 * GRACE + 2.5  # the rungs, and time for a loaded machine to reap
KEYS = frozenset(re.findall(r"^    # ([a-z]+): ", __doc__ or "", re.MULTILINE))
WITNESS = ["plain", "two  words", ""]
# One by one: with a byte 1 in IFS, "$@" is right only since bash 4.4.
HELPERS = """
ping() { PONG=(); PONG[0]=$1; PONG[1]=$2; [[ $1 == yes ]]; }
"""

Header = dict[str, list[str]]


def header(path: Path) -> Header:
    found: Header = {}
    for line in path.read_text().splitlines():
        if not (match := re.match(r"# ([a-z]+): +(.*)", line)):
            break
        assert match[1] in KEYS, f"{path.name}: unknown key {match[1]!r}"
        found.setdefault(match[1], []).append(match[2])
    assert {"about", "sees"} <= set(found), f"{path.name}: no outcome"
    return found


def one(head: Header, key: str, default: str) -> str:
    return head.get(key, [default])[0]


def on(version: tuple[int, ...], head: Header) -> Header:
    """The header as it is for a bash of this version."""
    found = dict(head)
    for line in head.get("before", []):
        newer, key, value = line.split(" ", 2)
        assert key in KEYS, f"unknown key {key!r}"
        if version < tuple(map(int, newer.split("."))):
            found[key] = [value]
    return found


def scripts() -> Iterator[object]:
    for path in sorted(HERE.glob("*.sh")):
        slow = (pytest.mark.slow,) if "slow" in header(path) else ()
        yield pytest.param(path, id=path.stem, marks=slow)


def outcome(act: Callable[[], Reply]) -> tuple[str, Reply | HookError]:
    """What a caller sees, in the words of the headers."""
    try:
        reply = act()
    except HookExited as error:
        return f"exited {error.status}", error
    except ShellDied as error:
        return f"died {error.status}", error
    except HookTimeout as error:
        return "timeout", error
    except OutputLimitExceeded as error:
        return "limit", error
    except HookNotFound as error:
        return "missing", error
    return f"returned {reply.status}", reply


def accepted(seen: str, wanted: str) -> bool:
    return any(seen == choice or seen.split()[0] == choice for choice in re.split(r" *\| *", wanted))


def members(session: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (OSError, psutil.Error):
            continue
    return found


@pytest.fixture
def pidfile(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "pid"
    yield path
    if path.exists():
        os.kill(int(path.read_text()), signal.SIGKILL)


@pytest.mark.parametrize("path", list(scripts()))
def test_hostile(path: Path, bash: str, pidfile: Path, tmp_path: Path, leaks: None) -> None:
    head = header(path)
    env = dict(os.environ, PIDFILE=str(pidfile)) | dict(line.split("=", 1) for line in head.get("env", []))
    limit = int(one(head, "limit", "70000000"))
    with Shell(bash=bash, env=env, cwd=tmp_path, timeout=10, grace=GRACE, output_limit=limit) as shell:
        if "bash" in head and shell.version < tuple(map(int, one(head, "bash", "").split("."))):
            pytest.skip("this bash has no associative arrays")
        head = on(shell.version, head)
        shell.execute(HELPERS)
        shell.execute('keep() { KEPT=("$@"); }')
        shell.call("keep", *WITNESS)
        seen, evidence = outcome(lambda: shell.source(path))
        assert accepted(seen, one(head, "source", "returned 0")), f"sourcing: {seen}\n{evidence}"
        sessions = {shell.pid}
        died = isinstance(evidence, HookError) and evidence.state_lost
        died = the_call(shell, path, head) or died
        the_next_calls(shell, head, died)
        sessions.add(shell.pid)
    left = [process for session in sessions for process in members(session)]
    assert left == []


def the_call(shell: Shell, path: Path, head: Header) -> bool:
    """The call that hurts; whether bash was lost by it."""
    hook, *arguments = one(head, "call", "hook").split(" ")
    timeout = float(one(head, "timeout", "10"))
    started = time.monotonic()
    seen, evidence = outcome(lambda: shell.call(hook, *arguments, timeout=timeout))
    took = time.monotonic() - started
    assert accepted(seen, one(head, "sees", "")), f"{seen}\n{evidence}"
    assert took < float(one(head, "within", str(timeout + LADDER))), f"took {took:.1f} s"
    if isinstance(evidence, HookError):
        assert (evidence.hook, evidence.arguments, evidence.script) == (hook, tuple(arguments), str(path))
    if "stdout" in head:
        assert evidence.stdout == one(head, "stdout", "").encode().decode("unicode_escape")
    if "size" in head:
        assert [len(evidence.stdout), len(evidence.stderr)] == list(map(int, one(head, "size", "").split()))
    return isinstance(evidence, HookError) and evidence.state_lost


def the_next_calls(shell: Shell, head: Header, lost: bool) -> None:
    """Whatever happened: the next calls work, and what is gone was said to be gone."""
    state = one(head, "state", "lost" if lost else "kept")
    any_next = one(head, "next", "ok") == "any"
    for word, status, more in (("yes", 0, "a b"), ("no", 1, "a b"), ("yes", 0, "long " * 2000), ("yes", 0, "")):
        ping = functools.partial(shell.call, "ping", word, more, read=["PONG", "KEPT"], timeout=5)
        seen, evidence = outcome(ping)
        if isinstance(evidence, HookError):  # the damage showed only now: then it must say that state is lost
            assert evidence.state_lost, f"{seen}\n{evidence}"
            assert any_next or state in ("lost", "any"), f"{seen}\n{evidence}"
            lost = True
            continue
        lost = lost or evidence.revived
        assert any_next or (evidence.status, evidence.values["PONG"]) == (status, [word, more]), evidence
        if "noisy" not in head and not any_next:
            assert (evidence.stdout, evidence.stderr) == ("", "")
        assert evidence.values["KEPT"] == (None if lost else WITNESS)
    assert state == "any" or lost == (state == "lost"), f"state {'lost' if lost else 'kept'}"
    if not any_next:
        shell.execute("EXECUTED=yes")
        assert shell["EXECUTED"] == "yes"
    if not any_next and "slow" not in head:
        if "alone" not in head:
            apart = shell.call("ping", "no", "apart", isolated=True, read=["PONG"])
            assert (apart.status, apart.values) == (1, {"PONG": ["no", "apart"]})
        pairs = {"__PAIRS": {"]": "x"}} if shell.version >= (4,) else {}
        shell.update({"__LIST": ["a b", ""], **pairs})
        assert shell["__LIST"] == ["a b", ""]
        assert shell.snapshot()["EXECUTED"].value == "yes"
    if not lost:
        for name, count in (line.split() for line in head.get("reads", [])):
            assert len(shell[name]) == int(count)
        for name, count in (line.split() for line in head.get("length", [])):
            value = shell.call("true", read=[name], timeout=float(one(head, "timeout", "10"))).values[name]
            assert value is not None
            assert len(value) == int(count)
