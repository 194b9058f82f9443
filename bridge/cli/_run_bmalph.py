"""The loop of a bmalph project, for ``run`` and for the stand-in of ``ralph_loop.sh``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from bridge.cli._ignored import note_unignored
from bridge.cli._terminal import AT_OPEN_BREAKER, say, shell_line, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.loop.events import LoopEnded
    from bridge.setups.bmalph.opening import OpenedLoop
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.dot_ralph.opening import WantedRun


def run_here(folder: Folder, wanted: WantedRun, *, dry_run: bool, quiet: bool) -> int:
    """``ralph-bridge run`` in a bmalph project: 0 complete, 1 ended incomplete, 4 the CLI can't be used as it is.

    Args:
        folder: the loop's folder of the project.
        wanted: what is asked for.
        dry_run: print what would run, and stop.
        quiet: no line per step.
    """
    from bridge.cli._render import Renderer, drive
    from bridge.cli._summary import exit_code, first_line
    from bridge.cli._view import view
    from bridge.setups.bmalph.opening import open_loop
    from bridge.setups.dot_ralph.doctor.tree import samples
    from bridge.setups.dot_ralph.policy import state_of

    with open_loop(folder, wanted, lambda line: say(f"note: {line}"), log=not dry_run) as opened:
        if dry_run:
            return _dry_run(opened)
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        most = wanted.max_iterations
        if not quiet:
            note_unignored(folder.project, folder.shown, samples(folder))
            say(first_line(opened.driver, opened.loop))
        renderer = Renderer(max_iterations=most, quiet=quiet)
        calls = opened.settings.max_calls_per_hour
        with view(renderer, calls_per_hour=calls, max_iterations=most, quiet=quiet) as (show, interrupted):
            end = drive(opened.events(), show, interrupted)
        if state_of(end).breaker.is_open and not quiet:
            say(AT_OPEN_BREAKER)
        _explain(opened, end, say)
        return exit_code(end)


def stand_in(folder: Folder, wanted: WantedRun) -> int:
    """The run of ``ralph_loop.sh``: 0 for every orderly end, whose reason is in ``status.json``.

    Raises:
        bridge.errors.BridgeError: it did not start, or the environment failed it.
    """
    from bridge.cli._as_controller import ControllerScreen
    from bridge.cli._summary import first_line
    from bridge.setups.bmalph.opening import open_loop
    from bridge.setups.unserved import refuse

    refuse(folder.project, os.environ, given=wanted.extra)
    screen = ControllerScreen(live=wanted.live)
    with open_loop(folder, wanted, screen.warn) as opened:
        screen.say(first_line(opened.driver, opened.loop))
        end = screen.run(opened.events)
        _explain(opened, end, lambda line: screen.tell(line + "\n"))
        screen.ended(end)
    return 0


def _dry_run(opened: OpenedLoop) -> int:
    """Print the first command on stdout, and on stderr the settings with their sources. Touches nothing."""
    from bridge.setups.bmalph.policy import BmalphState
    from bridge.setups.bmalph.store import context_of
    from bridge.setups.dot_ralph.files import sessions
    from bridge.setups.dot_ralph.folder import read_plan
    from bridge.turn.driver import build_command

    folder, script, loop = opened.folder, opened.driver, opened.loop
    session = None
    if loop.resume and script.supports_sessions():
        session = sessions.peek(folder)
    context = context_of(BmalphState(), read_plan(folder), resumed=session is not None)
    command = build_command(script, loop, loop.prompt, context=context, session=session)
    say(f"driver: {script.script}")
    say(f"live: {'yes' if command.live else 'no'}")
    for name, value, origin in opened.settings.shown():
        say(f"{name}={value!r} ({origin})")
    write(shell_line(command.argv, command.stdin))
    return 0


def _explain(opened: OpenedLoop, end: LoopEnded, tell: Callable[[str], None]) -> None:
    """Name the list of tools that a loop ended by a refused one had; what to do about it was said before."""
    if end.reason == "permission_denied" and opened.driver.supports_tool_allowlist():
        tell(f"ALLOWED_TOOLS now: {opened.settings.allowed_tools}")
