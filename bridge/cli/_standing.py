"""Where a loop stands, as lines for people: the same in every setup. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge import timestamps
from bridge.loop.standstill import REASONS
from bridge.wording import duration, tame

if TYPE_CHECKING:
    from collections.abc import Callable


Rows = list[tuple[str, str]]


def lines(found: Rows, style: Callable[..., str]) -> list[str]:
    """Return rows as lines; `style` colours a text by the names of colours."""
    return [f"{style(f'{name}:', 'dim'):<13} {tame(text)}" for name, text in found]


def words(seen: dict[str, Any], now: float) -> str:
    """Say in a few words where a loop stands.

    Args:
        seen: as :func:`bridge.setups.overview.overview` gives it.
        now: the time.
    """
    ended, waiting = seen["ended"], seen["waiting"]
    match seen["state"]:
        case "starting":
            return "is starting"
        case "running":
            return "at work"
        case "waiting":
            left = max(0.0, (timestamps.parse_iso(waiting["until"]) or now) - now)
            return f"waiting until {_local(waiting['until'])}, for another {duration(left)}"
        case "ended":
            return f"ended at {_local(ended['at'])}: {ending(ended)}"
        case "killed":
            return f"not running; it ended unexpectedly at {_local(ended['at'])}"
        case "session":
            return "kept going by a session"
    return "none has run here yet"


def ending(ended: dict[str, Any]) -> str:
    """Say why a loop has ended: in a word, or all of it where it got nowhere."""
    reason: str = ended["reason"]
    return f"{ended['detail']} ({reason})" if reason in REASONS and ended["detail"] else reason


def why(seen: dict[str, Any]) -> str:
    """Say why a loop waits; '' when it doesn't."""
    waiting = seen["waiting"]
    return f"{waiting['detail']} ({waiting['reason']})".lstrip() if waiting else ""


def rows(seen: dict[str, Any], now: float) -> Rows:
    """Say where a loop stands, a fact per row."""
    found = [("loop", words(seen, now))]
    if waits := why(seen):
        found.append(("why", waits))
    if seen["turn"]:
        found.append(("turn", f"{seen['turn']}" + (f", {seen['tool']}" if seen["tool"] else "")))
    if seen["running"] and seen["holder"] and seen["holder"]["pid"]:
        since = timestamps.parse_iso(seen["holder"].get("since"))
        began = "" if since is None else f", for {duration(max(0.0, now - since))}, since {timestamps.local(since)}"
        found.append(("process", f"{seen['holder']['pid']}{began}"))
    if seen["last"]:
        found.append(("last", seen["last"]))
    return found


def _local(at: str) -> str:
    seconds = timestamps.parse_iso(at)
    return at if seconds is None else timestamps.local(seconds)
