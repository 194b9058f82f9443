"""From the engine's events to the loop's files and the lines of ``ralph.log``."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from bridge import records, timestamps
from bridge.loop.policy import Verdict
from bridge.setups.dot_ralph.files import breaker, logs, sessions, small
from bridge.setups.dot_ralph.files.status import Status, exit_label, write_finished, write_status
from bridge.setups.frankbria.policy import outcome_of, state_of
from bridge.setups.frankbria.reading import document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.loop.events import IterationEnded, IterationStarted, LoopEnded, LoopInterrupted, Waiting
    from bridge.setups.dot_ralph.files.logs import Level
    from bridge.setups.dot_ralph.files.status import State as StatusWord
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.frankbria.policy import FrankbriaState
    from bridge.setups.frankbria.settings import FrankbriaSettings

DONE = "Ralph has completed the project"
_EVERY = 60.0
"""Seconds between two writes of status.json while the loop waits: a sign of life, no more."""

_PAUSED = ("api_limit", "rate_limit", "token_limit")
_HALTED = {
    "stagnation_detected": "circuit_breaker_open",
    "files_deleted": "integrity_failure",
    "permission_denied": "permission_denied",
}
"""Reasons that halt a loop, with what status.json calls the last action."""


class FrankbriaRecorder:
    """Writes what follows from each event.

    Args:
        folder: the loop's folder.
        settings: of the project.
        log: writes one line to ``ralph.log``.

    Attributes:
        at_limit: the loop waits for a provider's limit to end.
    """

    def __init__(self, folder: Folder, settings: FrankbriaSettings, *, log: Callable[[Level, str], None]) -> None:
        self._folder = folder
        self._settings = settings
        self._log = log
        self._session = ""
        self._written = 0.0
        self._tokens = 0
        self.at_limit = False

    def started_run(self, event: IterationStarted, now: float) -> None:
        """A run is about to start; from here on it counts, whatever becomes of it."""
        folder, state = self._folder, state_of(event)
        self.at_limit = False
        small.write_line(folder, ".loop_start_sha", event.head)
        calls = state.calls.at(datetime.fromtimestamp(now)).one_more()
        records.write_text(folder / ".call_count", f"{calls.count}\n")
        records.write_text(folder / ".last_reset", f"{calls.stamp}\n")
        self._tokens = state.tokens
        if state.transition is not None:  # a cooldown is over
            breaker.save(folder, state.breaker, state.transition)
            self._log("INFO", f"Circuit breaker: {state.breaker.reason}")
        self._session = event.session_id or ""
        self._log("LOOP", f"=== Starting Loop #{event.iteration} ===")
        resumes = f", resumes session {event.session_id}" if event.session_id else ""
        most = self._settings.timeout_minutes
        limit = f"timeout {most} min" if most else "no timeout"
        self._log("INFO", f"Calling the agent ({limit}{resumes}), call {calls.count} of this hour")
        if self._settings.verbose:
            self._log("INFO", f"Command: {_without_prompt(event.argv)}")
        self._status(state, event.iteration, "executing", "running", now)

    def ended_run(self, event: IterationEnded, now: float) -> None:
        """A run is over."""
        folder, outcome, state = self._folder, outcome_of(event), state_of(event)
        failure, limited = outcome.failure, event.decision.reason == "api_limit"
        self._tokens += outcome.tokens
        if outcome.tokens:
            records.write_text(folder / ".token_count", f"{self._tokens}\n")
        self._finished(event, now)
        if failure is None:
            self._keep(event)
        self._keep_session(event, now)
        if not limited:
            breaker.save(folder, state.breaker, state.transition)
            if state.transition is not None:
                moved = state.transition
                self._log("WARN", f"Circuit breaker: {moved.from_state} -> {moved.to_state}: {moved.reason}")
        self._metrics(event, now)
        for level, line in _lines_about(folder, event):
            self._log(level, line)
        if event.decision.verdict is Verdict.CONTINUE:
            words: tuple[str, StatusWord] = ("failed", "error") if failure else ("completed", "success")
            self._status(state, event.iteration, *(("api_limit", "paused") if limited else words), now)

    def _finished(self, event: IterationEnded, now: float) -> None:
        """Say in ``progress.json`` how the run ended."""
        outcome = outcome_of(event)
        more: dict[str, object] = {}
        word = ""
        if outcome.productive:
            word, more = "timed_out_productive", {"files_changed": outcome.files_changed}
        elif outcome.failure is not None and outcome.is_error:
            more = {"error": "is_error:true"}
        write_finished(self._folder, succeeded=outcome.failure is None, now=now, outcome=word, **more)

    def _keep_session(self, event: IterationEnded, now: float) -> None:
        """Keep or drop the agent's session; an answer that is an error ends the loop's, too."""
        outcome = outcome_of(event)
        if sessions.keep_agent_session(self._folder, event, self._session, now):
            self._log("WARN", f"Session {self._session} is dropped: {event.decision.detail}")
        if outcome.status == 0 and outcome.is_error and outcome.failure and event.decision.reason != "api_limit":
            concurrent = "concurrency" in (outcome.error or "").lower()
            reason = "tool_use_concurrency_error" if concurrent else "api_error_is_error_true"
            self._reset(reason, event.iteration, now)

    def _keep(self, event: IterationEnded) -> None:
        """Keep what a run that ended well leaves."""
        folder, outcome, state = self._folder, outcome_of(event), state_of(event)
        if outcome.analysis is not None:
            records.write_json(folder / ".response_analysis", document(outcome, folder.name_of(event.log)))
            if outcome.analysis.output_format == "text":
                small.write_line(folder, ".last_output_length", outcome.analysis.output_length)
        small.write_exit_signals(folder, state.signals)

    def _metrics(self, event: IterationEnded, now: float) -> None:
        record: dict[str, object] = {
            "timestamp": timestamps.iso(now),
            "loop": event.iteration,
            "duration": int(event.seconds),
            "success": event.outcome.failure is None,
            "calls": small.calls_made(self._folder, now),
        }
        logs.append_metrics(self._folder, record)

    def waiting(self, event: Waiting, now: float) -> None:
        """The loop waits: status.json says so (trap F12), and is written anew once a minute."""
        self.at_limit = event.reason == "api_limit"
        if not event.first and now - self._written < _EVERY:
            return
        if event.first and event.reason in (*_PAUSED, "retry"):
            until = event.until.strftime("%Y-%m-%d %H:%M:%S")
            self._log("WARN", f"Waiting until {until} ({event.reason}): {event.detail}")
        if event.reason in _PAUSED:
            self._status(
                state_of(event), event.iteration, event.reason, "paused", now, reset=event.until.timestamp()
            )

    def ended(self, event: LoopEnded, now: float) -> None:
        """The loop is over. What is found before a run belongs to the loop that would have begun."""
        state, loop = state_of(event), event.iterations
        circuit = state.breaker
        if event.verdict is Verdict.COMPLETE:
            self._reset("project_complete", loop, now)
            self._status(state, loop + 1, "graceful_exit", "completed", now, reason=event.reason)
            self._log("SUCCESS", f"{DONE}: {event.reason}")
            self._log("INFO", f"Loops: {loop}, calls in this hour: {small.calls_made(self._folder, now)}")
            self._log("INFO", f"Why: {event.detail}")
        elif event.reason in _HALTED:
            tripped = event.reason == "stagnation_detected" and circuit.current_loop == loop and loop > 0
            resets = {"files_deleted": "integrity_failure", "permission_denied": "permission_denied"}
            trip = "circuit_breaker_trip" if tripped else "circuit_breaker_open"
            self._reset(resets.get(event.reason, trip), loop, now)
            if event.reason == "stagnation_detected":
                breaker.save(self._folder, circuit, None)
            number = loop if tripped else loop + 1
            self._status(state, number, _HALTED[event.reason], "halted", now, reason=event.reason)
            self._log("ERROR", f"Halted: {event.detail}")
            for line in self._advice(event.reason):
                self._log("INFO", line)
        elif event.reason == "api_5hour_limit":
            self._reset("api_limit_exit", loop, now)
            self._status(state, loop + 1, "api_limit_exit", "stopped", now, reason=event.reason)
            self._log("INFO", f"Stopped: {event.detail}")
        else:
            self._status(state, loop, event.reason, "stopped", now, reason=event.reason)
            self._log("INFO", f"Stopped: {event.detail}")

    def _advice(self, reason: str) -> Iterator[str]:
        if reason == "stagnation_detected":
            yield "Next: look at the last output, then --reset-circuit, or wait for the cooldown"
        elif reason == "permission_denied":
            source = self._settings.sources["allowed_tools"]
            yield f"Next: add what was refused to {source.name} {source.where}, then --reset-session"
            yield f'ALLOWED_TOOLS="{self._settings.allowed_tools}"'
        else:
            yield "Next: bring them back from version control, or `ralph-enable`"

    def interrupted(self, event: LoopInterrupted, now: float) -> None:
        """The loop was ended in the middle."""
        if (records.read_object(self._folder / "progress.json") or {}).get("status") == "executing":
            write_finished(self._folder, succeeded=False, now=now)
        loop = event.iteration + (event.turn is not None)
        if event.action == "interrupted":
            self._log("INFO", f"Interrupted ({event.reason}); the agent has been ended")
            if event.reason.startswith("SIG"):
                self._reset("manual_interrupt", loop, now)
            self._status(state_of(event), loop, "interrupted", "stopped", now)
            return
        said = str(event.error).splitlines()[0] if event.error is not None and str(event.error) else event.reason
        self._log("ERROR", f"Unexpected end: {said}")
        self._status(state_of(event), loop, "unexpected_exit", "stopped", now, reason=event.reason)

    def _reset(self, reason: str, loop: int, now: float) -> None:
        sessions.reset_session(self._folder, reason, now, loop=loop)

    def _status(
        self,
        state: FrankbriaState,
        loop: int,
        action: str,
        word: StatusWord,
        now: float,
        *,
        reason: str = "",
        reset: float | None = None,
    ) -> None:
        self._written = now
        settings, made = self._settings, small.calls_made(self._folder, now)
        write_status(
            self._folder,
            Status(loop, made, settings.max_calls_per_hour, action, word, reason, reset),
            now,
            tokens_used_this_hour=max(state.tokens, records.read_number(self._folder / ".token_count") or 0),
            max_tokens_per_hour=settings.max_tokens_per_hour,
            sandbox={"provider": "none"},
        )


def _lines_about(folder: Folder, event: IterationEnded) -> Iterator[tuple[Level, str]]:
    """Give the lines of ``ralph.log`` about a run, each with its level."""
    outcome = outcome_of(event)
    failure, analysis = outcome.failure, outcome.analysis
    if event.decision.reason == "api_limit":
        yield "WARN", f"API limit: {event.decision.detail}"
    elif failure is not None:
        status = 124 if outcome.timed_out else outcome.status if outcome.status >= 0 else 128 - outcome.status
        label = exit_label(status) if status else "failed"
        yield "ERROR", f"Run {label}: {failure}; its output: {folder.name_of(event.log)}"
        text = records.read_text(event.stderr) if event.stderr is not None else None
        for line in [line for line in (text or "").splitlines() if line.strip()][-3:]:
            yield "ERROR", f"  stderr: {line}"
    elif outcome.denied:
        yield "WARN", f"Permission denied for {outcome.refused_tools}"
    else:
        ran_out = " (it ran out of time, with work done)" if outcome.productive else ""
        changed = outcome.files_changed
        files = f"{changed} file{'s' * (changed != 1)} changed"
        yield "SUCCESS", f"Completed Loop #{event.iteration}: {files} in {event.seconds:.0f} s{ran_out}"
    if failure is None and outcome.compound:
        refused = ", ".join(analysis.denied_commands[:5]) if analysis else ""
        yield (
            "WARN",
            f"{outcome.compound} compound commands were refused although their parts are allowed: {refused}",
        )
        yield "WARN", "The loop goes on; tell the agent in the prompt to run such commands one by one"
    if failure is None and outcome.questions:
        yield "WARN", f"The agent asked questions ({outcome.questions} lines); it is told that nobody answers"


def _without_prompt(argv: tuple[str, ...]) -> str:
    """The command for people: the prompt, which is long, by its length alone."""
    words = [*argv]
    if "-p" in words and (at := words.index("-p") + 1) < len(words):
        words[at] = f"<prompt of {len(words[at])} characters>"
    return " ".join(words)
