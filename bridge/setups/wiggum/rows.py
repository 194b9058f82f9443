"""A wiggum loop's state for people. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.setups.model import Rows


def loop_rows(seen: dict[str, Any]) -> Rows:
    """Say what a wiggum loop is at, a fact per row, behind the rows that every loop has."""
    items = seen["items"]
    rows: Rows = []
    plugin = seen["plugin"]
    if seen["iteration"] is not None:
        rows += _loop(seen)
    if plugin is not None:
        most = f" of {plugin['max_iterations']}" if plugin["max_iterations"] else ""
        rows.append(("plugin", f"a loop of the official plugin, in iteration {plugin['iteration']}{most}"))
    if items["total"]:
        rows.append(("items", f"{items['done']} of {items['total']} done"))
    if items["next"]:
        rows.append(("next item", items["next"]))
    if seen["breaker"]:
        breaker = seen["breaker"]
        again = f", again at {breaker['again_at']}" if breaker["again_at"] else ""
        rows.append(
            ("breaker", f"{breaker['state']}" + (f": {breaker['reason']}" if breaker["reason"] else "") + again)
        )
    if seen["last_action"]:
        rows.append(("last action", seen["last_action"]))
    block = seen["progress"]
    if block and block["blockers"]:
        rows.append(("blockers", "; ".join(block["blockers"])))
    return rows


def _loop(seen: dict[str, Any]) -> Rows:
    limit = seen["max_iterations"]
    most = (f" of {limit}" if seen["iteration"] <= limit else f", limit {limit}") if limit else ""
    if seen["outcome"]:
        now = f"{seen['outcome']}" + (f" ({seen['reason']})" if seen["reason"] else "")
    elif seen["running"]:
        now = "stops before its next turn" if seen["cancelling"] else ""
    elif seen["mode"] == "hook":
        owner = seen["session_id"]
        now = f"in session {owner}" if owner else "waits for its session's first stop"
    else:
        now = "left in the middle: ralph-bridge wiggum start goes on"
    rows = [("task", seen["task_name"])] if seen["task_name"] else []
    return [
        *rows,
        ("mode", seen["mode"] + (f", {now}" if now else "")),
        ("iteration", f"{seen['iteration']}{most}"),
        ("promise", seen["completion_promise"]),
    ]
