"""What a bmalph loop writes beyond what both loops in ``.ralph`` do, and otherwise. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bridge.base.json_files import as_object, parse_json
from bridge.errors import ProjectUnusable
from bridge.loop.engine.events import CheckEnded, CheckStarted, IterationEnded, LoopEnded, ReviewEnded
from bridge.loop.engine.policy import Verdict
from bridge.loop.engine.store import LEAVE, StateFile
from bridge.loop.setups.bmalph import quality_gates
from bridge.loop.setups.dot_ralph import files
from bridge.loop.setups.dot_ralph import handler as shared
from bridge.loop.setups.dot_ralph.state_files import Status, exit_code, exit_label, finished
from bridge.scripts.stream.analysis import iso
from bridge.scripts.stream.events import Usage

if TYPE_CHECKING:
    from bridge.loop.engine.store import Document, Facts
    from bridge.loop.setups.dot_ralph.handler import Lines

_NO_USAGE = Usage()
_DONE_STORY = re.compile(r"[ \t]*-[ \t]*\[[xX]\][ \t]*Story \d")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_QUOTE = re.compile(r"[ \t]+>")


# -- documents -----------------------------------------------------------------------------------------


def _calls(facts: Facts) -> Document:
    return LEAVE if facts.event.outcome.failure else f"{facts.state.calls.count}\n"


def _hour(facts: Facts) -> Document:
    return LEAVE if facts.event.outcome.failure else f"{facts.state.calls.stamp}\n"


def _analysis(facts: Facts) -> Document:
    outcome = facts.event.outcome
    if outcome.failure is not None or outcome.analysis is None:
        return None if outcome.failure is not None else LEAVE
    analysis = outcome.analysis.denials_handled() if outcome.denied else outcome.analysis
    text: str = replace(analysis, output_file=facts.setup.folder.name_of(facts.event.log)).to_json()
    return text


def _gates(facts: Facts) -> Document:
    outcome = facts.event.outcome
    return (
        LEAVE
        if outcome.failure is not None or outcome.gates is None
        else quality_gates.results_document(outcome.gates)
    )


def _changed(facts: Facts) -> Document:
    if facts.event.outcome.failure is not None:
        return LEAVE
    return f"{facts.state.changed}\n" if facts.state.changed else None


def _findings(facts: Facts) -> Document:
    """The next turn that ends well has dealt with those of a review."""
    event = facts.event
    if isinstance(event, ReviewEnded):
        return as_object(parse_json(event.findings)) or LEAVE if event.findings else LEAVE
    return LEAVE if event.outcome.failure is not None or event.outcome.denied else None


def _plan(facts: Facts, name: str, other: str = "") -> Document:
    """The fix plan, without the quotes under finished stories; one that is linked from outside is somebody's."""
    outcome = facts.event.outcome
    if outcome.failure is not None or outcome.ticked <= 0:
        return LEAVE
    try:
        text = facts.read(name) if not other or facts.read(other) is None else None
    except ProjectUnusable:
        return LEAVE
    collapsed = collapse_plan(text or "")
    return LEAVE if text is None or collapsed == text else collapsed


def metrics(facts: Facts) -> Document:
    """Documented keys in documented order."""
    event, state, setup = facts.event, facts.state, facts.setup
    outcome, analysis = event.outcome, event.outcome.reported
    word = "success"
    if state.breaker.is_open:
        word = "circuit_breaker_trip"
    elif event.decision.reason == "api_limit":
        word = "api_limit"
    elif outcome.idle:
        word = "read_only_timeout"
    elif outcome.failure is not None:
        word = "error"
    usage = analysis.usage if analysis else _NO_USAGE
    if usage.cumulative:  # adding these up would count a session's tokens again and again
        usage = _NO_USAGE
    return {
        "run_id": setup.started,
        "loop": event.iteration,
        "timestamp": iso(datetime.fromtimestamp(facts.now).astimezone()),
        "driver": setup.driver,
        "session_id": state.session_id or "",
        "loop_outcome": word,
        "duration_ms": usage.duration_ms,
        "duration_api_ms": usage.duration_api_ms,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_creation_tokens": usage.cache_creation_tokens,
        "total_cost_usd": usage.total_cost_usd,
        "num_turns": usage.num_turns,
        "files_changed": outcome.files_changed,
        "reported_files_modified": analysis.files_modified if analysis else 0,
        "has_errors": analysis.has_errors if analysis else word != "success",
        "exit_signal": analysis.exit_signal if analysis else False,
        "was_read_only_timeout": word == "read_only_timeout",
        "quality_gate_result": quality_gates.outcome_of(outcome.gates)[1] if word == "success" else None,
        "has_permission_denials": analysis.has_permission_denials if analysis else False,
        "circuit_breaker_state": state.breaker.state.value,
    }


_OVER = (IterationEnded,)
FILES = (
    StateFile(
        "progress.json",
        _OVER,
        lambda facts: finished("failed" if facts.event.outcome.failure else "completed", facts.now),
    ),
    StateFile(files.CALLS, _OVER, _calls),
    StateFile(files.HOUR, _OVER, _hour),
    StateFile(files.ANALYSIS, _OVER, _analysis),
    StateFile(".quality_gate_results", _OVER, _gates),
    StateFile(".loop_diff_summary", _OVER, _changed),
    StateFile("logs/review_loop_{iteration}.log", (ReviewEnded,), lambda facts: facts.event.output),
    StateFile(".review_last_sha", (ReviewEnded,), lambda facts: f"{facts.event.head}\n"),
    StateFile(files.FINDINGS, (IterationEnded, ReviewEnded), _findings),
    StateFile("@fix_plan.md", _OVER, lambda facts: _plan(facts, "@fix_plan.md")),
    StateFile("fix_plan.md", _OVER, lambda facts: _plan(facts, "fix_plan.md", "@fix_plan.md")),
    StateFile("logs/metrics.jsonl", _OVER, metrics, most=0),
)
"""In the order in which they are written."""


# -- status.json and ralph.log -------------------------------------------------------------------------


def status(facts: Facts) -> Status | None:
    """Say where the loop stands behind an iteration, where it goes on, or behind the loop."""
    event = facts.event
    if isinstance(event, LoopEnded):
        return _ended(facts)
    if event.decision.verdict is not Verdict.CONTINUE:
        return None
    loop, code = event.iteration, exit_code(event)
    match event.decision.reason:
        case "api_limit":
            return Status(loop=loop, action="api_limit", word="paused")
        case "write_timeout":  # the original's "retrying" is no word of its readers (trap T22)
            return Status(loop=loop, action="write_timeout", word="running", code=code)
        case "permission_denied":
            return Status(loop=loop, action="permission_denied", word="running")
        case _ if event.outcome.failure is not None:
            reason = exit_label(code) if code else "error"
            return Status(loop=loop, action="failed", word="error", reason=reason, code=code)
    return Status(loop=loop, action="completed", word="success", code=code or None)


def _ended(facts: Facts) -> Status:
    event, loop = facts.event, facts.event.iterations
    if event.verdict is Verdict.COMPLETE:
        return Status(loop=loop, action="graceful_exit", word="completed", reason=event.reason)
    if facts.state.breaker.is_open:
        return Status(loop=loop, action="circuit_breaker_open", word="halted", reason=event.reason)
    halted = _is_halted(event)
    return Status(loop=loop, action=event.reason, word="halted" if halted else "stopped", reason=event.reason)


def _is_halted(event: LoopEnded) -> bool:
    return event.reason in ("permission_denied", "consecutive_failures") or event.permanent is not None


def reset(event: Any) -> str:
    """Say why the end of the loop ends the session; ''. An iteration never does."""
    if isinstance(event, IterationEnded):
        return ""
    if event.verdict is Verdict.COMPLETE:
        return "project_complete"
    if event.state.breaker.is_open:
        tripped = event.state.breaker.current_loop == event.iterations > 0
        return "circuit_breaker_trip" if tripped else "circuit_breaker_open"
    return "permission_denied" if event.reason == "permission_denied" else ""


def further(facts: Facts, code: int | None) -> dict[str, object]:
    found = as_object(parse_json(facts.read(".quality_gate_results")))
    keys = {name: found.get(name) for name in ("overall_status", "mode")} if found is not None else None
    return {"driver_exit_code": code, **({"quality_gates": keys} if keys is not None else {})}


def lines(facts: Facts) -> Lines:
    event = facts.event
    if isinstance(event, CheckStarted | CheckEnded) and event.of_setup:
        return  # as in the original, one line says what came of all gates
    yield from shared.lines(facts)
    match event:
        case IterationEnded():
            yield from _lines_behind(event)
        case ReviewEnded():
            outcome = "with findings" if event.findings else f"without findings (exit status {event.status})"
            yield "INFO", f"Review of loop #{event.iteration} ended {outcome}"
        case LoopEnded() if event.verdict is not Verdict.COMPLETE:
            if facts.state.breaker.is_open:
                yield "ERROR", f"Circuit breaker is open: {facts.state.breaker.reason}"
                yield "INFO", "Next: look at the last output, then `ralph-bridge reset`, or wait for the cooldown"
            elif event.reason == "permission_denied":
                yield "ERROR", f"Halted: {event.detail}"
            else:
                yield "ERROR" if _is_halted(event) else "INFO", f"Ended incomplete: {event.detail}"


def _lines_behind(event: Any) -> Lines:
    outcome = event.outcome
    analysis, found = outcome.analysis, outcome.gates
    if outcome.failure is None and analysis is not None and analysis.has_progress_tracking_mismatch:
        claimed, delta = analysis.tasks_completed_this_loop, analysis.fix_plan_completed_delta
        yield "WARN", f"Progress mismatch: {claimed} tasks claimed, {delta} boxes ticked in the fix plan"
    if found is not None:
        yield (
            "INFO" if found.overall_status == "pass" else "WARN",
            (f"Quality gates: {found.overall_status} (mode {found.mode})"),
        )


def collapse_plan(text: str) -> str:
    """Drop the indented quote under each finished story; newlines of every kind stay as they are.

    >>> collapse_plan("- [x] Story 1.1: Login\\n  > As a user\\n- [ ] Story 1.2: Logout\\n  > As a user\\n")
    '- [x] Story 1.1: Login\\n- [ ] Story 1.2: Logout\\n  > As a user\\n'
    """
    kept = []
    dropping = False
    for line in _LINE.findall(text):
        if dropping and _QUOTE.match(line):
            continue
        dropping = _DONE_STORY.match(line) is not None
        kept.append(line)
    return "".join(kept)
