"""``ralph-bridge status``: where this project's loop stands."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from bridge.cli import _standing
from bridge.cli._options import choose_loop, loop_option, project_folder, project_option
from bridge.cli._terminal import Style, guarded, print_json, show
from bridge.wording import duration

if TYPE_CHECKING:
    from collections.abc import Callable


@click.command()
@loop_option
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def status(*, setup_name: str | None, project: str | None, as_json: bool) -> int:
    """Show where this project's loop stands: at work, waiting and until when, ended and why, or killed.

    Of several loops it is the one at work, else the one that ran last. Files are read, nothing is written.

    Exit codes: 0 told, also when no loop has run yet; 2 there is no such folder.
    """
    with guarded():
        from bridge.setups.overview import overview

        now = time.time()
        seen = overview(choose_loop(project_folder(project), setup_name), now)
        if as_json:
            print_json(seen)
        else:
            show("".join(f"{line}\n" for line in status_lines(seen, now, Style(sys.stdout))))
        return 0


def status_lines(seen: dict[str, Any], now: float, style: Callable[..., str]) -> list[str]:
    """Return an overview as lines for people; `style` colours a text by the names of colours."""
    own = {"ralph-loop": _ralph_loop, "wiggum": _wiggum}.get(seen["setup"], _bmalph)
    return _standing.lines(_standing.rows(seen, now) + own(seen, now), style)


def _bmalph(seen: dict[str, Any], now: float) -> _standing.Rows:
    from bridge.timestamps import parse_iso

    rows: _standing.Rows = []
    if seen["last_action"]:
        when = parse_iso(seen["updated"])
        ago = "" if when is None else f", {duration(max(0, now - when))} ago"
        reason = f" ({seen['exit_reason']})" if seen["exit_reason"] else ""
        rows.append(("last action", f"{seen['last_action']} in loop {seen['loop']}{reason}{ago}"))
    if seen["run"] and seen["state"] == "running":
        rows.append(("agent", f"at work for {seen['run']['elapsed_seconds']} s"))
    if seen["calls"]["limit"] is not None:
        calls = seen["calls"]
        rows.append(("calls", f"{calls['made']} of {calls['limit']} this hour, reset at {calls['next_reset']}"))
    if seen["breaker"]:
        reason = f": {seen['breaker']['reason']}" if seen["breaker"]["reason"] else ""
        rows.append(("breaker", f"{seen['breaker']['state']}{reason}"))
    session = seen["session"]
    if session["active"] or session["agent"]:
        rows.append(("session", f"{session['id'] or 'inactive'}, resumes {session['agent'] or 'nothing'}"))
    if seen["plan"]:
        plan = seen["plan"]
        rows.append(("plan", f"{plan['done']} of {plan['total']} done"))
        if plan["next"]:
            rows.append(("next task", plan["next"]))
    return rows


def _ralph_loop(seen: dict[str, Any], _now: float) -> _standing.Rows:
    session, plan = seen["session"], seen["plan"]
    rows: _standing.Rows = []
    if session:
        began = datetime.fromisoformat(session["began"])
        rows.append(("session", f"{session['mode']}, began {began:%Y-%m-%d %H:%M:%S}"))
        rows.append(("iteration", str(session["iteration"])))
        if session["ending"]:
            rows.append(("ending", session["ending"]))
        rows.append(("log", session["log"]))
    if plan:
        rows.append(("plan", f"{plan['done']} of {plan['total']} tasks complete"))
        if plan["next"]:
            rows.append(("next task", plan["next"]))
    return rows


def _wiggum(seen: dict[str, Any], _now: float) -> _standing.Rows:
    from bridge.cli._wiggum_show import loop_rows

    return loop_rows(seen)
