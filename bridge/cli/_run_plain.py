"""``run`` in a folder without a setup."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

from bridge.cli._ignored import note_unignored
from bridge.cli._scripts import agent_of, driver_of
from bridge.cli._terminal import say
from bridge.cli.common import shell_line, write

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from bridge.driver import Driver
    from bridge.loop.events import LoopEvent
    from bridge.loop.options import LoopSettings
    from bridge.setups.plain.settings import PlainSettings

__all__ = ["run_plain"]


def run_plain(
    folder: Path,
    given: PlainSettings,
    driver: str | None,
    extra: Mapping[str, str],
    *,
    allowed_tools: str | None = None,
    dry_run: bool,
    quiet: bool,
) -> int:
    """Run the loop: 0 complete, 1 ended incomplete.

    Args:
        folder: the project.
        given: how to run it.
        driver: named by ``--driver``, or None.
        extra: more globals, from ``--set``.
        allowed_tools: from ``--allowed-tools``, or None.
        dry_run: print what would run, and stop.
        quiet: no line per step.
    """
    from bridge.setups.plain.settings import loop_settings

    settings = loop_settings(folder, given)
    with driver_of(folder, driver, extra, allowed_tools=allowed_tools) as script:
        return _dry_run(script, settings) if dry_run else _loop(script, settings, quiet=quiet)


def run_agent_script(
    folder: Path,
    given: PlainSettings,
    agent: str,
    extra: Mapping[str, str],
    *,
    lift: bool,
    dry_run: bool,
    quiet: bool,
) -> int:
    """Run the loop with an agent script: 0 complete, 1 ended incomplete.

    Args:
        folder: the project.
        given: how to run it.
        agent: named by ``--agent``.
        extra: more globals, from ``--set``.
        lift: run filters that are understood in process.
        dry_run: print the first prompt, and stop.
        quiet: no line per step.
    """
    from bridge.loop.agent_turns import AgentTurns, prompt_text
    from bridge.loop.decide import State
    from bridge.loop.night import night
    from bridge.loop.runner import context_for, run_turns
    from bridge.setups.plain.settings import loop_settings
    from bridge.setups.plain.store import PlainStore

    settings = loop_settings(folder, given)
    hook_seconds = night(given.env).hook_seconds
    with agent_of(folder, agent, extra, timeout=hook_seconds, lift=lift) as script:
        store = PlainStore(folder, tool=f"agent {script.script.stem}", resume=False)
        if dry_run:
            write(prompt_text(settings, context_for(State(), store.read_plan(), resumed=False)))
            return 0
        _begin(f"{script.cli} · agent {script.script}", settings, quiet=quiet)
        prompt = store.folder / ".ralph_bridge.prompt.md"
        tool = AgentTurns(script, settings, store, prompt=prompt, hook_seconds=hook_seconds)
        return _show(run_turns(tool, settings, store=store), settings, quiet=quiet)


def _dry_run(script: Driver, settings: LoopSettings) -> int:
    from bridge.loop.commands import prepare_command, stdin_of
    from bridge.loop.decide import State
    from bridge.loop.runner import context_for
    from bridge.setups.plain.store import PlainFiles

    files = PlainFiles(settings.project)
    session = None
    if settings.resume and script.supports_sessions():
        session, _ = files.read_session()
    context = context_for(State(), files.read_plan(), resumed=session is not None)
    argv, _ = prepare_command(script, settings, context=context, session_id=session)
    write(shell_line(argv, stdin_of(script)))
    return 0


def _loop(script: Driver, settings: LoopSettings, *, quiet: bool) -> int:
    from bridge.loop.runner import run_loop
    from bridge.setups.plain.store import PlainStore

    _begin(f"{script.display_name()} · driver {script.script}", settings, quiet=quiet)
    store = PlainStore(settings.project, tool=f"driver {script.script.stem}", resume=settings.resume)
    return _show(run_loop(script, settings, store=store), settings, quiet=quiet)


def _begin(tool: str, settings: LoopSettings, *, quiet: bool) -> None:
    from bridge.setups.plain.own import SAMPLES

    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    if not quiet:
        note_unignored(settings.project, ".ralph", SAMPLES)
        say(f"{tool} · prompt {settings.prompt} · at most {settings.limits.max_iterations} iterations")


def _show(loop: Generator[LoopEvent, None, None], settings: LoopSettings, *, quiet: bool) -> int:
    from bridge.cli._render import Renderer
    from bridge.loop.decide import Verdict
    from bridge.loop.events import LoopEnded

    renderer = Renderer(max_iterations=settings.limits.max_iterations, quiet=quiet)
    verdict = Verdict.INCOMPLETE
    with closing(loop) as events:
        for event in events:
            renderer.show(event)
            if isinstance(event, LoopEnded):
                verdict = event.verdict
    return 0 if verdict is Verdict.COMPLETE else 1
