"""``adapter repl`` at a terminal and with lines from elsewhere, and how a command's result is shown."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import TYPE_CHECKING

from bridge.adapters.adapter import Adapter
from bridge.adapters.escapes import plain
from bridge.cli._adapter_files import warn
from bridge.cli._failures import guarded, say_error
from bridge.cli._terminal import Style, say, write
from bridge.errors import BridgeError, SessionEnded

if TYPE_CHECKING:
    from bridge.adapters import Result

_LONGEST, _HEAD, _TAIL = 15_000, 1_000, 2_000
"""The longest output, in characters, that a terminal gets whole; else how much of its start and end."""
_SLACK = 200


def repl_on_terminal(name: str, cwd: str) -> int:
    """Hand the terminal to the program until it ends."""
    size = os.get_terminal_size(sys.stdout.fileno())
    env = {**os.environ, "RALPH_BRIDGE_PERSON": "1"}  # who wants start-up files and history
    adapter = Adapter.load(name)
    warn(adapter.problems)
    columns, rows = size.columns or None, size.lines or None  # 0 where the terminal doesn't know
    with adapter.start(cwd=os.path.abspath(cwd), env=env, columns=columns, rows=rows, probe=False) as session:
        sys.stdout.flush()
        status = session.interact(sys.stdin.fileno(), sys.stdout.fileno())
    return 0 if status in (0, None) else 1


def repl_on_lines(name: str, cwd: str) -> int:
    """Run each line of stdin as one command; goes on after errors. 1 when some command failed."""
    good = True
    adapter = Adapter.load(name)
    warn(adapter.problems)
    with guarded(), adapter.start(cwd=os.path.abspath(cwd)) as session:
        for line in sys.stdin:
            try:
                result = session.run(line.rstrip("\r\n"))
            except SessionEnded:
                break
            except BridgeError as error:
                say_error(str(error))
                good = False
                continue
            show_result(result)
            good = good and result.ok
            if result.ended_by == "exit":
                return 0 if result.exit_code == 0 and good else 1
    return 0 if good else 1


def show_result(result: Result) -> None:
    output = result.output if Style(sys.stdout).on else plain(result.output)
    if sys.stdout.isatty():
        output = shortened(output)
    if output:
        write(output + "\n")
    interrupted = " and was interrupted" if result.recovered else ""
    if result.ended_by in ("timeout", "incomplete", "input", "exit"):
        message = {
            "timeout": f"the command did not end in time{interrupted}",
            "incomplete": f"the command is incomplete{interrupted}",
            "input": "the program waits for input",
            "exit": f"the program ended with status {result.exit_code}",
        }[result.ended_by]
        say(f"ralph-bridge: {message}")


def shortened(text: str, *, folder: str | None = None) -> str:
    """`text`; if it is too long, its head and tail, cut at line ends, and the path of a file with everything."""
    if len(text) <= _LONGEST:
        return text
    head, tail = _near_line_end(text, _HEAD), _near_line_end(text, len(text) - _TAIL)
    gap = f"[{tail - head} characters left out; everything is in {_saved(text, folder)}]"
    return f"{text[:head].rstrip()}\n\n{gap}\n\n{text[tail:].lstrip()}"


def _near_line_end(text: str, position: int) -> int:
    """The line end closest to `position`, if there is one nearby."""
    before = text.rfind("\n", max(position - _SLACK, 0), position)
    after = text.find("\n", position, position + _SLACK)
    near = [each + 1 for each in (before, after) if each >= 0]
    return min(near, key=lambda each: abs(each - position), default=position)


def _saved(text: str, folder: str | None) -> str:
    """Path of a new file with `text` that only this user may read. Raises OSError."""
    own = os.path.join(folder or tempfile.gettempdir(), f"ralph-bridge-output-{os.getuid()}")
    os.makedirs(own, mode=0o700, exist_ok=True)
    status = os.lstat(own)
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        own = tempfile.mkdtemp(prefix="ralph-bridge-output-")  # somebody else's, or open to others
    descriptor, path = tempfile.mkstemp(prefix="output-", suffix=".txt", dir=own)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)
    return path
