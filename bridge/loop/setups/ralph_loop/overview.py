"""Where a ralph-loop setup stands, by its plan, its lock and the last session's log. Nothing is written."""

from __future__ import annotations

import os
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base.files import lenient, open_file
from bridge.loop.engine.lock import standing
from bridge.loop.setups.ralph_loop.plan import PLAN_FILE, parse
from bridge.loop.setups.ralph_loop.settings import read

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.setups.setup_kind import Rows, Setup

_NAME = re.compile(r"session-(\d{8}-\d{6})-(.+)\.log")
_ITERATION = re.compile(rb"^ITERATION (\d{1,9}) ", re.MULTILINE)
_ENDING = re.compile(rb"^Exit: (.*)$", re.MULTILINE)
_TAIL = 1 << 20  # an iteration's text stands between two headers; older ones don't matter


class LastSession(NamedTuple):
    log: Path
    mode: str
    began: datetime  # local time
    iteration: int  # the last one that the log names; 0 for none
    ending: str  # as its summary has it, such as ``completion signal (code 0)``; empty while there is none


def last_session(home: Path) -> LastSession | None:
    """Read the newest log of the setup in `home`; None when no session has run."""
    with lenient():
        logs = [path for path in (home / "logs").iterdir() if _NAME.fullmatch(path.name)]
        newest = max(logs, key=lambda path: path.name, default=None)
        if newest is not None and (name := _NAME.fullmatch(newest.name)):
            text = _tail(newest)
            iterations, endings = _ITERATION.findall(text), _ENDING.findall(text)
            ending = endings[-1].decode("utf-8", "replace").strip() if endings else ""
            began = datetime.strptime(name[1], "%Y%m%d-%H%M%S")
            return LastSession(newest, name[2], began, int(iterations[-1]) if iterations else 0, ending)
    return None


def overview(setup: Setup) -> dict[str, Any]:
    """Return where the loop stands, ready for JSON.

    Keys: project, folder, setup, running, holder{pid}, stale (the last session has no ending, and nobody is at
    work), session{log, mode, began, iteration, ending}, plan{done, total, next}. What isn't there is None.
    """
    where = standing(setup.home / "logs")
    holder = where.run if where.running and where.word != "starting" else None
    last = last_session(setup.home)
    return {
        "project": str(setup.project),
        "folder": os.path.relpath(setup.home, setup.project.resolve()),
        "setup": setup.name,
        "running": where.running,
        "holder": {"pid": holder.pid if holder else None} if where.running else None,
        "stale": last is not None and not last.ending and not where.running,
        "session": None
        if last is None
        else {
            "log": str(last.log),
            "mode": last.mode,
            "began": last.began.astimezone().isoformat(),
            "iteration": last.iteration,
            "ending": last.ending or None,
        },
        "plan": _plan(setup.home / PLAN_FILE),
    }


def _plan(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    plan = parse(read(path))
    following = next((task.heading.removeprefix("### ") for task in plan.tasks if not task.complete), None)
    return {"done": plan.done, "total": len(plan.tasks), "next": following}


def _tail(path: Path) -> bytes:
    with open_file(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
        return file.read()


def rows(seen: dict[str, Any]) -> Rows:
    session, plan = seen["session"], seen["plan"]
    found: Rows = []
    if session:
        began = datetime.fromisoformat(session["began"])
        found.append(("session", f"{session['mode']}, began {began:%Y-%m-%d %H:%M:%S}"))
        found.append(("iteration", str(session["iteration"])))
        if session["ending"]:
            found.append(("ending", session["ending"]))
        found.append(("log", session["log"]))
    if plan:
        found.append(("plan", f"{plan['done']} of {plan['total']} tasks complete"))
        if plan["next"]:
            found.append(("next task", plan["next"]))
    return found
