"""The loop of a bmalph project, for ``run`` and for the stand-in of ``ralph_loop.sh``."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.cli._ignored import note_unignored
from bridge.cli._scripts import open_driver, settings_of
from bridge.cli._terminal import AT_OPEN_BREAKER, say
from bridge.cli.common import shell_line, write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.driver import Driver
    from bridge.loop.events import LoopEnded, LoopEvent
    from bridge.loop.options import LoopSettings
    from bridge.setups.bmalph.folder import Folder
    from bridge.setups.bmalph.settings import Given, Settings
    from bridge.setups.bmalph.store import BmalphStore

__all__ = ["Wanted", "dry_run", "run_here", "stand_in"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a command line asks of a run.

    Attributes:
        options: settings by field.
        live: show events as they come.
        max_iterations, max_seconds: when to give up; None: never.
        timeout: seconds that one run may take, where whole minutes won't do; None: as the settings say.
        promise: a completion promise, or None.
        extra: globals for the driver, from ``--set``.
        dry_run: print what would run, and stop.
        quiet: no line per step.
    """

    options: Mapping[str, Given] = field(default_factory=dict)
    live: bool = False
    max_iterations: int | None = None
    max_seconds: float | None = None
    timeout: float | None = None
    promise: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False
    quiet: bool = False


def run_here(folder: Folder, wanted: Wanted) -> int:
    """``ralph-bridge run`` in a bmalph project: 0 complete, 1 ended incomplete."""
    from bridge.cli._render import Renderer
    from bridge.cli._view import view
    from bridge.loop.decide import Verdict
    from bridge.setups.bmalph.doctor.project import samples
    from bridge.setups.bmalph.start import ready

    settings = ready(folder, env=os.environ, options={**settings_of(wanted.extra), **wanted.options})
    for notice in settings.notices:
        say(f"note: {notice}")
    log = None if wanted.dry_run else folder.logs / "ralph.log"
    with open_driver(folder, settings, wanted.extra, log=log) as script:
        settings = _checked(script, settings, wanted, lambda line: say(f"note: {line}"))
        loop = _loop_settings(folder, settings, wanted)
        if wanted.dry_run:
            return dry_run(script, settings, loop, folder)
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        if not wanted.quiet:
            note_unignored(folder.project, folder.shown, samples(folder))
            most = f" · at most {wanted.max_iterations} iterations" if wanted.max_iterations else ""
            say(f"{script.display_name()} · driver {script.script} · prompt {loop.prompt}{most}")
        renderer = Renderer(max_iterations=wanted.max_iterations, quiet=wanted.quiet)
        store = _store(folder, settings, script, wanted)
        with view(
            renderer,
            calls_per_hour=settings.max_calls_per_hour,
            max_iterations=wanted.max_iterations,
            quiet=wanted.quiet,
        ) as show:
            end = _run(script, loop, store, show)
        if end.state.breaker is not None and end.state.breaker.is_open and not wanted.quiet:
            say(AT_OPEN_BREAKER)
        _explain(script, settings, end, say)
        return 0 if end.verdict is Verdict.COMPLETE else 1


def stand_in(folder: Folder, wanted: Wanted) -> int:
    """The run of ``ralph_loop.sh``: 0 for every orderly end, whose reason is in ``status.json``.

    Raises:
        bridge.errors.BridgeError: it did not start, or the environment failed it.
    """
    from bridge.cli._flow import Page, flows
    from bridge.cli._mouth import Mouth
    from bridge.cli._terminal import Style
    from bridge.loop.events import DenialHelp, OutputText
    from bridge.setups.bmalph.start import ready
    from bridge.setups.unserved import refuse

    refuse(folder.project, os.environ, given=wanted.extra)
    out, err = Mouth(sys.stdout), Mouth(sys.stderr)
    page = Page(sys.stdout, out.say) if flows(sys.stdout) else None
    style = Style(sys.stderr)
    colours = {"ERROR": "red", "WARN": "yellow", "SUCCESS": "green", "LOOP": "cyan"}
    settings = ready(folder, env=os.environ, options={**settings_of(wanted.extra), **wanted.options})
    for notice in settings.notices:
        err.say(f"Warning: {notice}\n")
    with open_driver(folder, settings, wanted.extra, log=folder.logs / "ralph.log") as script:
        settings = _checked(script, settings, wanted, lambda line: err.say(f"Warning: {line}\n"))

        def on_log(level: str, line: str) -> None:
            if page is not None:
                page.end()
            colour = colours.get(level)
            err.say((style(line, colour) if colour else line) + "\n")

        def show(event: LoopEvent) -> None:
            if isinstance(event, OutputText) and wanted.live:
                (page.write if page is not None else out.say)(event.text)
            elif isinstance(event, DenialHelp) and event.text:
                if page is not None:
                    page.end()
                out.say(event.text + "\n")

        store = _store(folder, settings, script, wanted, on_log)
        end = _run(script, _loop_settings(folder, settings, wanted), store, show)
        _explain(script, settings, end, lambda line: out.say(line + "\n"))
    return 0


def dry_run(script: Driver, settings: Settings, loop: LoopSettings, folder: Folder) -> int:
    """Print the first command on stdout, and on stderr the settings with their sources. Touches nothing."""
    from bridge import records
    from bridge.loop.commands import prepare_command, stdin_of
    from bridge.loop.decide import State
    from bridge.loop.plan import parse_plan
    from bridge.loop.runner import context_for
    from bridge.setups.bmalph.files import sessions
    from bridge.setups.bmalph.layout import fix_plan

    session = None
    if loop.resume and script.supports_sessions():
        session = sessions.peek(folder)
    path = fix_plan(folder)
    text = records.read_text(path) if path else None
    context = context_for(State(), None if text is None else parse_plan(text), resumed=session is not None)
    argv, live = prepare_command(script, loop, context=context, session_id=session)
    say(f"driver: {script.script}")
    say(f"live: {'yes' if live else 'no'}")
    for name, value, origin in settings.shown():
        say(f"{name}={value!r} ({origin})")
    write(shell_line(argv, stdin_of(script)))
    return 0


def _loop_settings(folder: Folder, settings: Settings, wanted: Wanted) -> LoopSettings:
    from dataclasses import replace

    from bridge.setups.bmalph.engine import loop_settings

    found = loop_settings(
        folder,
        settings,
        env=os.environ,
        live=wanted.live,
        max_iterations=wanted.max_iterations,
        max_seconds=wanted.max_seconds,
        promise=wanted.promise,
    )
    return found if wanted.timeout is None else replace(found, timeout=wanted.timeout)


def _store(
    folder: Folder,
    settings: Settings,
    script: Driver,
    wanted: Wanted,
    on_log: Callable[[str, str], None] = lambda _level, _line: None,
) -> BmalphStore:
    from bridge.setups.bmalph.store import BmalphStore, command_line

    live = wanted.live and script.supports_live_output()
    return BmalphStore(
        folder, settings, driver=script.script.stem, command=command_line(), live=live, on_log=on_log
    )


def _run(script: Driver, loop: LoopSettings, store: BmalphStore, show: Callable[[LoopEvent], None]) -> LoopEnded:
    from bridge.loop.events import LoopEnded
    from bridge.loop.runner import run_loop

    end: LoopEnded | None = None
    with closing(run_loop(script, loop, store=store)) as events:
        for event in events:
            show(event)
            if isinstance(event, LoopEnded):
                end = event
    assert end is not None
    return end


def _checked(script: Driver, settings: Settings, wanted: Wanted, warn: Callable[[str], None]) -> Settings:
    """Check what depends on the driver; return the settings with what there is to tell, for the log, too.

    Raises:
        bridge.errors.ConfigurationError: the option for allowed tools names some that the driver doesn't know.
    """
    from dataclasses import replace

    from bridge.setups.bmalph.tools import about_tools

    found = []
    if wanted.live and settings.output_format == "text" and script.supports_live_output():
        source = settings.sources["output_format"]
        found.append(f"{source.name} {source.where} is text; live output needs json, which is taken")
    if told := about_tools(settings, script):
        found.append(told)
    for line in found:
        warn(line)
    return replace(settings, notices=(*settings.notices, *found))


def _explain(script: Driver, settings: Settings, end: LoopEnded, tell: Callable[[str], None]) -> None:
    """Name the list of tools that a loop ended by a refused one had; what to do about it was said before."""
    if end.reason == "permission_denied" and script.supports_tool_allowlist():
        tell(f"ALLOWED_TOOLS now: {settings.allowed_tools}")
