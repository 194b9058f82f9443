"""What is worth a notification on the desktop (ENABLE_NOTIFICATIONS). Pure: events in, events out."""

from __future__ import annotations

from bridge.loop.events import IterationEnded, LoopEnded, LoopEvent, Waiting
from bridge.loop.policy import Verdict
from bridge.setups.dot_ralph.controller import Notification


def notification(event: LoopEvent) -> Notification | None:
    """Return what an event is worth, or None."""
    match event:
        case Waiting(first=True, reason="rate_limit" | "tokens_per_hour"):
            return Notification("Ralph - rate limit", event.detail)
        case Waiting(first=True, reason="api_limit"):
            return Notification("Ralph - API limit", event.detail)
        case IterationEnded() if event.outcome.failure is not None and event.outcome.limit is None:
            return Notification("Ralph - error", f"Loop #{event.iteration} failed: {event.outcome.failure}")
        case IterationEnded() if event.outcome.failure is None:
            return Notification("Ralph - loop finished", f"Loop #{event.iteration} is done")
        case LoopEnded() if event.verdict is Verdict.COMPLETE:
            return Notification("Ralph - complete", f"{event.reason}: {event.detail}")
        case LoopEnded():
            return Notification("Ralph - halted", f"{event.reason}: {event.detail}")
    return None
