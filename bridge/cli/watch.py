"""``ralph-bridge watch``: a running loop, seen from another terminal."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from bridge.cli._terminal import Style, guarded, say, show, tame
from bridge.cli.common import project_folder, project_option
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Console, ConsoleOptions, RenderResult

    from bridge.loop.follow import Follower
    from bridge.setups.bmalph.folder import Folder

__all__ = ["watch"]

_PATIENCE = 5.0


@click.command()
@project_option
@click.option("--once", is_flag=True, help="Show how things are, and stop.")
@click.option(
    "--interval",
    type=click.FloatRange(0.05),
    metavar="SECONDS",
    default=1.0,
    show_default=True,
    help="Between two looks.",
)
def watch(*, project: str | None, once: bool, interval: float) -> int:
    """Watch the loop that is running in this project: its status, and what the agent says.

    It ends when the loop ends; Ctrl-C ends the watching, not the loop. Files are read, nothing is written.

    Exit status: 0; 1 when no loop is running here (with --once: when none has run); 2 when there is no such folder.
    """
    with guarded("no longer watching; the loop goes on"):
        from bridge.setups.bmalph.folder import locate

        place = project_folder(project)
        _refuse_ralph_loop(place)
        folder = locate(place)
        if once:
            return _once(folder)
        return _follow(folder, interval)


def _refuse_ralph_loop(folder: Path) -> None:
    from bridge.setups.ralph_loop import detect

    if (setup := detect(folder)) is not None:
        raise ConfigurationError(
            f"watch is for bmalph setups and plain folders; {folder} is a ralph-loop setup, with a log\n"
            f"  next: tail -f {setup.home / 'logs'}/session-*.log, or `ralph-bridge status`"
        )


def _once(folder: Folder) -> int:
    from bridge.cli.status import status_lines
    from bridge.loop.follow import Follower
    from bridge.setups.bmalph.overview import overview

    now = time.time()
    seen = overview(folder, now)
    lines = [
        *status_lines(seen, now, Style(sys.stdout)),
        *_said(Follower(folder / "live.log"), rest=True),
    ]
    show("".join(f"{line}\n" for line in lines))
    return 0 if seen["loop"] is not None or seen["running"] else 1


def _follow(folder: Folder, interval: float) -> int:
    from bridge.loop.follow import Follower
    from bridge.setups.bmalph.overview import overview

    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    seen = overview(folder, time.time())
    patience = time.monotonic() + _PATIENCE
    while not seen["running"]:  # it may be about to start, as the other pane of --monitor
        if time.monotonic() >= patience or not sys.stderr.isatty():
            say("no loop is running here\n  next: `ralph-bridge run`; `ralph-bridge status` shows the last one")
            return 1
        time.sleep(interval)
        seen = overview(folder, time.time())
    follower = Follower(folder / "live.log")
    looks = _looks(folder, seen, interval)
    last = _on_terminal(looks, follower) if _lively() else _in_lines(looks, follower)
    reason = f" ({last['exit_reason']})" if last["exit_reason"] else ""
    gone = ", but its process has gone: it crashed" if last["stale"] else ""
    say(f"the loop has ended: loop {last['loop']}, {last['status']}{reason}{gone}")
    return 0


def _looks(folder: Folder, seen: dict[str, Any], interval: float) -> Iterator[dict[str, Any]]:
    """Look again and again; the last look is that at the loop's end."""
    from bridge.setups.bmalph.overview import overview

    while seen["running"]:
        yield seen
        time.sleep(interval)
        seen = overview(folder, time.time())
    yield seen


def _in_lines(looks: Iterator[dict[str, Any]], follower: Follower) -> dict[str, Any]:
    told = ""
    seen: dict[str, Any] = {}
    for seen in looks:
        for line in _said(follower, rest=not seen["running"]):
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
        breaker = f" · breaker {seen['breaker']['state']}" if seen["breaker"] else ""
        calls = seen["calls"]
        state = f"loop {seen['loop']} {seen['last_action']} · {calls['made']} of {calls['limit']} calls{breaker}"
        if seen["last_action"] and state != told and seen["running"]:
            told = state
            say(tame(state, keep="\t"))
    return seen


def _on_terminal(looks: Iterator[dict[str, Any]], follower: Follower) -> dict[str, Any]:
    from rich.console import Console
    from rich.live import Live

    seen: dict[str, Any] = {}
    bottom = _Bottom()
    with Live(bottom, console=Console(file=sys.stderr), auto_refresh=False, transient=True) as live:
        for seen in looks:
            for line in _said(follower, rest=not seen["running"]):
                sys.stdout.write(line + "\n")
            bottom.seen = seen
            live.refresh()
    return seen


class _Bottom:
    """The status, below what the agent says."""

    def __init__(self) -> None:
        self.seen: dict[str, Any] | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        from bridge.cli.status import status_lines

        if self.seen is not None:
            for line in status_lines(self.seen, time.time(), _plain):
                yield Text(line, style="dim", no_wrap=True, overflow="ellipsis")


def _plain(text: str, *_names: str) -> str:
    return text


def _lively() -> bool:
    return sys.stdout.isatty() and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _said(follower: Follower, *, rest: bool) -> list[str]:
    from bridge.loop.follow import said

    return [tame(shown, keep="\t") for line in follower.lines(rest=rest) for shown in said(line)]
