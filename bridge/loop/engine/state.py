"""What one turn hands to the next."""

from __future__ import annotations

from bridge.base.records import dataclass


@dataclass(frozen=True, slots=True)
class LoopState:
    """What one turn hands to the next, in every setup.

    Attributes:
        iteration: how many have been completed, well or not.
        failures: failed turns in a row.
        session_id: session for the next turn to resume, or None.
        limits: provider's limits waited out in a row.
        wrote_nothing: the last turn was ended because it only read.
        previous: what the last turn that ended well said about itself, for the next one's context.
        changed: what the last turn changed, likewise.
    """

    iteration: int = 0
    failures: int = 0
    session_id: str | None = None
    limits: int = 0
    wrote_nothing: bool = False
    previous: str = ""
    changed: str = ""

    def facts(self, calls_per_hour: int) -> tuple[str, ...]:
        """Give what a live view shows of it beside the iteration; `calls_per_hour` are allowed."""
        del calls_per_hour
        return ()
