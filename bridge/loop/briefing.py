"""What the agent is told beside its prompt. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.loop.context import ContextFacts, loop_context
from bridge.loop.review import findings_text

if TYPE_CHECKING:
    from bridge.loop.plan import Plan
    from bridge.loop.rules import State

__all__ = ["context_for"]

_WROTE_NOTHING = (
    "The last run was ended because it only read and wrote no file: start with a change to a file now. "
)


def context_for(state: State, plan: Plan | None, *, resumed: bool) -> str:
    """Write what the agent is told beside its prompt: where the loop stands, findings of a review, a warning."""
    facts = ContextFacts(
        loop=state.iteration + 1,
        resumed=resumed,
        plan=plan if plan is not None and plan.total else None,
        circuit=state.breaker.state.value if state.breaker else "",
        previous=state.previous,
        gates=state.gates,
        changed=state.changed,
    )
    parts = [loop_context(facts)]
    if found := findings_text(state.findings):
        parts.append(found.rstrip() + " ")
    if state.wrote_nothing:
        parts.append(_WROTE_NOTHING)
    return "".join(parts)
