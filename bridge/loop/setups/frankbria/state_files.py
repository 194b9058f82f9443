"""What a frankbria loop writes beyond what both loops in ``.ralph`` do, or otherwise. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.base import timestamps
from bridge.base.json_files import number_in
from bridge.loop.engine.events import IterationEnded, IterationStarted, LoopEnded
from bridge.loop.engine.policy import Verdict
from bridge.loop.engine.store import LEAVE, StateFile
from bridge.loop.setups.dot_ralph import files
from bridge.loop.setups.dot_ralph import handler as shared
from bridge.loop.setups.dot_ralph.state_files import Status, calls_of, finished
from bridge.loop.setups.frankbria.reading import document

if TYPE_CHECKING:
    from bridge.loop.engine.store import Document, Facts
    from bridge.loop.setups.dot_ralph.handler import Lines

_HALTED = {
    "stagnation_detected": "circuit_breaker_open",
    "files_deleted": "integrity_failure",
    "permission_denied": "permission_denied",
}
"""Reasons that halt a loop, with what status.json calls the last action."""


# -- documents -----------------------------------------------------------------------------------------


def _tokens(facts: Facts) -> Document:
    """Those of a turn count also where it failed (trap F34)."""
    turn = facts.event.turn
    used = int((turn.input_tokens or 0) + (turn.output_tokens or 0)) if turn is not None else 0
    return f"{facts.state.tokens + used}\n" if used else LEAVE


def _progress(facts: Facts) -> Document:
    outcome = facts.event.outcome
    if outcome.productive:
        return finished("timed_out_productive", facts.now, files_changed=outcome.files_changed)
    if outcome.failure is None:
        return finished("completed", facts.now)
    return finished("failed", facts.now, **({"error": "is_error:true"} if outcome.is_error else {}))


def _analysis(facts: Facts) -> Document:
    outcome = facts.event.outcome
    if outcome.failure is not None or outcome.analysis is None:
        return LEAVE
    return document(outcome, facts.setup.folder.name_of(facts.event.log))


def _metrics(facts: Facts) -> Document:
    return {
        "timestamp": timestamps.iso(facts.now),
        "loop": facts.event.iteration,
        "duration": int(facts.event.seconds),
        "success": facts.event.outcome.failure is None,
        "calls": 1,  # of this record: `ralph-stats` adds them up
    }


FILES = (
    # From its start on a run counts, whatever becomes of it.
    StateFile(files.CALLS, (IterationStarted,), lambda facts: f"{calls_of(facts).one_more().count}\n"),
    StateFile(files.HOUR, (IterationStarted,), lambda facts: f"{timestamps.hour(facts.now)}\n"),
    StateFile(files.TOKENS, (IterationEnded,), _tokens),
    StateFile("progress.json", (IterationEnded,), _progress),
    StateFile(files.ANALYSIS, (IterationEnded,), _analysis),
    StateFile("logs/metrics.jsonl", (IterationEnded,), _metrics, most=0),
)
"""In the order in which they are written."""


# -- status.json and ralph.log ---------------------------------------------------------------


def status(facts: Facts) -> Status | None:
    """Say where the loop stands behind an iteration, where it goes on, or behind the loop."""
    event = facts.event
    if isinstance(event, LoopEnded):
        return _ended(event)
    if event.decision.verdict is not Verdict.CONTINUE:
        return None
    if event.decision.reason == "api_limit":
        return Status(loop=event.iteration, action="api_limit", word="paused")
    if event.outcome.failure:
        return Status(loop=event.iteration, action="failed", word="error")
    return Status(loop=event.iteration, action="completed", word="success")


def _ended(event: Any) -> Status:
    """What is found before a run belongs to the loop that would have begun."""
    loop, reason = event.iterations, event.reason
    if event.verdict is Verdict.COMPLETE:
        return Status(loop=loop + 1, action="graceful_exit", word="completed", reason=reason)
    if reason in _HALTED:
        number = loop if _tripped(event) else loop + 1
        return Status(loop=number, action=_HALTED[reason], word="halted", reason=reason)
    if reason == "api_5hour_limit":
        return Status(loop=loop + 1, action="api_limit_exit", word="stopped", reason=reason)
    return Status(loop=loop, action=reason, word="stopped", reason=reason)


def _tripped(event: Any) -> bool:
    """Whether the last run has opened the breaker."""
    at: int | None = event.state.breaker.current_loop
    return event.reason == "stagnation_detected" and at is not None and 0 < at == event.iterations


def reset(event: Any) -> str:
    """Say why an iteration or the loop ends the session; ''. An answer that is an error does."""
    if isinstance(event, IterationEnded):
        outcome = event.outcome
        if outcome.status or not (outcome.is_error and outcome.failure) or event.decision.reason == "api_limit":
            return ""
        concurrent = "concurrency" in (outcome.error or "").lower()
        return "tool_use_concurrency_error" if concurrent else "api_error_is_error_true"
    if event.verdict is Verdict.COMPLETE:
        return "project_complete"
    trip = "circuit_breaker_trip" if _tripped(event) else "circuit_breaker_open"
    reasons = {
        "stagnation_detected": trip,
        "files_deleted": "integrity_failure",
        "permission_denied": "permission_denied",
        "api_5hour_limit": "api_limit_exit",
    }
    return reasons.get(event.reason, "")


def further(sandbox: str, facts: Facts, _code: int | None) -> dict[str, object]:
    return {
        "tokens_used_this_hour": number_in(facts.read(files.TOKENS)) or 0,
        "max_tokens_per_hour": facts.setup.settings.max_tokens_per_hour,
        "sandbox": {"provider": sandbox},
    }


def lines(facts: Facts) -> Lines:
    yield from shared.lines(facts)
    event, settings = facts.event, facts.setup.settings
    match event:
        case IterationStarted() if settings.verbose:
            yield "INFO", f"Command: {_without_prompt(event.argv)}"
        case IterationEnded() if event.outcome.failure is None:
            outcome: Any = event.outcome
            if outcome.compound:
                refused = ", ".join(outcome.analysis.denied_commands[:5]) if outcome.analysis else ""
                what = f"{outcome.compound} compound commands were refused although their parts are allowed"
                yield "WARN", f"{what}: {refused}"
                yield "WARN", "The loop goes on; tell the agent in the prompt to run such commands one by one"
            if outcome.questions:
                asked = f"The agent asked questions ({outcome.questions} lines)"
                yield "WARN", f"{asked}; it is told that nobody answers"
        case LoopEnded() if event.verdict is not Verdict.COMPLETE:
            if event.reason not in _HALTED:
                yield "INFO", f"Stopped: {event.detail}"
                return
            yield "ERROR", f"Halted: {event.detail}"
            if event.reason == "stagnation_detected":
                yield "INFO", "Next: look at the last output, then --reset-circuit, or wait for the cooldown"
            elif event.reason == "permission_denied":
                source = settings.sources["allowed_tools"]
                add = f"Next: add what was refused to {source.name} {source.where}, then --reset-session"
                yield "INFO", add
                yield "INFO", f'ALLOWED_TOOLS="{settings.allowed_tools}"'
            else:
                yield "INFO", "Next: bring them back from version control, or `ralph-enable`"


def _without_prompt(argv: tuple[str, ...]) -> str:
    """The command for people: the prompt, which is long, by its length alone."""
    words = [*argv]
    if "-p" in words and (at := words.index("-p") + 1) < len(words):
        words[at] = f"<prompt of {len(words[at])} characters>"
    return " ".join(words)
