"""``run`` in a folder without a setup."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

from bridge.cli._terminal import say
from bridge.cli.common import shell_line, write

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.setups.plain.opening import Opened
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
    from bridge.setups.plain.opening import open_loop

    def tell(line: str) -> None:
        say(f"note: {line}")

    with open_loop(folder, given, driver, extra, tell, allowed_tools=allowed_tools) as opened:
        return _dry_run(opened) if dry_run else _loop(opened, quiet=quiet)


def _dry_run(opened: Opened) -> int:
    from bridge.loop.commands import prepare_command, stdin_of
    from bridge.loop.decide import State
    from bridge.loop.runner import context_for
    from bridge.setups.plain.store import PlainFiles

    script, settings = opened.driver, opened.loop
    files = PlainFiles(settings.project)
    session = None
    if settings.resume and script.supports_sessions():
        session, _ = files.read_session()
    context = context_for(State(), files.read_plan(), resumed=session is not None)
    argv, _ = prepare_command(script, settings, context=context, session_id=session)
    write(shell_line(argv, stdin_of(script)))
    return 0


def _loop(opened: Opened, *, quiet: bool) -> int:
    from bridge.cli._render import Renderer
    from bridge.cli._summary import driver_tool, first_line
    from bridge.loop.decide import Verdict
    from bridge.loop.events import LoopEnded

    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    script, settings = opened.driver, opened.loop
    most = settings.limits.max_iterations
    if not quiet:
        tool = driver_tool(script.display_name(), script.script)
        say(
            first_line(
                tool,
                settings.prompt,
                iterations=most,
                seconds=settings.limits.max_seconds,
                turn_seconds=settings.timeout,
            )
        )
    renderer = Renderer(max_iterations=most, quiet=quiet)
    verdict = Verdict.INCOMPLETE
    try:
        with closing(opened.events()) as events:
            for event in events:
                renderer.show(event)
                if isinstance(event, LoopEnded):
                    verdict = event.verdict
    except (KeyboardInterrupt, SystemExit) as signal:
        renderer.interrupted(signal)
        raise
    return 0 if verdict is Verdict.COMPLETE else 1
