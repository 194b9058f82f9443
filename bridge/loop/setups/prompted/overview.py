"""Where the loop of such a setup stands, for ``ralph-bridge status``. Files are read, nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.base import timestamps
from bridge.base.amounts import whole
from bridge.base.json_files import read_object
from bridge.base.wording import duration
from bridge.errors import BridgeError
from bridge.loop.engine.logs import APART, USUAL
from bridge.loop.setups.setup_kind import Older
from bridge.loop.turn.tool import first_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from bridge.loop.engine.plan import Plan
    from bridge.loop.setups.setup_kind import Overview, Rows


def examine(project: Path, state: Path, read_plan: Callable[[], Plan | None]) -> Overview:
    """Give what the files say, and what they say of an end that our record may not know of.

    Keys: project, folder, running, holder, loop, last_action, exit_reason, updated, plan{done, total, next},
    plan_problem.
    """
    record = read_object(state / USUAL.newer(APART, state).status) or {}
    plan, problem = None, None
    try:
        plan = read_plan()
    except BridgeError as error:
        problem = first_line(error)
    updated = _text(record.get("timestamp"))
    seen = {
        "project": str(project),
        "folder": ".ralph",
        "running": False,
        "holder": None,
        "loop": whole(record.get("loop_count")),
        "last_action": _text(record.get("last_action")),
        "exit_reason": _text(record.get("exit_reason")),
        "updated": updated,
        "plan": None if plan is None else {"done": plan.done, "total": plan.total, "next": plan.next_task},
        "plan_problem": problem,
    }
    reason = _text(record.get("exit_reason"))
    at = timestamps.parse_iso(updated) if updated and reason else None
    return seen, None if at is None else Older("ended", reason, at)


def rows(seen: dict[str, Any], now: float) -> Rows:
    found: Rows = []
    if seen["last_action"]:
        when = timestamps.parse_iso(seen["updated"] or "")
        ago = "" if when is None else f", {duration(max(0, now - when))} ago"
        reason = f" ({seen['exit_reason']})" if seen["exit_reason"] else ""
        found.append(("last action", f"{seen['last_action']} in turn {seen['loop']}{reason}{ago}"))
    if plan := seen["plan"]:
        found.append(("plan", f"{plan['done']} of {plan['total']} done"))
        if plan["next"]:
            found.append(("next task", plan["next"]))
    if seen["plan_problem"]:
        found.append(("plan", seen["plan_problem"]))
    return found


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def texts(state: Path) -> tuple[Path, ...]:
    """The log of what the agent says: of the loop that was at work last."""
    return (state / USUAL.newer(APART, state).live,)


def traces(_project: Path, state: Path) -> tuple[Path, ...]:
    """The files whose time says when a loop was last at work."""
    return (state / USUAL.status, state / APART.status)
