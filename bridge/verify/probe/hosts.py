"""A driver in hosts of other kinds: one that gives the CLI a stdin, and Git Bash on Windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridge.shell.protocol import quote
from bridge.verify.probe.commands import PROMPT_FILE

if TYPE_CHECKING:
    from bridge.verify.probe.commands import Build
    from bridge.verify.probe.driver import DriverProbe

HUGE = "".join(f"{n}. one of many steps of a plan that has grown for months\n" for n in range(2400))
"""A prompt of more than 128 KiB, which Linux takes for no argument."""


class Stdin(NamedTuple):
    """A command built for a host that gives it a stdin. argv: empty when none was built. stdin: what it reads."""

    argv: tuple[str, ...]
    stdin: str


def with_stdin(probe: DriverProbe, case: Build, mode: str) -> Stdin | None:
    answer = probe.build_apart(case, f"CLAUDE_CMD_STDIN=\nPROMPT_ON_STDIN={quote(mode)}", also="CLAUDE_CMD_STDIN")
    if answer.trouble:
        return None
    values = list(answer.value or ("",))
    return Stdin(tuple(values[1:]), values[0])


class Windows(NamedTuple):
    """How a Windows machine is told, and where the CLI lies on it.

    native: PATH is in the form of Windows, in which bash itself finds no program.
    """

    name: str
    code: str
    native: bool = False


class OnWindows(NamedTuple):
    """A driver there. cli: what driver_cli_binary prints. argv: empty when no command was built."""

    machine: Windows
    cli: str
    argv: tuple[str, ...]


def windows_machines(probe: DriverProbe) -> tuple[Windows, ...]:
    """Windows machines of several kinds, with the files that they have; the first one has the CLI on PATH."""
    name = probe.cli().rpartition("/")[2]
    for path in (f"C:/rb/bin/{name}.cmd", f"C:/rb/local/{name}/{name}.cmd", f"C:/rb/local/{name}.cmd"):
        file = probe.scratch.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("@echo off\n")
    gone = quote(probe.scratch.path_without())
    local = "LOCALAPPDATA='C:\\rb\\local'"
    return (
        Windows("the CLI on PATH", "OS=Windows_NT"),
        Windows("a .cmd file on PATH", f"unset -v OS; OSTYPE=msys; PATH={gone}':C:\\rb\\bin'"),
        Windows("PATH in the form of Windows", "OS=Windows_NT; PATH='C:\\rb;C:\\rb\\bin'", native=True),
        Windows("a .cmd file below LOCALAPPDATA", f"OS=Windows_NT; PATH={gone}; {local}"),
        Windows("cygpath", f"OS=Windows_NT; PATH={gone}; {local}; cygpath() {{ echo C:/rb/local; }}"),
        Windows("no CLI", f"OS=Windows_NT; PATH={gone}; LOCALAPPDATA='C:\\rb\\elsewhere'"),
    )


def on_windows(probe: DriverProbe, case: Build, machine: Windows) -> OnWindows | None:
    """Ask for the CLI and for the command of this case on such a machine; None when a hook did not come back."""
    cli = probe.call("eval", f"(\n{machine.code}\nhash -r\ndriver_cli_binary\n)")
    built = probe.build_apart(case, f"{machine.code}\nhash -r")
    if cli.trouble or built.trouble:
        return None
    return OnWindows(machine, cli.text, tuple(built.value or ()))


def huge_prompt(probe: DriverProbe) -> str:
    name = PROMPT_FILE.replace("PROMPT", "PROMPT huge")
    probe.scratch.file(f"project/{name}", HUGE.encode())
    return name
