"""What the machine and the start of the suite would decide: signals, the environment, the hour, git's settings."""

from __future__ import annotations

import glob
import os
import re
import signal
import time
from typing import TYPE_CHECKING, TypeVar

import hypothesis
import pytest

from bridge.loop.setups.dot_ralph.settings import KEYS
from bridge.scripts.contract import driver_contract

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from _pytest.mark.structures import MarkDecorator, ParameterSet

T = TypeVar("T")

# Settings of ours and of the CLIs, of bash, of the programs that scripts call, of git hooks and of the terminal.
_STEERS = re.compile(
    r"RALPH_(?!BRIDGE_(CI|COLD|BASHES|CLIS|CORPUS|DIST|KILLS|LIFT_EXAMPLES|ORIGINALS|SARIF_SCHEMA)$)"
    r"|CLAUDE|OTEL_|TRACEPARENT$|TRACESTATE$|CODEX_|OPENCODE|COPILOT_|CURSOR_|AGENT_|IS_SANDBOX$"
    r"|BASH_ENV$|BASH_FUNC_|ENV$|SHELLOPTS$|BASHOPTS$|BASH_COMPAT$|CDPATH$|GLOBIGNORE$|POSIXLY_CORRECT$|TMOUT$"
    r"|PROMPT_COMMAND$|PS[0-4]$|IFS$|GREP_|JQ_COLORS$|LS_COLORS$|QUOTING_STYLE$|TIME_STYLE$|XDG_|GIT_|LESS|PAGER$"
    r"|LANGUAGE$|LC_|NO_COLOR$|FORCE_COLOR$|CLICOLOR|COLORTERM$|COLUMNS$|LINES$|PYTHONWARNINGS$|PYTHONSTARTUP$"
)
_OURS = {name for key in KEYS for name in (key.name, key.alias)} | set(driver_contract().globals) - {
    "PATH",
    "OS",
    "LOCALAPPDATA",
}

NO_PROVIDER = "makes no boxes on this machine"
"""Why what is true of a provider of boxes isn't tried."""

NO_ORDINARY = "no Python on this machine that an ordinary user may run"
"""Why nothing is tried as one, where root tests."""

NO_BOX = "no namespaces on this machine"
"""Why what a judged script can reach isn't tried."""

NO_ORIGINAL = "no copy of the original on this machine"
"""Why a kind of setup isn't compared with the original; tests marked `real` fetch one."""

NO_OTHERS = "PROVIDER_ADAPTERS names no folder with provider adapters of others"
"""Why none but ours are tried: they are nobody's to bring along."""


def adapters_of_others() -> MarkDecorator:
    """The parameter `path`: each adapter of the folder that PROVIDER_ADAPTERS names."""
    import pytest

    folder = os.environ.get("PROVIDER_ADAPTERS", "")
    found = glob.glob(os.path.join(folder, "*.sh")) if folder else []
    params = [pytest.param(path, id=os.path.basename(path)) for path in sorted(found) if "registry" not in path]
    return pytest.mark.parametrize("path", params or [pytest.param("", marks=pytest.mark.skip(reason=NO_OTHERS))])


def same_environment() -> None:
    """Take what steers the programs under test out of the environment; a test that wants some of it sets it."""
    for name in list(os.environ):
        if name in _OURS or _STEERS.match(name):
            del os.environ[name]
    os.environ.update(
        LANG="C.UTF-8",
        TERM="xterm",
        TZ="UTC",  # a test and the program that it starts have to mean the same hour
        GIT_CONFIG_GLOBAL="/dev/null",  # signed commits, hooks, another name for the first branch
        GIT_CONFIG_NOSYSTEM="1",
        # Tests of what doctor finds in scripts let it run them; tests/cli/test_what_runs.py: what it does without.
        RALPH_BRIDGE_RUN_PROJECT_CODE="1",
    )
    time.tzset()


def no_containers(folder: str) -> None:
    """Put programs on PATH that make no box: each `doctor` tries every provider, which takes seconds."""
    for name in ("docker", "podman", "srt"):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write("#!/bin/sh\necho 'none in this test' >&2\nexit 1\n")
        os.chmod(path, 0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


def with_containers(path: str) -> str:
    """A PATH without what `no_containers` has put in front."""
    return os.pathsep.join(each for each in path.split(os.pathsep) if "/no-containers-" not in each)


def cases(number: int) -> int:
    """So many of a property whose cases take long: a third in `make test`, which tries the same ones each time."""
    return number // 3 if hypothesis.settings().derandomize else number


def mostly_slow(values: Iterable[T], fast: int) -> list[T | ParameterSet]:
    """Parameters of one property: so many of them are tried in `make test`, the rest in `make test-slow`."""
    listed = list(values)
    rest = [
        pytest.param(*each, marks=pytest.mark.slow)
        if isinstance(each, tuple)
        else pytest.param(each, marks=pytest.mark.slow)
        for each in listed[fast:]
    ]
    return [*listed[:fast], *rest]


def hear_signals() -> None:
    """Undo what a start in the background does to signals, as ``nohup make test &`` of a script does.

    An ignored signal stays ignored in every child, so nothing that a test starts would hear Ctrl-C; a handled one
    is back at its default there. This process itself goes on not ending at what nohup keeps from it.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def path_without(program: str, folder: Path) -> str:
    """A PATH that leads to everything but this program, by links in a new folder."""
    made = folder / f"without-{program}"
    made.mkdir()
    for place in os.environ["PATH"].split(":"):
        for name in os.listdir(place) if os.path.isdir(place) else ():
            if name != program and not os.path.lexists(made / name):
                os.symlink(os.path.join(place, name), made / name)
    return str(made)
