"""``ralph-bridge watch``: a running loop, seen from another terminal."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from bridge.base.wording import tame
from bridge.cli._failures import guarded
from bridge.cli._numbers import Number
from bridge.cli._options import choose_loop, loop_option, project_folder, project_option
from bridge.cli._terminal import Style, say, show, write_text
from bridge.cli.status import ending, looking, standing, status_lines, why_waiting

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.setups.overview import LoopPlace


_PATIENCE = 5.0


@click.command()
@loop_option
@project_option
@click.option("--all", "every", is_flag=True, help="Watch all loops of this user on this machine.")
@click.option("--once", is_flag=True, help="Show the present state, and stop.")
@click.option("--interval", type=Number(0.05), metavar="SECONDS", default=1.0, show_default=True,
              help="Time between two updates.")  # fmt: skip
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
    from bridge.loop.report.live import running_loops

    if _lively() and not once:
        return _view(None, interval)
    shown: dict[str, str] = {}
    lives = running_loops({}, time.time())
    if not lives:
        say("no loop is running on this machine", "  next: `ralph-bridge run`")
        return 1
    while lives:
        now = time.time()
        for run_id, live in lives.items():
            *cells, stands = live.cells(standing(live.seen, now))
            step = f"{tame(str(live.loop.project))} · {_step(live.seen) or stands}"
            if shown.get(run_id) != step:
                shown[run_id] = step
                show(f"{step} · {cells[4]} tokens · {cells[5]}\n")
        if once:
            break
        time.sleep(interval)
        lives = running_loops(lives, time.time())
    return 0


def _view(loop: LoopPlace | None, interval: float) -> int:
    from bridge.cli._live import LiveView

    view = LiveView(loop, interval)
    view.run()
    if view.ended_by == signal.SIGINT:
        raise KeyboardInterrupt
    if view.ended_by:
        raise SystemExit(128 + view.ended_by)
    return view.return_code or 0


def _once(loop: LoopPlace) -> int:
    from bridge.loop.report.live import AgentText
    from bridge.loop.setups.overview import overview

    now = time.time()
    seen = overview(loop, now)
    lines = [*status_lines(seen, now, Style(sys.stdout)), *AgentText(loop).lines(rest=True)]
    show("".join(f"{line}\n" for line in lines))
    return 0 if seen["state"] != "none" else 1


def _follow(folder: Path, name: str | None, interval: float) -> int:
    from bridge.loop.setups.overview import overview

    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    patience = time.monotonic() + _PATIENCE
    # It may be about to start, as in the other pane of --monitor.
    while not (seen := overview(loop := choose_loop(folder, name), time.time()))["running"]:
        if time.monotonic() >= patience or not sys.stderr.isatty():
            say("no loop is running here", "  next: `ralph-bridge run`; `ralph-bridge status` shows the last one")
            return 1
        time.sleep(interval)
    status = 0
    if _lively():
        status = _view(loop, interval)
        seen = overview(loop, time.time())
    else:
        seen = _in_lines(loop, seen, interval)
    ended = tame(f"the loop has ended: {_ending(seen)}")
    say("no longer watching; the loop goes on" if seen["running"] else ended)
    return status


def _in_lines(loop: LoopPlace, seen: dict[str, Any], interval: float) -> dict[str, Any]:
    """Follow a loop in lines; gives the overview at its end."""
    from bridge.loop.report.live import AgentText
    from bridge.loop.setups.overview import overview

    text, shown = AgentText(loop), ""
    while True:
        for line in text.lines(rest=not seen["running"]):
            write_text(line + "\n")
        say(*text.steps())
        if not seen["running"]:
            return seen
        if (step := _step(seen)) not in ("", shown):
            shown = step
            say(tame(step, keep="\t"))
        time.sleep(interval)
        seen = overview(loop, time.time())


def _step(seen: dict[str, Any]) -> str:
    """One line for what the loop is at, the same as long as that lasts."""
    if seen["state"] == "waiting":
        until = standing(seen, time.time()).partition(",")[0]
        return f"{until} · {why_waiting(seen)}"
    if look := looking(seen):
        return f"turn {seen['turn']} · {look}"
    if "last_action" in seen and "calls" in seen and seen["last_action"]:
        breaker = f" · breaker {seen['breaker']['state']}" if seen["breaker"] else ""
        calls = seen["calls"]
        made = "" if calls["limit"] is None else f" · {calls['made']} of {calls['limit']} calls"
        return f"loop {seen['loop']} {seen['last_action']}{made}{breaker}"
    return f"turn {seen['turn']} · {seen['tool']}" if seen["turn"] else ""


def _ending(seen: dict[str, Any]) -> str:
    if seen["state"] == "killed":
        return standing(seen, time.time())
    if seen["ended"] and (why := ending(seen["ended"])) != seen["ended"]["reason"]:
        return f"turn {seen['turn']}, {why}"
    if "last_action" in seen and "calls" in seen:
        reason = f" ({seen['exit_reason']})" if seen["exit_reason"] else ""
        return f"loop {seen['loop']}, {seen['status']}{reason}"
    reason = seen["ended"]["reason"] if seen["ended"] else standing(seen, time.time())
    return f"turn {seen['turn']}, {reason}" if seen["turn"] else reason


def _lively() -> bool:
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(each.isatty() for each in streams) and os.environ.get("TERM", "dumb") != "dumb"
