"""The errors that model servers answer with: bodies and headers, per wire. Pure, but for the time that is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.rehearsal.scenario import Turn

__all__ = ["refusal"]

_TYPES = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}
_WORDS = {
    401: "invalid x-api-key",
    429: "This request would exceed your account's rate limit. Please try again later.",
    529: "Overloaded",
}


def refusal(turn: Turn, path: str, now: float) -> tuple[dict[str, Any], dict[str, str]]:
    """Give the body and the headers of an error.

    Args:
        turn: one with a status.
        path: of the request; the body of ChatGPT's usage limit is the responses API's alone.
        now: seconds since 1970.
    """
    kind = _TYPES.get(turn.status, "api_error")
    words = turn.message or _WORDS.get(turn.status, "Internal server error")
    resets = int(now + turn.resets_in)
    if turn.limit and path.endswith("/responses"):
        error = {
            "type": "usage_limit_reached",
            "message": turn.message or "The usage limit has been reached",
            "plan_type": "plus",
            "resets_at": resets,
            "resets_in_seconds": int(turn.resets_in),
        }
        return {"error": error}, {}
    body = {"type": "error", "error": {"type": kind, "message": words, "code": kind}}
    return body, _subscription(turn, resets) if turn.limit else {}


def _subscription(turn: Turn, resets: int) -> dict[str, str]:
    """The headers by which claude tells a subscription's limit from a rate limit."""
    window = "7d" if turn.limit == "seven_day" else "5h"
    head = "anthropic-ratelimit-unified-"
    return {
        f"{head}status": "rejected",
        f"{head}reset": str(resets),
        f"{head}representative-claim": turn.limit,
        f"{head}{window}-status": "rejected",
        f"{head}{window}-reset": str(resets),
        f"{head}{window}-utilization": "1.0",
        f"{head}overage-status": "rejected",
        f"{head}overage-disabled-reason": "org_level_disabled",
        "retry-after": str(int(turn.resets_in)),
        "x-should-retry": "false",
    }
