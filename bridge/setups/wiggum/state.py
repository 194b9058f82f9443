"""The state of a wiggum loop: ``.claude/ralph-state.json``, typed; one schema for both modes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from bridge.setups.wiggum.breaker import Breaker, BreakerSettings

__all__ = ["MAX_ITERATIONS", "PROMISE", "SCHEMA_VERSION", "Checkpointing", "Mode", "State", "Turn", "write_state"]

SCHEMA_VERSION = 1
MAX_ITERATIONS = 50
PROMISE = "COMPLETE"

Mode = Literal["outer", "hook"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of the agent that is under way, and what it started from.

    Attributes:
        number: its iteration, from 1.
        started_at: UTC, ISO 8601.
        head: the commit that was checked out; '' without one.
        tree: fingerprint of what differed from it, or of all files; None when it isn't known.
        blocks: how many blocks progress.txt had for this number.
    """

    number: int
    started_at: str = ""
    head: str = ""
    tree: str | None = None
    blocks: int = 0


@dataclass(frozen=True, slots=True)
class Checkpointing:
    """How to make checkpoints.

    Attributes:
        enabled: make them.
        no_verify: pass by the repository's commit hooks.
        allow_empty: also commit when nothing changed.
    """

    enabled: bool = True
    no_verify: bool = False
    allow_empty: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """Where a loop stands.

    Attributes:
        mode: ``outer``: a host starts the agent anew for each turn; ``hook``: the Stop hook keeps a session going.
        task_name: one line for people.
        task_hash: tells this task from another one: of its description, else of its prompt.
        prompt_hash: of PROMPT.md when the loop began.
        run_id: names this run's checkpoints.
        started_at: UTC, ISO 8601; likewise `updated_at` and `ended_at`.
        iteration: turns of the agent that are over.
        max_iterations: so many turns at most.
        max_minutes: so many minutes at most; None: any.
        completion_promise: what the agent says, in ``<promise>`` tags, when all is done.
        by_default: which of `max_iterations` and `completion_promise` nobody has named.
        plan_completes: a fix plan whose last box a turn ticked completes the loop, too.
        session_id: the session that the hook keeps going; None until one has claimed the loop.
        tool: ``driver NAME`` or ``agent NAME``, for a resumed run; '' when none was named.
        last_action: what the last turn did, one line.
        remaining_items, total_items, completed_items: of the fix plan.
        blocks: stops in a row that the hook has prevented.
        breaker: the circuit breaker.
        breaker_settings: when it opens.
        checkpoints: how to make checkpoints.
        turn: the turn that is under way, or None.
        outcome: how the loop ended; None while it goes on.
        reason: a sentence about that.
        exit_code: of the outer loop, for that outcome.
        extra: keys of other writers.
    """

    mode: Mode = "outer"
    task_name: str = ""
    task_hash: str = ""
    prompt_hash: str = ""
    run_id: str = ""
    started_at: str = ""
    updated_at: str = ""
    iteration: int = 0
    max_iterations: int = MAX_ITERATIONS
    max_minutes: float | None = None
    completion_promise: str = PROMISE
    by_default: tuple[str, ...] = ()
    plan_completes: bool = False
    session_id: str | None = None
    tool: str = ""
    last_action: str = ""
    remaining_items: int = 0
    total_items: int = 0
    completed_items: tuple[str, ...] = ()
    blocks: int = 0
    breaker: Breaker = field(default_factory=Breaker)
    breaker_settings: BreakerSettings = field(default_factory=BreakerSettings)
    checkpoints: Checkpointing = field(default_factory=Checkpointing)
    turn: Turn | None = None
    outcome: str | None = None
    reason: str = ""
    exit_code: int | None = None
    ended_at: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)


def write_state(state: State) -> str:
    """Write a state file: two blanks a level, a newline at the end; other writers' keys come last."""
    document: dict[str, Any] = {"schema_version": SCHEMA_VERSION, **asdict(state)}
    extra = document.pop("extra")
    return json.dumps(document | extra, indent=2, ensure_ascii=False) + "\n"
