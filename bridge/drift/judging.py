"""What a run in a trial says about a driver. Pure, but for the driver's own hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.drift.model import Finding, Status

if TYPE_CHECKING:
    from bridge.drift.runs import Run
    from bridge.driver import Driver

__all__ = ["session_of_a_bash_host", "tools_finding"]


_PLACEHOLDER = "DeferredToolPlaceholder"  # claude's, "never call this tool"


def session_of_a_bash_host(driver: Driver, done: Run) -> str | None:
    """Give the session id that a host without readers would find: by the script's hooks and four fields."""
    return driver.extract_session_id(done.output) or _generic(done) or driver.fallback_session_id(done.output)


def _generic(done: Run) -> str | None:
    for event in done.events():
        meta = event.get("metadata")
        inner = meta.get("session_id") if isinstance(meta, dict) else None
        found = event.get("sessionId") or inner or event.get("session_id") or event.get("thread_id")
        if isinstance(found, str) and found:
            return found
    return None


def tools_finding(patterns: list[str], offered: frozenset[str], *, matter: bool) -> Finding:
    """Hold the names in an allowlist's patterns against what the CLI offers; old names do no harm."""
    names = {pattern.split("(")[0] for pattern in patterns}
    offered -= {_PLACEHOLDER}
    known, stale = sorted(names & offered), sorted(names - offered)
    missing = sorted(offered - names)
    if not known:
        detail = f"none of its names is known; the CLI offers {', '.join(sorted(offered))}"
        hint = "list today's names; those of old may stay for older settings"
        return Finding("tool names", Status.WARNING, detail, hint, "D13")
    parts = [f"{len(known)} of {len(offered)} tools that the CLI offers are listed"]
    parts += [f"not listed: {', '.join(missing)}"] if missing else []
    parts += [f"not offered: {', '.join(stale)}"] if stale else []
    status = Status.WARNING if missing and matter else Status.PASSED
    hint = "an allowlist with such a name is refused: list today's names, too"
    return Finding("tool names", status, "; ".join(parts), hint, "D13")
