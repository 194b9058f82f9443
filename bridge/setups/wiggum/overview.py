"""Where a loop stands, for people and programs. Reads, writes nothing."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from bridge.git.repository import find_repository
from bridge.loop.standing import holder_pid
from bridge.setups.wiggum import files, progress
from bridge.setups.wiggum.breaker import cooled_at
from bridge.setups.wiggum.checkpoints import listed
from bridge.setups.wiggum.layout import FILES
from bridge.setups.wiggum.plugin_file import read_plugin
from bridge.setups.wiggum.policy import all_done, stamp, with_items

if TYPE_CHECKING:
    from bridge.setups.wiggum.layout import Layout

__all__ = ["overview"]


def overview(layout: Layout) -> dict[str, Any]:
    """Give what ``wiggum status --json`` prints, but for its schema number.

    Raises:
        bridge.errors.StateUnreadable: the state file, or the plugin's, holds no state.
    """
    state = files.last(layout)
    items = files.read_plan(layout)
    blocks = progress.read_blocks(files.read_text(layout.progress) or "")
    plan = {"done": len(items.done), "remaining": len(items.todo), "total": items.total}
    seen: dict[str, Any] = {
        "active": state is not None and state.outcome is None,
        "running": holder_pid(layout.folder) is not None,
        "pid": holder_pid(layout.folder),
        "items": plan | {"next": items.todo[0] if items.todo else None},
        "progress": asdict(blocks[-1]) if blocks else None,
        "plugin": _plugin(layout),
    }
    if state is None:
        return seen | {"iteration": None, "outcome": None, "breaker": None, "last_action": None}
    state = with_items(state, items)  # as the plan is now, not as it was when the last turn ended
    if state.outcome is None and (over := all_done(state, items)):
        state = replace(state, outcome="plan_complete", reason=over, exit_code=0)
        seen["active"] = False
    found = asdict(state)
    for key in ("extra", "turn", "breaker_settings"):
        found.pop(key)
    until = cooled_at(state.breaker, state.breaker_settings) if state.breaker.is_open else None
    breaker = asdict(state.breaker) | {"again_at": stamp(until) if until else None}
    checkpoints = listed(find_repository(layout.project, FILES), state.run_id)
    return (
        seen
        | found
        | {
            "turn": state.turn.number if state.turn else None,
            "completed_items": list(state.completed_items),
            "breaker": breaker,
            "checkpoints": found["checkpoints"] | {"count": len(checkpoints)},
            "cancelling": state.outcome is None and files.cancelled(layout),
        }
    )


def _plugin(layout: Layout) -> dict[str, Any] | None:
    """Give where a loop of the official plugin stands, or None: our hook goes on with it, and ``stop`` stops it."""
    text = files.read_text(layout.plugin)
    if text is None:
        return None
    found = asdict(read_plugin(text, str(layout.plugin)))
    return {key: found[key] for key in ("iteration", "max_iterations", "promise", "session_id")}
