"""``ralph-bridge watch``: a running loop, seen from another terminal."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from bridge.cli import _standing
from bridge.cli._options import choose_loop, loop_option, project_folder, project_option
from bridge.cli._terminal import Style, guarded, say, show
from bridge.wording import tame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Console, ConsoleOptions, RenderResult

    from bridge.loop.follow import Follower
    from bridge.setups.overview import LoopPlace


_PATIENCE = 5.0


@click.command()
@loop_option
@project_option
@click.option("--once", is_flag=True, help="Show the present state, and stop.")
@click.option(
    "--interval",
    type=click.FloatRange(0.05),
    metavar="SECONDS",
    default=1.0,
    show_default=True,
    help="Time between two updates.",
)
def watch(*, setup_name: str | None, project: str | None, once: bool, interval: float) -> int:
    """Watch the loop that is running in this project: its status, and what the agent says.

    It ends when the loop ends; Ctrl-C ends the watching, not the loop. Files are read, nothing is written.

    Exit codes: 0; 1 when no loop is running here (with --once: when none has run); 2 when there is no such folder.
    """
    with guarded("no longer watching; the loop goes on"):
        folder = project_folder(project)
        return _once(choose_loop(folder, setup_name)) if once else _follow(folder, setup_name, interval)


def _once(loop: LoopPlace) -> int:
    from bridge.cli.status import status_lines
    from bridge.setups.overview import overview

    now = time.time()
    seen = overview(loop, now)
    text = _Text(loop)
    lines = [*status_lines(seen, now, Style(sys.stdout)), *text.lines(rest=True)]
    show("".join(f"{line}\n" for line in lines))
    return 0 if seen["state"] != "none" else 1


def _follow(folder: Path, name: str | None, interval: float) -> int:
    from bridge.setups.overview import overview

    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    patience = time.monotonic() + _PATIENCE
    # It may be about to start, as in the other pane of --monitor.
    while not (seen := overview(loop := choose_loop(folder, name), time.time()))["running"]:
        if time.monotonic() >= patience or not sys.stderr.isatty():
            say("no loop is running here\n  next: `ralph-bridge run`; `ralph-bridge status` shows the last one")
            return 1
        time.sleep(interval)
    text = _Text(loop)
    looks = _looks(loop, seen, interval)
    last = _on_terminal(looks, text) if _lively() else _in_lines(looks, text)
    say(tame(f"the loop has ended: {_ending(last)}"))
    return 0


def _looks(loop: LoopPlace, seen: dict[str, Any], interval: float) -> Iterator[dict[str, Any]]:
    """Look again and again; the last look is that at the loop's end."""
    from bridge.setups.overview import overview

    while seen["running"]:
        yield seen
        time.sleep(interval)
        seen = overview(loop, time.time())
    yield seen


class _Text:
    """What the agent says, and the log of the loop's steps where it has one: what is new since the last look."""

    def __init__(self, loop: LoopPlace) -> None:
        from bridge.loop.follow import Follower

        self._loop = loop
        self._texts: dict[Path, Follower] = {path: Follower(path) for path in loop.texts}
        self._steps = None if loop.steps is None else Follower(loop.steps, tail=0)
        self._block: list[str] = []

    def lines(self, *, rest: bool = False) -> list[str]:
        """Return the new lines of text; with `rest` also what has no newline yet."""
        from bridge.loop.follow import Follower

        current = self._loop.texts
        for path in current:
            if path not in self._texts:  # a new turn, or a new session
                self._texts[path] = Follower(path, tail=sys.maxsize)
        found: list[str] = []
        for path, follower in list(self._texts.items()):
            over = path not in current
            found += self._said(follower, rest=rest or over)
            if over:
                del self._texts[path]
        return [tame(line, keep="\t") for line in found]

    def steps(self) -> list[str]:
        """Return the new lines of the log of steps."""
        return [] if self._steps is None else [tame(line) for line in self._steps.lines()]

    def _said(self, follower: Follower, *, rest: bool) -> Iterator[str]:
        """A result says once more what the message before it said."""
        from bridge.loop.follow import said

        for line in follower.lines(rest=rest):
            block = said(line)
            if not line.startswith("{"):
                yield from block
            elif block and block != self._block:
                self._block = block
                yield from block


def _in_lines(looks: Iterator[dict[str, Any]], text: _Text) -> dict[str, Any]:
    told = ""
    seen: dict[str, Any] = {}
    for seen in looks:
        for line in text.lines(rest=not seen["running"]):
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
        for line in text.steps():
            say(line)
        state = _step(seen)
        if state and state != told and seen["running"]:
            told = state
            say(tame(state, keep="\t"))
    return seen


def _step(seen: dict[str, Any]) -> str:
    """One line for what the loop is at, the same as long as that lasts."""
    if seen["state"] == "waiting":
        waiting = seen["waiting"]
        until = _standing.words(seen, time.time()).partition(",")[0]
        return f"{until} · {waiting['detail']} ({waiting['reason']})"
    if "last_action" in seen and "calls" in seen and seen["last_action"]:
        breaker = f" · breaker {seen['breaker']['state']}" if seen["breaker"] else ""
        calls = seen["calls"]
        made = "" if calls["limit"] is None else f" · {calls['made']} of {calls['limit']} calls"
        return f"loop {seen['loop']} {seen['last_action']}{made}{breaker}"
    return f"turn {seen['turn']} · {seen['tool']}" if seen["turn"] else ""


def _ending(seen: dict[str, Any]) -> str:
    if seen["state"] == "killed":
        return _standing.words(seen, time.time())
    if "last_action" in seen and "calls" in seen:
        return f"loop {seen['loop']}, {seen['status']}" + (
            f" ({seen['exit_reason']})" if seen["exit_reason"] else ""
        )
    reason = seen["ended"]["reason"] if seen["ended"] else _standing.words(seen, time.time())
    return f"turn {seen['turn']}, {reason}" if seen["turn"] else reason


def _on_terminal(looks: Iterator[dict[str, Any]], text: _Text) -> dict[str, Any]:
    from rich.console import Console
    from rich.live import Live

    seen: dict[str, Any] = {}
    bottom = _Bottom()
    with Live(bottom, console=Console(file=sys.stderr), auto_refresh=False, transient=True) as live:
        for seen in looks:
            for line in (*text.lines(rest=not seen["running"]), *text.steps()):
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
