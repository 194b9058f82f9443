"""What the loop's decisions are made of: what a setup wants, where the loop stands, what was decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Literal

from bridge.loop.calls import Calls
from bridge.loop.exits import ExitSignals

if TYPE_CHECKING:
    from bridge.loop.breaker import BreakerSettings
    from bridge.loop.breaker_state import Breaker, Transition
    from bridge.loop.gates import GateResults

__all__ = ["Decision", "Limits", "Rules", "State", "Verdict"]

_NO_CALLS = Calls(0, "")


class Verdict(Enum):
    """The three ways to go on after an iteration."""

    CONTINUE = "continue"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Limits:
    """When to give up.

    Attributes:
        max_iterations: after so many iterations; None: never. Waiting out a limit is none.
        max_failures: after so many failed runs in a row; 0: never.
        max_seconds: after so many seconds, the run that is under way included; None: never.
    """

    max_iterations: int | None = 50
    max_failures: int = 3
    max_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """What a setup wants of the loop. The default is the loop of a folder without any setup.

    Attributes:
        ends: ``at_once``: the assistant's exit signal ends the loop. ``repeated``: it has to be repeated, by the
            rules of :func:`bridge.loop.exits.exit_reason`.
        keep_session: go on with a session though a run failed or left none, unless it is seen to be dead.
        halt_on_denial: a refused tool ends the loop (PERMISSION_DENIAL_MODE=halt).
        calls_per_hour: runs that may end well within a clock hour; None: any number.
        breaker: when the circuit breaker opens; None: there is none.
        retry_seconds: wait after a failed run; it doubles with each failure in a row.
        retry_max_seconds: that wait's longest.
        limit_seconds: wait after a provider's limit whose end isn't known.
        pause_seconds: wait after any other run.
    """

    ends: Literal["at_once", "repeated"] = "at_once"
    keep_session: bool = False
    halt_on_denial: bool = False
    calls_per_hour: int | None = None
    breaker: BreakerSettings | None = None
    retry_seconds: float = 0.0
    retry_max_seconds: float = 600.0
    limit_seconds: float = 3600.0
    pause_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class State:
    """Everything that one iteration hands to the next.

    Attributes:
        iteration: how many have been completed, well or not.
        failures: failed runs in a row.
        session_id: session for the next run to resume, or None.
        signals: what loops so far said about being complete.
        exit_signal: the last analysis asked for the end.
        breaker: the circuit breaker, or None without one.
        transition: what the last loop changed about it, or None.
        calls: runs that ended well in this clock hour.
        limits: provider's limits waited out in a row.
        wrote_nothing: the last run was ended because it only read.
        previous: what the last run that ended well said about itself, for the next one's context.
        changed: what the last run changed, likewise.
        gates: results of the last quality gates, likewise.
        findings: JSON text of the last review, or None; the next run that ends well has dealt with it.
        output_length: characters of the last output that was plain text, or None.
    """

    iteration: int = 0
    failures: int = 0
    session_id: str | None = None
    signals: ExitSignals = field(default_factory=ExitSignals)
    exit_signal: bool = False
    breaker: Breaker | None = None
    transition: Transition | None = None
    calls: Calls = _NO_CALLS
    limits: int = 0
    wrote_nothing: bool = False
    previous: str = ""
    changed: str = ""
    gates: GateResults | None = None
    findings: str | None = None
    output_length: int | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """How to go on.

    Attributes:
        verdict: on, or over.
        reason: a stable word that says why.
        detail: a sentence for people.
        wait: seconds to wait before going on.
    """

    verdict: Verdict
    reason: str = ""
    detail: str = ""
    wait: float = 0.0
