"""``run`` in a ralph-loop setup, and its controller's command line for the stand-in."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.cli._failures import guarded
from bridge.cli._flow import Page, flows
from bridge.cli._terminal import Pieces, Style, message, say, say_all, write, write_text
from bridge.errors import BridgeError, ConfigurationError, ProjectCodeNotRun, SessionRefused
from bridge.loop.setups.options import RunOptions
from bridge.loop.setups.ralph_loop.controller import (
    LOOP_MODES,
    RalphRequest,
    Refusal,
    help_text,
    parse,
    run_original,
    usage,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.loop.engine.events import HookText, LoopEvent
    from bridge.loop.setups.setup_kind import Setup


def run_setup(setup: Setup | None, options: RunOptions, *, quiet: bool) -> int:
    """``ralph-bridge run`` in a ralph-loop setup."""
    from bridge.loop.setups.ralph_loop.settings import default_mode

    assert setup is not None
    if options.prompt is not None:
        raise click.UsageError("--prompt does not apply to a ralph-loop setup: its words are `prompt FILE`")
    words = [*options.words]
    if not words:
        words = ["plan"] if options.process else [default_mode(setup.home)]
        if not quiet:
            say(f"ralph-loop setup in {setup.home}: {words[0]} (`ralph-bridge run plan` or `run build` says which)")
    if options.process:
        words.append("--process")
    request = parse(words)
    if isinstance(request, RalphRequest):
        if options.max_iterations is not None:
            request = replace(request, iterations=str(options.max_iterations))
        if request.prompt_file:
            request = replace(request, prompt_file=_seen_from(setup.project, request.prompt_file))
    return start(setup, request, words, options, quiet=quiet)


def _seen_from(folder: Path, path: str) -> str:
    """A path that the user gave, as the project sees it: from where the user is, else from the project."""
    here = Path(os.path.abspath(path))
    if not here.exists() or Path.cwd() == folder:
        return path
    return os.path.relpath(here, folder) if here.is_relative_to(folder) else str(here)


def controller(path: Path, words: Sequence[str]) -> int:
    """Do what the controller at `path` would, called with `words` in the working folder."""
    from bridge.loop.setups.ralph_loop.kind import at
    from bridge.loop.setups.unserved import refuse

    strict, unlifted = (bool(os.environ.get(f"RALPH_BRIDGE_{name}")) for name in ("STRICT_COMPAT", "NO_LIFT"))
    with guarded():
        setup = at(Path.cwd(), path)
        request = parse(words)
        if isinstance(request, RalphRequest) and request.mode in LOOP_MODES:
            refuse(setup.project, os.environ)
        return start(setup, request, words, RunOptions(strict=strict, lift=not unlifted))


def start(
    setup: Setup,
    request: RalphRequest | Refusal,
    words: Sequence[str],
    options: RunOptions,
    *,
    quiet: bool = False,
) -> int:
    """Do what is asked for, and return the controller's exit code. Quiet: no lines of the log on stdout.

    The original gets the `words`, where it is left to it.
    """
    if isinstance(request, Refusal):
        if request.message:
            say_all(request.message)
        if request.usage:
            write(usage(setup.home), sys.stderr if request.usage == "stderr" else None)
        return request.status
    if request.mode == "help":
        text, complaint = help_text(setup.home, request.topic)
        if complaint:
            say_all(complaint)
        write(text)
        return 0
    try:
        if request.mode in LOOP_MODES or options.dry_run:
            return _session(setup, request, options, quiet=quiet)
        status, notice = run_original(setup, words, in_place=request.mode == "update")
        if notice:  # after an update the stand-in may be gone
            say(notice)
        return status
    except SessionRefused as refusal:
        say_all(str(refusal))
        return refusal.exit_code
    except BridgeError as error:
        # Whatever it is: to the scripts around a controller every abort is a 1; none of them has a dry run.
        say_all(f"Error: {error}")
        return error.exit_code if isinstance(error, ProjectCodeNotRun) else 1


def _session(setup: Setup, request: RalphRequest, options: RunOptions, *, quiet: bool) -> int:
    from bridge.cli._render import drive, first_line, last_line
    from bridge.loop.engine.standstill import REASONS
    from bridge.loop.setups.ralph_loop.opening import hold, ready
    from bridge.loop.setups.ralph_loop.prompt import first_prompt

    if request.mode not in LOOP_MODES:
        raise ConfigurationError(
            f"--dry-run can't show what the original does at {request.mode!r}, and runs nothing"
        )
    renderer = _SessionRenderer(quiet=quiet)
    with ready(setup, request, options, renderer.hook) as (agent, session):
        job, loop = session.job, session.loop
        if options.dry_run:
            most = loop.limits.max_iterations
            say(f"mode: {job.mode}  agent: {agent.script}  prompt: {job.shown}  iterations: {most}")
            write(first_prompt(agent.shell, session))
            return 0
        with hold(agent, session) as opened:
            if not quiet:
                say(first_line(agent, loop))
            end = drive(opened.run(), renderer.show, lambda _error: None)
        if not quiet:
            renderer.end_row()
            in_last_line = end.permanent is not None or end.reason in REASONS  # else it stands above
            say(last_line(Style(sys.stderr), end if in_last_line else replace(end, detail="")))
        return end.status or 0


class _SessionRenderer:
    """Prints what a session tells: its log and the agent's text on stdout, what went wrong on stderr."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._page = Page(sys.stdout) if flows(sys.stdout) else None
        self._pieces = Pieces()
        self._line_open = False

    def show(self, event: LoopEvent) -> None:
        from bridge.cli._render import work_of
        from bridge.loop.engine.events import HookText, IterationEnded, LeftoversEnded, LogLine, Notice, OutputText

        match event:
            case OutputText():
                if self._page is not None:
                    self._page.write(event.text)
                else:
                    self._text(self._pieces.add(event.text))
            case HookText():
                self.hook(event)
            case LogLine():
                if not self._quiet:
                    self.end_row()
                    self._text(("\n" if self._line_open else "") + message(event.text, sys.stdout) + "\n")
            case IterationEnded() if not self._quiet and (work := work_of(event, f"iteration {event.iteration}: ")):
                self.end_row()  # on stderr, and this only: stdout is the controller's log
                say(work)
            case Notice() | LeftoversEnded():
                self.end_row()
                say(event.text if isinstance(event, Notice) else str(event))

    def hook(self, event: HookText) -> None:
        self.end_row()
        if event.error:
            write_text(event.text, sys.stderr)
        else:
            self._text(event.text)

    def _text(self, text: str) -> None:
        if text:
            write_text(text)
            self._line_open = not text.endswith("\n")

    def end_row(self) -> None:
        if self._page is not None:
            self._page.end()
        self._text(self._pieces.end())
