"""The few sentences that tell an agent where the loop stands. Pure; at most 500 characters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.loop.plan import Plan
    from bridge.loop.policy import LoopState

CONTEXT_LIMIT = 500
_CONTINUED = "Session continued: you have read the specs already, go on where you stopped. "
_WROTE_NOTHING = (
    "The last run was ended because it only read and wrote no file: start with a change to a file now. "
)


@dataclass(frozen=True, slots=True)
class ContextFacts:
    """What there is to tell. What isn't known is left out.

    Attributes:
        loop: the number of the loop.
        resumed: the agent's session goes on.
        plan: the fix plan, or None when there is none.
        warnings: sentences about the loop's own state.
        previous: the last analysis' work_summary.
        failing: sentences about checks that fail.
        changed: the diff summary of the last loop.
    """

    loop: int
    resumed: bool = False
    plan: Plan | None = None
    warnings: tuple[str, ...] = ()
    previous: str = ""
    failing: tuple[str, ...] = ()
    changed: str = ""


def context_for(
    state: LoopState,
    plan: Plan | None,
    *,
    resumed: bool,
    warnings: tuple[str, ...] = (),
    failing: tuple[str, ...] = (),
    findings: str = "",
) -> str:
    """Write what the agent is told beside its prompt: where the loop stands, findings of a review, a warning."""
    facts = ContextFacts(
        loop=state.iteration + 1,
        resumed=resumed,
        plan=plan if plan is not None and plan.total else None,
        warnings=warnings,
        previous=state.previous,
        failing=failing,
        changed=state.changed,
    )
    parts = [loop_context(facts)]
    if findings:
        parts.append(findings.rstrip() + " ")
    if state.wrote_nothing:
        parts.append(_WROTE_NOTHING)
    return "".join(parts)


def loop_context(facts: ContextFacts) -> str:
    """Write the context: sentences in a settled order, each ending in a blank, cut at 500 characters."""
    parts = [f"Loop #{facts.loop}. "]
    if facts.resumed:
        parts.append(_CONTINUED)
    if facts.plan is not None:
        parts.append(f"Remaining tasks: {facts.plan.total - facts.plan.done}. ")
        if facts.plan.next_task:
            parts.append(f"Next: {facts.plan.next_task.strip()[:100]}. ")
    parts += [f"{warning} " for warning in facts.warnings]
    if previous := whole_characters(facts.previous, 200):
        parts.append(f"Previous: {previous}. ")
    parts += [f"{failure} " for failure in facts.failing]
    if changed := whole_characters(facts.changed.strip(), 150):
        parts.append(f"{changed}. ")
    # A NUL can't be part of an argument, and cutting it out by bash is what it would come to.
    return "".join(parts).replace("\0", "")[:CONTEXT_LIMIT]


def whole_characters(text: str, limit: int) -> str:
    """Cut a text to so many bytes of UTF-8, without half a character at its end."""
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
