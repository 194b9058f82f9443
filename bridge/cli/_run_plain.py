"""``run`` in a folder without a setup."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bridge.cli._ignored import note_unignored
from bridge.cli._options import refuse_options
from bridge.cli._terminal import say, shell_line, write
from bridge.setups.plain.settings import plain_settings

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from bridge.agent import Agent
    from bridge.driver import Driver
    from bridge.loop.events import LoopEvent
    from bridge.loop.store import LoopSettings
    from bridge.setups.asked import RunOptions
    from bridge.setups.model import Setup
    from bridge.setups.plain.opening import Opened


_OF_BMALPH = ("calls",)
_OF_RALPH_LOOP = ("process", "strict_compat")
_OF_DRIVERS = ("no_continue", "allowed_tools")


def run_setup(context: click.Context, folder: Path, _setup: Setup | None, asked: RunOptions) -> int:
    """``ralph-bridge run`` in a folder without a setup, with the parameters of that command."""
    refuse_options(context, _OF_BMALPH, f"here: {folder} holds no bmalph setup")
    if asked.words:
        raise click.UsageError(
            f"{asked.words[0]!r} is a word of a ralph-loop setup, which {folder} is not", context
        )
    refuse_options(context, _OF_RALPH_LOOP, f"here: {folder} holds no ralph-loop setup")
    if asked.agent is not None:
        if asked.driver is not None:
            raise click.UsageError("--driver and --agent exclude each other", context)
        refuse_options(context, _OF_DRIVERS, "to an agent: no hook of its script takes that")
        return run_agent_script(folder, asked, **_shown(context), lift=not context.params["no_lift"])
    refuse_options(context, ("no_lift",), "without --agent")
    return run_plain(folder, asked, **_shown(context))


def _shown(context: click.Context) -> dict[str, bool]:
    return {name: context.params[name] for name in ("dry_run", "quiet")}


def run_plain(folder: Path, asked: RunOptions, *, dry_run: bool, quiet: bool) -> int:
    """Run the loop with a driver: 0 complete, 1 ended incomplete, 4 the CLI can't be used as it is.

    Args:
        folder: the project.
        asked: what is asked of it.
        dry_run: print what would run, and stop.
        quiet: no line per step.
    """
    from bridge.setups.plain.opening import open_loop

    def tell(line: str) -> None:
        say(f"note: {line}")

    given, driver = plain_settings(folder, asked), asked.script("driver")
    with open_loop(folder, given, driver, asked.settings, tell, allowed_tools=asked.allowed_tools) as opened:
        if dry_run:
            return _dry_run(opened)
        return _loop(opened.driver, opened.loop, opened.events(), quiet=quiet)


def run_agent_script(folder: Path, asked: RunOptions, *, lift: bool, dry_run: bool, quiet: bool) -> int:
    """Run the loop with an agent script; exit codes as above.

    Args:
        folder: the project.
        asked: what is asked of it.
        lift: run filters that start a jq for every line in one jq.
        dry_run: print the first prompt, and stop.
        quiet: no line per step.
    """
    from bridge.setups.plain.opening import open_agent_loop

    given, agent = plain_settings(folder, asked), asked.script("agent")
    assert agent is not None
    with open_agent_loop(folder, given, agent, asked.settings, lift=lift) as opened:
        if dry_run:
            write(opened.first_prompt())
            return 0
        return _loop(opened.agent, opened.loop, opened.events(), quiet=quiet)


def _dry_run(opened: Opened) -> int:
    from bridge.loop.context import context_for
    from bridge.loop.policy import LoopState
    from bridge.setups.plain.store import PlainFiles
    from bridge.turn.driver import build_command

    script, settings = opened.driver, opened.loop
    files = PlainFiles(settings.project)
    session = None
    if settings.resume and script.supports_sessions():
        session, _ = files.read_session()
    context = context_for(LoopState(), files.read_plan(), resumed=session is not None)
    command = build_command(script, settings, settings.prompt, context=context, session=session)
    write(shell_line(command.argv, command.stdin))
    return 0


def _loop(
    script: Driver | Agent, settings: LoopSettings, events: Generator[LoopEvent, None, None], *, quiet: bool
) -> int:
    from bridge.cli._render import Renderer, drive
    from bridge.cli._summary import exit_code, first_line
    from bridge.setups.plain.settings import SAMPLES

    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    if not quiet:
        note_unignored(settings.project, ".ralph", SAMPLES)
        say(first_line(script, settings))
    renderer = Renderer(max_iterations=settings.limits.max_iterations, quiet=quiet)
    return exit_code(drive(events, renderer.show, renderer.interrupted))
