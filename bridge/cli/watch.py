"""``ralph-bridge watch``: a running loop, seen from another terminal."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from bridge.cli import _standing
from bridge.cli._options import choose_loop, loop_option, project_folder, project_option
from bridge.cli._terminal import Style, guarded, say, show, write_text
from bridge.wording import tame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.cli._watched import Said
    from bridge.setups.overview import LoopPlace


_PATIENCE = 5.0


@click.command()
@loop_option
@project_option
@click.option("--all", "every", is_flag=True, help="Watch all loops of this user on this machine.")
@click.option("--once", is_flag=True, help="Show the present state, and stop.")
@click.option(
    "--interval",
    type=click.FloatRange(0.05),
    metavar="SECONDS",
    default=1.0,
    show_default=True,
    help="Time between two updates.",
)
def watch(*, setup_name: str | None, project: str | None, every: bool, once: bool, interval: float) -> int:
    """Watch the loop that is running in this project: its state, its turns, and what the agent says.

    On a terminal it is a view with keys (at its bottom), for as long as you like: of each turn its result, time and
    cost, its log, and its diff. Elsewhere it prints lines, and ends when the loop ends. Leaving it, or Ctrl-C, ends
    the watching, not the loop. Files are read, nothing is written.

    Exit codes: 0; 1 when no loop is running here (with --once: when none has run); 2 when there is no such folder.
    """
    with guarded("no longer watching; the loop goes on"):
        if every:
            if setup_name is not None or project is not None:
                raise click.UsageError("--all excludes --project and --setup")
            return _all(interval, once=once)
        folder = project_folder(project)
        return _once(choose_loop(folder, setup_name)) if once else _follow(folder, setup_name, interval)


def _all(interval: float, *, once: bool) -> int:
    """Show every loop of this machine; off a terminal a line for each, and again when it has come further."""
    from bridge.cli._watched import loop_cells, running

    if _lively() and not once:
        return _view(None, interval)
    told: dict[str, str] = {}
    lives = running({}, time.time())
    if not lives:
        say("no loop is running on this machine", "  next: `ralph-bridge run`")
        return 1
    while lives:
        now = time.time()
        for run_id, live in lives.items():
            *cells, stands = loop_cells(live, now)
            step = f"{tame(str(live.loop.project))} · {_step(live.seen) or stands}"
            if told.get(run_id) != step:
                told[run_id] = step
                show(f"{step} · {cells[4]} tokens · {cells[5]}\n")
        if once:
            break
        time.sleep(interval)
        lives = running(lives, time.time())
    return 0


def _view(loop: LoopPlace | None, interval: float) -> int:
    from bridge.cli._live import LiveView

    view = LiveView(loop, interval)
    view.run()
    if view.interrupted:
        raise KeyboardInterrupt
    return view.return_code or 0


def _once(loop: LoopPlace) -> int:
    from bridge.cli._watched import Said
    from bridge.cli.status import status_lines
    from bridge.setups.overview import overview

    now = time.time()
    seen = overview(loop, now)
    text = Said(loop)
    lines = [*status_lines(seen, now, Style(sys.stdout)), *text.lines(rest=True)]
    show("".join(f"{line}\n" for line in lines))
    return 0 if seen["state"] != "none" else 1


def _follow(folder: Path, name: str | None, interval: float) -> int:
    from bridge.cli._watched import Said
    from bridge.setups.overview import overview

    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    patience = time.monotonic() + _PATIENCE
    # It may be about to start, as in the other pane of --monitor.
    while not (seen := overview(loop := choose_loop(folder, name), time.time()))["running"]:
        if time.monotonic() >= patience or not sys.stderr.isatty():
            say("no loop is running here", "  next: `ralph-bridge run`; `ralph-bridge status` shows the last one")
            return 1
        time.sleep(interval)
    if _lively():
        status = _view(loop, interval)
        seen = overview(loop, time.time())
        ended = tame(f"the loop has ended: {_ending(seen)}")
        say("no longer watching; the loop goes on" if seen["running"] else ended)
        return status
    last = _in_lines(_looks(loop, seen, interval), Said(loop))
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


def _in_lines(looks: Iterator[dict[str, Any]], text: Said) -> dict[str, Any]:
    told = ""
    seen: dict[str, Any] = {}
    for seen in looks:
        for line in text.lines(rest=not seen["running"]):
            write_text(line + "\n")
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
        until = _standing.words(seen, time.time()).partition(",")[0]
        return f"{until} · {_standing.why(seen)}"
    if "last_action" in seen and "calls" in seen and seen["last_action"]:
        breaker = f" · breaker {seen['breaker']['state']}" if seen["breaker"] else ""
        calls = seen["calls"]
        made = "" if calls["limit"] is None else f" · {calls['made']} of {calls['limit']} calls"
        return f"loop {seen['loop']} {seen['last_action']}{made}{breaker}"
    return f"turn {seen['turn']} · {seen['tool']}" if seen["turn"] else ""


def _ending(seen: dict[str, Any]) -> str:
    if seen["state"] == "killed":
        return _standing.words(seen, time.time())
    if seen["ended"] and (told := _standing.ending(seen["ended"])) != seen["ended"]["reason"]:
        return f"turn {seen['turn']}, {told}"
    if "last_action" in seen and "calls" in seen:
        return f"loop {seen['loop']}, {seen['status']}" + (
            f" ({seen['exit_reason']})" if seen["exit_reason"] else ""
        )
    reason = seen["ended"]["reason"] if seen["ended"] else _standing.words(seen, time.time())
    return f"turn {seen['turn']}, {reason}" if seen["turn"] else reason


def _lively() -> bool:
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(each.isatty() for each in streams) and os.environ.get("TERM", "dumb") != "dumb"
