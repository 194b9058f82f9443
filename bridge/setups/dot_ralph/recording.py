"""From the engine's events to the files of ``.ralph`` and ``ralph.log``: what both loops write alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from bridge import records
from bridge.loop.policy import LIMITS, Verdict
from bridge.setups.dot_ralph.files import breaker, logs, sessions, small
from bridge.setups.dot_ralph.files.status import Status, exit_label, write_finished, write_status
from bridge.setups.dot_ralph.policy import state_of
from bridge.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.loop.events import IterationEnded, IterationStarted, LoopEnded, LoopInterrupted, Waiting
    from bridge.setups.dot_ralph.common import CommonSettings
    from bridge.setups.dot_ralph.files.logs import Level
    from bridge.setups.dot_ralph.files.status import State as StatusWord
    from bridge.setups.dot_ralph.folder import Folder

DONE = "Ralph has completed the project"
_EVERY = 60.0
"""Seconds between two writes of status.json while the loop waits: a sign of life, no more."""


class FolderRecorder(ABC):
    """Writes what follows from each event.

    Args:
        folder: the loop's folder.
        settings: of the project.
        log: writes one line to ``ralph.log``.
    """

    names_signals = True
    """The name of a signal that ends the loop is its exit reason."""

    def __init__(self, folder: Folder, settings: CommonSettings, *, log: Callable[[Level, str], None]) -> None:
        self._folder = folder
        self._common = settings
        self._log = log
        self._session = ""
        self._written = 0.0

    def started_run(self, event: IterationStarted, now: float) -> None:
        """A run is about to start."""
        folder, state = self._folder, state_of(event)
        small.write_line(folder, ".loop_start_sha", event.head)
        if state.transition is not None:  # a cooldown is over
            breaker.save(folder, state.breaker, state.transition)
            self._log("INFO", f"Circuit breaker: {state.breaker.reason}")
        self._session = event.session_id or ""
        self._log("LOOP", f"=== Starting Loop #{event.iteration} ===")
        resumes = f", resumes session {event.session_id}" if event.session_id else ""
        most = self._common.timeout_minutes
        limit = f"timeout {most} min" if most else "no timeout"
        if event.argv:
            self._log("INFO", f"Calling the agent ({limit}{resumes})")
        self.status(event.iteration, "executing", "running", now)

    def ended_run(self, event: IterationEnded, now: float) -> None:
        """A run is over."""
        folder, state = self._folder, state_of(event)
        self.keep(event, now)
        self.keep_session(event, now)
        if event.decision.reason != "api_limit":
            breaker.save(folder, state.breaker, state.transition)
            if state.transition is not None:
                moved = state.transition
                self._log("WARN", f"Circuit breaker: {moved.from_state} -> {moved.to_state}: {moved.reason}")
        logs.append_metrics(folder, self.metrics(event, now))
        for level, line in self.lines_about(event):
            self._log(level, line)
        if event.decision.verdict is Verdict.CONTINUE:
            self.ended_status(event, now)

    @abstractmethod
    def keep(self, event: IterationEnded, now: float) -> None:
        """Keep what a run leaves beside session and breaker."""

    def keep_session(self, event: IterationEnded, now: float) -> None:
        """Keep or drop the agent's session."""
        if sessions.keep_agent_session(self._folder, event, self._session, now):
            why = event.decision.detail if event.outcome.failure else "the turn gave no session id"
            self._log("WARN", f"Session {self._session} is dropped: {why}")

    @abstractmethod
    def metrics(self, event: IterationEnded, now: float) -> dict[str, object]:
        """Give the record of a run for ``metrics.jsonl``."""

    @abstractmethod
    def ended_status(self, event: IterationEnded, now: float) -> None:
        """Write ``status.json`` after a run, where the loop goes on."""

    def lines_about(self, event: IterationEnded) -> Iterator[tuple[Level, str]]:
        """Give the lines of ``ralph.log`` about a run, each with its level."""
        outcome = event.outcome
        files = f"{plural(outcome.files_changed, 'file')} changed"
        if event.decision.reason == "api_limit":
            yield "WARN", f"API limit: {event.decision.detail}"
        elif outcome.failure is not None:
            code = exit_code(event)
            label = "write timeout" if outcome.idle else exit_label(code) if code else "failed"
            log = self._folder.name_of(event.log)
            yield "ERROR", f"Run {label}: {outcome.failure}; {files}; its output: {log}"
            text = records.read_text(event.stderr) if event.stderr is not None else None
            for line in [line for line in (text or "").splitlines() if line.strip()][-3:]:
                yield "ERROR", f"  stderr: {line}"
        elif outcome.denied:
            yield "WARN", f"Permission denied for {outcome.refused_tools}; {files}"
        else:
            ran_out = " (it ran out of time, with work done)" if outcome.productive else ""
            yield "SUCCESS", f"Completed Loop #{event.iteration}: {files} in {event.seconds:.0f} s{ran_out}"

    def waiting(self, event: Waiting, now: float) -> None:
        """The loop waits: status.json says so (trap F12), and is written anew once a minute."""
        if not event.first and now - self._written < _EVERY:
            return
        if event.first and event.reason in (*LIMITS, "retry"):
            until = event.until.strftime("%Y-%m-%d %H:%M:%S")
            self._log("WARN", f"Waiting until {until} ({event.reason}): {event.detail}")
        if event.reason in LIMITS:
            self.status(event.iteration, event.reason, "paused", now, reset=event.until.timestamp())

    @abstractmethod
    def ended(self, event: LoopEnded, now: float) -> None:
        """The loop is over."""

    def completed(self, event: LoopEnded, loop: int, now: float) -> None:
        """The work is done; `loop` is what ``status.json`` counts."""
        self.reset("project_complete", event.iterations, now)
        self.status(loop, "graceful_exit", "completed", now, reason=event.reason)
        self._log("SUCCESS", f"{DONE}: {event.reason}")
        calls = small.calls_made(self._folder, now)
        self._log("INFO", f"Loops: {event.iterations}, calls in this hour: {calls}")
        self._log("INFO", f"Why: {event.detail}")

    def interrupted(self, event: LoopInterrupted, now: float) -> None:
        """The loop was ended in the middle."""
        if (records.read_object(self._folder / "progress.json") or {}).get("status") == "executing":
            write_finished(self._folder, succeeded=False, now=now)
        loop, action, reason = event.iteration + (event.turn is not None), "unexpected_exit", event.reason
        if event.action == "interrupted":
            self._log("INFO", f"Interrupted ({reason}); the agent has been ended")
            if reason.startswith("SIG"):
                self.reset("manual_interrupt", loop, now)
            action, reason = "interrupted", reason if self.names_signals else ""
        else:
            said = str(event.error).splitlines()[0] if event.error is not None and str(event.error) else reason
            self._log("ERROR", f"Unexpected end: {said}")
        self.status(loop, action, "stopped", now, reason=reason)

    def reset(self, reason: str, loop: int, now: float) -> None:
        """End the session."""
        sessions.reset_session(self._folder, reason, now, loop=loop)

    def status(
        self,
        loop: int,
        action: str,
        word: StatusWord,
        now: float,
        *,
        reason: str = "",
        code: int | None = None,
        reset: float | None = None,
    ) -> None:
        """Write ``status.json``.

        Args:
            loop: the iteration.
            action: what the loop did last.
            word: where it stands.
            now: the time.
            reason: why it has ended.
            code: exit code of the run, where that is known.
            reset: when calls are possible again; None: at the full hour.
        """
        self._written = now
        made = small.calls_made(self._folder, now)
        status = Status(loop, made, self._common.max_calls_per_hour, action, word, reason, reset)
        write_status(self._folder, status, now, **self.further(code))

    @abstractmethod
    def further(self, code: int | None) -> dict[str, object]:
        """Give the keys of ``status.json`` that only this loop's has; `code` is the run's exit code."""


def exit_code(event: IterationEnded) -> int:
    """Give the exit code as the original's shell would have it: 124 after a timeout, 128 + N after a signal."""
    status = event.outcome.status
    if event.outcome.timed_out or event.outcome.idle:
        return 124
    return 128 - status if status < 0 else status
