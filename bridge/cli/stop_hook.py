"""``ralph-bridge stop-hook``: Claude Code's Stop hook. Called at every stop, so without click when it can be."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.cli._terminal import drop

if TYPE_CHECKING:
    import click


_LEGACY = "--legacy-exit-codes"


def fast(arguments: list[str]) -> bool:
    """Say whether a command line can be answered without click."""
    return not {"-h", "--help"} & set(arguments)


def answer_stop(arguments: list[str]) -> int:
    """Answer one call: read stdin, print the answer, return the exit status.

    Arguments that nobody knows fail open as everything else that is wrong does: the usual exit status 2 would
    prevent the stop, each time, and give the usage to the model.
    """
    from bridge.loop.setups.wiggum.hook import answer
    from bridge.loop.setups.wiggum.hook_call import doubt

    data = b"" if sys.stdin.isatty() else sys.stdin.buffer.read()
    legacy = _LEGACY in arguments
    if unknown := [each for each in arguments if each != _LEGACY]:
        found = doubt(f"unknown argument {unknown[0]!r}, expected nothing or {_LEGACY}").response(legacy=legacy)
    else:
        found = answer(data, env=os.environ, cwd=_cwd(), legacy=legacy)
    if found.stderr:
        sys.stderr.write(found.stderr.encode("ascii", "backslashreplace").decode() + "\n")
        sys.stderr.flush()
    if found.stdout:
        try:
            sys.stdout.buffer.write(found.stdout.encode())
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            drop(sys.stdout)
    return found.status


def _cwd() -> Path:
    try:
        return Path.cwd()
    except OSError:  # deleted under the session's feet
        return Path("/")


def _command() -> click.Command:
    import click

    @click.command("stop-hook")
    @click.option(
        _LEGACY,
        "legacy",
        is_flag=True,
        help="For an outer shell loop: exit with 1 to go on, 0 to stop; "
        "$CLAUDE_TRANSCRIPT is used where stdin names no transcript.",
    )
    def command(*, legacy: bool) -> int:
        """Answer a Stop hook of Claude Code: JSON on stdin, the decision as JSON on stdout.

        It prevents the stop while a loop that `wiggum start --mode hook` (or the official plugin) has
        prepared is incomplete: until the promise is given, a <fatal> comes, the circuit breaker opens, or
        the iterations or minutes are used up. Whatever is wrong with its input or the loop's files, the
        session may stop, a message says why, and nothing is deleted.

        Exit codes: always 0; with --legacy-exit-codes, 1 to go on and 0 to stop.
        """
        return answer_stop([_LEGACY] * legacy)

    return command


def __getattr__(name: str) -> object:
    if name == "stop_hook":
        return _command()
    raise AttributeError(name)


stop_hook: click.Command
