"""The few sentences that tell an agent where the loop stands. Pure; at most 500 characters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.loop.gates import GateResults
    from bridge.loop.plan import Plan

__all__ = ["CONTEXT_LIMIT", "ContextFacts", "loop_context", "whole_characters"]

CONTEXT_LIMIT = 500
_CONTINUED = "Session continued: you have read the specs already, go on where you stopped. "
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


@dataclass(frozen=True, slots=True)
class ContextFacts:
    """What there is to tell. What isn't known is left out.

    Attributes:
        loop: the number of the loop.
        resumed: the agent's session goes on.
        plan: the fix plan, or None when there is none.
        circuit: the breaker's state, or '' when it has no file yet.
        previous: the last analysis' work_summary.
        gates: the last results of the quality gates, or None.
        changed: the diff summary of the last loop (bmalph deletes it before it gets here, trap T31).
    """

    loop: int
    resumed: bool = False
    plan: Plan | None = None
    circuit: str = ""
    previous: str = ""
    gates: GateResults | None = None
    changed: str = ""


def loop_context(facts: ContextFacts) -> str:
    """Write the context: bmalph's sentences in its order, each ending in a blank, cut at 500 characters."""
    parts = [f"Loop #{facts.loop}. "]
    if facts.resumed:
        parts.append(_CONTINUED)
    if facts.plan is not None:
        parts.append(f"Remaining tasks: {facts.plan.total - facts.plan.done}. ")
        if facts.plan.next_task:
            parts.append(f"Next: {facts.plan.next_task.strip()[:100]}. ")
    if facts.circuit and facts.circuit != "CLOSED":
        parts.append(f"Circuit breaker: {facts.circuit}. ")
    if previous := whole_characters(facts.previous, 200):
        parts.append(f"Previous: {previous}. ")
    if facts.gates is not None:
        parts += _failing(facts.gates)
    if changed := whole_characters(facts.changed.strip(), 150):
        parts.append(f"{changed}. ")
    # A NUL can't be part of an argument, and cutting it out by bash is what it would come to.
    return "".join(parts).replace("\0", "")[:CONTEXT_LIMIT]


def _failing(gates: GateResults) -> list[str]:
    if gates.overall_status != "fail" or gates.mode == "warn":
        return []
    parts = []
    if gates.test.status == "fail":
        said = " ".join(_ANSI.sub("", gates.test.output).split())[:150].rstrip()
        parts.append(f"TESTS FAILING: {said}. " if said else "TESTS FAILING. ")
    failed = [" ".join(gate.command.split()[:2]) for gate in gates.custom if gate.status == "fail"]
    if failed:
        parts.append(f"QG fail: {', '.join(failed)}. ")
    return parts


def whole_characters(text: str, limit: int) -> str:
    """Cut a text to so many bytes of UTF-8, without half a character at its end."""
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
