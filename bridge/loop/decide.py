"""What the loop does next: pure decisions on frozen data. No IO, no clock."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.loop import breaker as breakers
from bridge.loop.backoff import back_off
from bridge.loop.breaker_state import Breaker
from bridge.loop.calls import seconds_to_next_hour
from bridge.loop.exits import exit_reason, update_signals
from bridge.loop.outcome import Outcome, failure_of
from bridge.loop.rules import Decision, Limits, Rules, State, Verdict
from bridge.stream.analysis import iso

if TYPE_CHECKING:
    from datetime import datetime

    from bridge.loop.breaker import BreakerSettings
    from bridge.loop.plan import Plan

__all__ = ["Decision", "Limits", "Outcome", "Rules", "State", "Verdict", "begin", "decide", "failure_of"]


_LIMITS, _RULES = Limits(), Rules()
_GO_ON = Decision(Verdict.CONTINUE)
_LIMIT_MARGIN = 5.0  # seconds: a provider's clock and ours differ
_FINAL = {
    "test_saturation": "three loops did nothing but run tests",
    "completion_signals": "the assistant called the work complete twice",
    "safety_circuit_breaker": "the assistant asked for the end five times",
    "project_complete": "the assistant gave the exit signal again",
}


def begin(
    state: State,
    plan: Plan | None,
    *,
    limits: Limits = _LIMITS,
    rules: Rules = _RULES,
    now: datetime | None = None,
    elapsed: float = 0.0,
) -> Decision:
    """Decide before a run: is one needed, and may it start now?

    Args:
        state: where the loop stands.
        plan: the fix plan as it lies on disk, or None.
        limits: when to give up.
        rules: what the setup wants.
        now: local time; needed for a limit of calls.
        elapsed: seconds since the loop began.
    """
    if state.breaker is not None and state.breaker.is_open:
        return Decision(Verdict.INCOMPLETE, "stagnation_detected", f"circuit breaker open: {state.breaker.reason}")
    if done := _over(state, plan, rules):
        return done
    if over := _spent(state, limits, elapsed):
        return over
    if rules.calls_per_hour is not None and now is not None and state.calls.at(now).count >= rules.calls_per_hour:
        made = f"{state.calls.count} of {rules.calls_per_hour} calls of this hour are made"
        return Decision(Verdict.CONTINUE, "rate_limit", made, seconds_to_next_hour(now))
    return _GO_ON


def decide(
    state: State,
    outcome: Outcome,
    limits: Limits,
    *,
    rules: Rules = _RULES,
    now: datetime | None = None,
    elapsed: float = 0.0,
) -> tuple[State, Decision]:
    """Return the state for the next iteration, and whether there is to be one.

    What a failed run says is not believed: neither its signal nor its promise counts. The plan counts in any
    case: it lies on disk, and when it is done there is nothing left to retry. EXIT_SIGNAL false is no veto:
    a ticked plan and a promise end the loop all the same. A run that a provider's limit ended is no
    iteration: it is waited out, and repeated.
    """
    failure = failure_of(outcome)
    if failure is not None and outcome.limit is not None and not outcome.timed_out:
        after = replace(state, limits=state.limits + 1, session_id=_session(state, outcome, failure, rules))
        return after, _plan_done(outcome.plan) or _limited(after, outcome, rules, now)
    after = replace(
        state,
        iteration=state.iteration + 1,
        failures=state.failures + 1 if failure else 0,
        session_id=_session(state, outcome, failure, rules),
        limits=0,
        wrote_nothing=outcome.idle,
        exit_signal=False,
        transition=None,
        changed=(outcome.changes.summary if outcome.changes else "") or (state.changed if failure else ""),
    )
    if failure is None:
        after = _believed(after, outcome, rules, now)
    # A run that only the loop's own end has cut short says nothing about the agent.
    cut = outcome.timed_out and limits.max_seconds is not None and elapsed >= limits.max_seconds
    if rules.breaker is not None and now is not None and not cut:
        after = _recorded(after, outcome, failure, rules.breaker, now)
    return after, _verdict(after, outcome, failure, limits, rules, elapsed)


def _verdict(
    after: State, outcome: Outcome, failure: str | None, limits: Limits, rules: Rules, elapsed: float
) -> Decision:
    if after.breaker is not None and after.breaker.is_open:
        return Decision(Verdict.INCOMPLETE, _opened_by(after, outcome, rules), after.breaker.reason)
    denied = failure is None and outcome.denied
    if denied and rules.halt_on_denial:
        return Decision(Verdict.INCOMPLETE, "permission_denied", f"refused: {_refused(outcome)}")
    if failure is None and outcome.exit_signal and rules.ends == "at_once":
        return Decision(Verdict.COMPLETE, "project_complete", "the assistant gave the exit signal")
    if failure is None and outcome.promised:
        return Decision(Verdict.COMPLETE, "completion_promise", "the assistant gave the promise")
    if not denied and (done := _over(after, outcome.plan, rules) if failure is None else _plan_done(outcome.plan)):
        return done
    if 0 < limits.max_failures <= after.failures:
        times = f"{after.failures} runs in a row failed" if after.failures > 1 else "the run failed"
        return Decision(Verdict.INCOMPLETE, "consecutive_failures", f"{times}, the last: {failure}")
    if spent := _spent(after, limits, elapsed):
        return replace(spent, detail=f"{spent.detail}; the last run failed: {failure}") if failure else spent
    if outcome.idle:
        return Decision(Verdict.CONTINUE, "write_timeout", f"{failure}; the run is repeated", rules.pause_seconds)
    if failure:
        lost = outcome.resumed and after.session_id is None
        dropped = " and its session dropped" if lost else ""
        # A dead session is no trouble of the provider's: the run without it may start at once.
        wait = 0.0 if lost and outcome.dead_session else _back_off(after.failures, rules)
        return Decision(Verdict.CONTINUE, "retry", f"{failure}; the run is repeated{dropped}", wait)
    if denied:
        detail = f"refused: {_refused(outcome)}"
        return Decision(Verdict.CONTINUE, "permission_denied", detail, rules.pause_seconds)
    return replace(_GO_ON, wait=rules.pause_seconds)


def _session(state: State, outcome: Outcome, failure: str | None, rules: Rules) -> str | None:
    if not rules.keep_session:
        return None if failure else outcome.session_id
    if outcome.dead_session:
        return None
    # A failure that nobody understands may be that of a dead session all the same, but hardly twice.
    if failure and outcome.resumed and state.failures and not outcome.limit and not outcome.idle:
        return outcome.session_id if outcome.session_id != state.session_id else None
    return outcome.session_id or state.session_id


def _believed(after: State, outcome: Outcome, rules: Rules, now: datetime | None) -> State:
    if now is not None:
        after = replace(after, calls=after.calls.at(now).one_more())
    analysis = outcome.analysis
    if analysis is None:
        return after
    after = replace(
        after,
        previous=analysis.work_summary,
        gates=outcome.gates,
        findings=None,
        output_length=analysis.output_length if analysis.output_format == "text" else after.output_length,
    )
    if rules.ends != "repeated":
        return after
    signals = update_signals(after.signals, analysis)
    return replace(after, signals=signals, exit_signal=analysis.exit_signal and not outcome.denied)


def _recorded(
    after: State, outcome: Outcome, failure: str | None, settings: BreakerSettings, now: datetime
) -> State:
    """Tell the breaker, but not of what is no fault of the agent's: failures have their own cap and back-off."""
    analysis = outcome.analysis
    blocked = outcome.gate == "circuit-breaker" and failure is None
    believed = analysis is not None and failure is None
    mute = outcome.silent and outcome.completed is None  # nothing went wrong, and nothing comes of it
    evidence = breakers.Evidence(
        loop=after.iteration,
        files_changed=0 if blocked else outcome.files_changed,
        reported_files=analysis.files_modified if believed and analysis and not blocked else 0,
        complete=bool(believed and analysis and (analysis.has_completion_signal or analysis.exit_signal)),
        has_errors=blocked or bool(believed and analysis and analysis.has_errors),
        error=analysis.error_fingerprint if believed and analysis and not blocked else "",
        output_length=analysis.output_length if believed and analysis else None,
        denied=failure is None and outcome.denied,
        read_only_timeout=outcome.idle,
        failed=failure is not None and not (outcome.timed_out or outcome.idle or mute),
    )
    state = after.breaker or Breaker(last_change=iso(now))
    recorded, transition = breakers.record(state, evidence, settings, now)
    return replace(after, breaker=recorded, transition=transition)


def _opened_by(after: State, outcome: Outcome, rules: Rules) -> str:
    assert after.breaker is not None
    assert rules.breaker is not None
    if outcome.denied and after.breaker.consecutive_permission_denials >= rules.breaker.permission_denials:
        return "permission_denied"
    if outcome.idle and after.breaker.consecutive_read_only_timeouts >= rules.breaker.read_only_timeouts:
        return "read_only_timeouts"
    return "stagnation_detected"


def _over(state: State, plan: Plan | None, rules: Rules) -> Decision | None:
    if rules.ends == "repeated":
        reason = exit_reason(state.signals, None, exit_signal=state.exit_signal)
        if reason is not None:
            return Decision(Verdict.COMPLETE, reason, _FINAL[reason])
    return _plan_done(plan)


def _spent(state: State, limits: Limits, elapsed: float) -> Decision | None:
    if limits.max_iterations is not None and state.iteration >= limits.max_iterations:
        spent = f"all {limits.max_iterations} iterations are used up"
        return Decision(Verdict.INCOMPLETE, "max_iterations", spent)
    if limits.max_seconds is not None and elapsed >= limits.max_seconds:
        return Decision(Verdict.INCOMPLETE, "max_minutes", f"its {limits.max_seconds / 60:g} minutes are over")
    return None


def _limited(after: State, outcome: Outcome, rules: Rules, now: datetime | None) -> Decision:
    """Wait for a provider's limit to end: as long as it says, else by its kind."""
    limit = outcome.limit
    assert limit is not None
    if limit.resets_at is not None and now is not None:
        wait = max(limit.resets_at - now.timestamp() + _LIMIT_MARGIN, rules.retry_seconds)
    elif limit.kind == "rate":  # too many requests just now: over soon
        wait = min(_back_off(after.limits, rules), rules.limit_seconds)
    else:
        wait = rules.limit_seconds
    said = limit.text or f"the provider's {limit.kind} limit"
    return Decision(Verdict.CONTINUE, "api_limit", said, wait)


def _back_off(times: int, rules: Rules) -> float:
    return back_off(rules.retry_seconds, times, rules.retry_max_seconds)


def _refused(outcome: Outcome) -> str:
    commands = outcome.analysis.denied_commands if outcome.analysis else ()
    return ", ".join(commands[:5]) or "a tool"


def _plan_done(plan: Plan | None) -> Decision | None:
    if plan is None or not plan.complete:
        return None
    boxes = "the only task of the fix plan is" if plan.total == 1 else f"all {plan.total} tasks of the fix plan are"
    return Decision(Verdict.COMPLETE, "plan_complete", f"{boxes} ticked")
