"""``ralph-bridge status``: where this project's loop stands."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from bridge.cli._setups import choose, setup_option
from bridge.cli._terminal import Style, duration, guarded, show, tame
from bridge.cli.common import print_json, project_folder, project_option

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["status", "status_lines"]


@click.command()
@setup_option
@project_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def status(*, setup_name: str | None, project: str | None, as_json: bool) -> int:
    """Show where this project's loop stands. Files are read, nothing is written.

    Exit status: 0, also when no loop has run yet; 2 when there is no such folder.
    """
    with guarded():
        now = time.time()
        folder = project_folder(project)
        setup = choose(folder, setup_name)
        if setup is not None and setup.name == "ralph-loop":
            from bridge.setups.ralph_loop.overview import overview as sessions

            seen = sessions(setup)
            rows = _session_rows(seen)
        else:
            from bridge.setups.bmalph.folder import locate
            from bridge.setups.bmalph.overview import overview

            seen = overview(locate(folder), now)
            rows = _rows(seen, now)
        if as_json:
            print_json(seen)
        else:
            show("".join(f"{line}\n" for line in _lines(rows, Style(sys.stdout))))
        return 0


def status_lines(seen: dict[str, Any], now: float, style: Callable[..., str]) -> list[str]:
    """Return a bmalph overview as lines for people; `style` colours a text by the names of colours."""
    return _lines(_rows(seen, now), style)


def _lines(rows: list[tuple[str, str]], style: Callable[..., str]) -> list[str]:
    return [f"{style(f'{name}:', 'dim'):<13} {tame(text)}" for name, text in rows]


def _rows(seen: dict[str, Any], now: float) -> list[tuple[str, str]]:
    from bridge.stamps import parse_iso

    rows: list[tuple[str, str]] = [("loop", _loop(seen))]
    if seen["holder"]:
        since = parse_iso(seen["holder"]["since"])
        for_so_long = "" if since is None else f", for {duration(max(0, now - since))}"
        rows.append(("process", f"{seen['holder']['pid']}{for_so_long}"))
    if seen["last_action"]:
        when = parse_iso(seen["updated"])
        ago = "" if when is None else f", {duration(max(0, now - when))} ago"
        reason = f" ({seen['exit_reason']})" if seen["exit_reason"] else ""
        rows.append(("last action", f"{seen['last_action']}{reason}{ago}"))
    if seen["run"]:
        rows.append(("agent", f"at work for {seen['run']['elapsed_seconds']} s: {seen['run']['last_output']}"))
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


def _session_rows(seen: dict[str, Any]) -> list[tuple[str, str]]:
    session, holder, plan = seen["session"], seen["holder"], seen["plan"]
    if holder:
        pid = f"process {holder['pid']}" if holder["pid"] else "its process has not said its number yet"
        rows = [("loop", f"at work: {pid}")]
    else:
        rows = [("loop", "not at work" if session else "none has run here yet")]
    if session:
        ending = session["ending"] or ("still running" if holder else "its process has gone: it crashed")
        began = datetime.fromisoformat(session["began"])
        rows.append(("session", f"{session['mode']}, began {began:%Y-%m-%d %H:%M:%S}"))
        rows.append(("iteration", str(session["iteration"])))
        rows.append(("ending", ending))
        rows.append(("log", session["log"]))
    if plan:
        rows.append(("plan", f"{plan['done']} of {plan['total']} tasks complete"))
        if plan["next"]:
            rows.append(("next task", plan["next"]))
    return rows


def _loop(seen: dict[str, Any]) -> str:
    if seen["loop"] is None:
        return "at work" if seen["running"] else "none has run here yet"
    told = f"#{seen['loop']}, {seen['status']}"
    return f"{told}, but its process has gone: it crashed" if seen["stale"] else told
