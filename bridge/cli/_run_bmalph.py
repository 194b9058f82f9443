"""The loop of a bmalph project, for ``run`` and for the stand-in of ``ralph_loop.sh``."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from bridge.cli._ignored import note_unignored
from bridge.cli._terminal import AT_OPEN_BREAKER, say, shell_line, write

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from bridge.loop.events import LoopEnded, LoopEvent
    from bridge.setups.bmalph.layout import Folder
    from bridge.setups.bmalph.opening import Opened, Wanted


def run_here(folder: Folder, wanted: Wanted, *, dry_run: bool, quiet: bool) -> int:
    """``ralph-bridge run`` in a bmalph project: 0 complete, 1 ended incomplete.

    Args:
        folder: the loop's folder of the project.
        wanted: what is asked for.
        dry_run: print what would run, and stop.
        quiet: no line per step.
    """
    from bridge.cli._render import Renderer
    from bridge.cli._view import view
    from bridge.loop.policy import Verdict
    from bridge.setups.bmalph.doctor.project import samples
    from bridge.setups.bmalph.opening import open_loop
    from bridge.setups.bmalph.policy import state_of

    with open_loop(folder, wanted, lambda line: say(f"note: {line}"), log=not dry_run) as opened:
        if dry_run:
            return _dry_run(opened)
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        most = wanted.max_iterations
        if not quiet:
            note_unignored(folder.project, folder.shown, samples(folder))
            say(_first_line(opened))
        renderer = Renderer(max_iterations=most, quiet=quiet)
        calls = opened.settings.max_calls_per_hour
        try:
            with view(renderer, calls_per_hour=calls, max_iterations=most, quiet=quiet) as show:
                end = _shown(opened.events(), show)
        except (KeyboardInterrupt, SystemExit) as signal:
            renderer.interrupted(signal)
            raise
        if state_of(end).breaker.is_open and not quiet:
            say(AT_OPEN_BREAKER)
        _explain(opened, end, say)
        return 0 if end.verdict is Verdict.COMPLETE else 1


def stand_in(folder: Folder, wanted: Wanted) -> int:
    """The run of ``ralph_loop.sh``: 0 for every orderly end, whose reason is in ``status.json``.

    Raises:
        bridge.errors.BridgeError: it did not start, or the environment failed it.
    """
    from bridge.cli._flow import Page, flows
    from bridge.cli._summary import SoFar
    from bridge.cli._terminal import LossyWriter, Style
    from bridge.loop.events import DenialHelp, OutputText
    from bridge.setups.bmalph.opening import open_loop
    from bridge.setups.unserved import refuse

    refuse(folder.project, os.environ, given=wanted.extra)
    out, err = LossyWriter(sys.stdout), LossyWriter(sys.stderr)
    page = Page(sys.stdout, out.write) if flows(sys.stdout) else None
    style = Style(sys.stderr)
    colours = {"ERROR": "red", "WARN": "yellow", "SUCCESS": "green", "LOOP": "cyan"}
    with open_loop(folder, wanted, lambda line: err.write(f"Warning: {line}\n")) as opened:

        def on_log(level: str, line: str) -> None:
            if page is not None:
                page.end()
            colour = colours.get(level)
            err.write((style(line, colour) if colour else line) + "\n")

        so_far = SoFar()

        def show(event: LoopEvent) -> None:
            so_far.take(event)
            if isinstance(event, OutputText) and wanted.live:
                (page.write if page is not None else out.write)(event.text)
            elif isinstance(event, DenialHelp) and event.text:
                if page is not None:
                    page.end()
                out.write(event.text + "\n")

        err.write(_first_line(opened) + "\n")
        try:
            end = _shown(opened.events(on_log), show)
        except (KeyboardInterrupt, SystemExit) as signal:
            err.write(so_far.interrupted(style, signal) + "\n")
            raise
        _explain(opened, end, lambda line: out.write(line + "\n"))
        err.write(so_far.ended(style, end) + "\n")
    return 0


def _dry_run(opened: Opened) -> int:
    """Print the first command on stdout, and on stderr the settings with their sources. Touches nothing."""
    from bridge import records
    from bridge.loop.plan import parse_plan
    from bridge.setups.bmalph.files import sessions
    from bridge.setups.bmalph.layout import fix_plan
    from bridge.setups.bmalph.policy import BmalphState
    from bridge.setups.bmalph.store import context_of
    from bridge.turn.driver import build_command

    folder, script, loop = opened.folder, opened.driver, opened.loop
    session = None
    if loop.resume and script.supports_sessions():
        session = sessions.peek(folder)
    path = fix_plan(folder)
    text = records.read_text(path) if path else None
    plan = None if text is None else parse_plan(text)
    context = context_of(BmalphState(), plan, resumed=session is not None)
    command = build_command(script, loop, loop.prompt, context=context, session=session)
    say(f"driver: {script.script}")
    say(f"live: {'yes' if command.live else 'no'}")
    for name, value, origin in opened.settings.shown():
        say(f"{name}={value!r} ({origin})")
    write(shell_line(command.argv, command.stdin))
    return 0


def _first_line(opened: Opened) -> str:
    from bridge.cli._summary import driver_tool, first_line

    loop = opened.loop
    return first_line(
        driver_tool(opened.driver.display_name(), opened.driver.script),
        loop.prompt,
        iterations=loop.limits.max_iterations,
        seconds=loop.limits.max_seconds,
        turn_seconds=loop.timeout,
    )


def _shown(events: Generator[LoopEvent, None, None], show: Callable[[LoopEvent], None]) -> LoopEnded:
    from bridge.loop.events import LoopEnded

    end: LoopEnded | None = None
    with closing(events):
        for event in events:
            show(event)
            if isinstance(event, LoopEnded):
                end = event
    assert end is not None
    return end


def _explain(opened: Opened, end: LoopEnded, tell: Callable[[str], None]) -> None:
    """Name the list of tools that a loop ended by a refused one had; what to do about it was said before."""
    if end.reason == "permission_denied" and opened.driver.supports_tool_allowlist():
        tell(f"ALLOWED_TOOLS now: {opened.settings.allowed_tools}")
