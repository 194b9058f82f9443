"""From the engine's events to the loop's files and the lines of ``ralph.log``."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from bridge import records, timestamps
from bridge.loop.policy import Verdict
from bridge.setups.dot_ralph.files import breaker, small
from bridge.setups.dot_ralph.files.status import write_finished
from bridge.setups.dot_ralph.policy import state_of
from bridge.setups.dot_ralph.recording import FolderRecorder
from bridge.setups.frankbria.policy import FrankbriaState, outcome_of
from bridge.setups.frankbria.reading import document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.loop.events import IterationEnded, IterationStarted, LoopEnded, Waiting
    from bridge.setups.dot_ralph.files.logs import Level
    from bridge.setups.dot_ralph.files.status import State as StatusWord
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.frankbria.settings import FrankbriaSettings

_HALTED = {
    "stagnation_detected": "circuit_breaker_open",
    "files_deleted": "integrity_failure",
    "permission_denied": "permission_denied",
}
"""Reasons that halt a loop, with what status.json calls the last action."""


class FrankbriaRecorder(FolderRecorder):
    """Writes what follows from each event.

    Args:
        folder: the loop's folder.
        settings: of the project.
        log: writes one line to ``ralph.log``.

    Attributes:
        at_limit: the loop waits for a provider's limit to end.
    """

    names_signals = False

    def __init__(self, folder: Folder, settings: FrankbriaSettings, *, log: Callable[[Level, str], None]) -> None:
        super().__init__(folder, settings, log=log)
        self._settings = settings
        self.at_limit = False

    def started_run(self, event: IterationStarted, now: float) -> None:
        """A run is about to start; from here on it counts, whatever becomes of it."""
        self.at_limit = False
        small.write_calls(self._folder, state_of(event).calls.at(datetime.fromtimestamp(now)).one_more())
        super().started_run(event, now)
        if self._settings.verbose:
            self._log("INFO", f"Command: {_without_prompt(event.argv)}")

    def keep(self, event: IterationEnded, now: float) -> None:
        """Keep what a run leaves: its tokens also where it failed (trap F34)."""
        folder, outcome, state, turn = self._folder, outcome_of(event), event.state, event.turn
        assert isinstance(state, FrankbriaState)
        if turn is not None and (used := int((turn.input_tokens or 0) + (turn.output_tokens or 0))):
            records.write_text(folder / ".token_count", f"{state.tokens + used}\n")
        self._finished(event, now)
        if outcome.failure is not None:
            return
        if outcome.analysis is not None:
            records.write_json(folder / ".response_analysis", document(outcome, folder.name_of(event.log)))
            if outcome.analysis.output_format == "text":
                small.write_line(folder, ".last_output_length", outcome.analysis.output_length)
        small.write_exit_signals(folder, state.signals)

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

    def keep_session(self, event: IterationEnded, now: float) -> None:
        """Keep or drop the agent's session; an answer that is an error ends the loop's, too."""
        super().keep_session(event, now)
        outcome = event.outcome
        if outcome.status == 0 and outcome.is_error and outcome.failure and event.decision.reason != "api_limit":
            concurrent = "concurrency" in (outcome.error or "").lower()
            reason = "tool_use_concurrency_error" if concurrent else "api_error_is_error_true"
            self.reset(reason, event.iteration, now)

    def metrics(self, event: IterationEnded, now: float) -> dict[str, object]:
        """Give the record of a run for ``metrics.jsonl``."""
        return {
            "timestamp": timestamps.iso(now),
            "loop": event.iteration,
            "duration": int(event.seconds),
            "success": event.outcome.failure is None,
            "calls": 1,  # of this record: `ralph-stats` adds them up
        }

    def ended_status(self, event: IterationEnded, now: float) -> None:
        """Write ``status.json`` after a run, where the loop goes on."""
        words: tuple[str, StatusWord] = ("completed", "success")
        if event.decision.reason == "api_limit":
            words = "api_limit", "paused"
        elif event.outcome.failure:
            words = "failed", "error"
        self.status(event.iteration, *words, now)

    def lines_about(self, event: IterationEnded) -> Iterator[tuple[Level, str]]:
        """Give the lines of ``ralph.log`` about a run, each with its level."""
        yield from super().lines_about(event)
        outcome = outcome_of(event)
        if outcome.failure is not None:
            return
        if outcome.compound:
            refused = ", ".join(outcome.analysis.denied_commands[:5]) if outcome.analysis else ""
            what = f"{outcome.compound} compound commands were refused although their parts are allowed"
            yield "WARN", f"{what}: {refused}"
            yield "WARN", "The loop goes on; tell the agent in the prompt to run such commands one by one"
        if outcome.questions:
            yield "WARN", f"The agent asked questions ({outcome.questions} lines); it is told that nobody answers"

    def waiting(self, event: Waiting, now: float) -> None:
        """The loop waits; for a provider's limit, somebody may not want to."""
        self.at_limit = event.reason == "api_limit"
        super().waiting(event, now)

    def ended(self, event: LoopEnded, now: float) -> None:
        """The loop is over. What is found before a run belongs to the loop that would have begun."""
        loop, circuit = event.iterations, state_of(event).breaker
        if event.verdict is Verdict.COMPLETE:
            self.completed(event, loop + 1, now)
        elif event.reason in _HALTED:
            tripped = event.reason == "stagnation_detected" and circuit.current_loop == loop and loop > 0
            resets = {"files_deleted": "integrity_failure", "permission_denied": "permission_denied"}
            trip = "circuit_breaker_trip" if tripped else "circuit_breaker_open"
            self.reset(resets.get(event.reason, trip), loop, now)
            if event.reason == "stagnation_detected":
                breaker.save(self._folder, circuit, None)
            number = loop if tripped else loop + 1
            self.status(number, _HALTED[event.reason], "halted", now, reason=event.reason)
            self._log("ERROR", f"Halted: {event.detail}")
            for line in self._advice(event.reason):
                self._log("INFO", line)
        elif event.reason == "api_5hour_limit":
            self.reset("api_limit_exit", loop, now)
            self.status(loop + 1, "api_limit_exit", "stopped", now, reason=event.reason)
            self._log("INFO", f"Stopped: {event.detail}")
        else:
            self.status(loop, event.reason, "stopped", now, reason=event.reason)
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

    def further(self, code: int | None) -> dict[str, object]:  # noqa: ARG002
        """Give the keys of ``status.json`` that only this loop's has."""
        return {
            "tokens_used_this_hour": small.tokens_used(self._folder),
            "max_tokens_per_hour": self._settings.max_tokens_per_hour,
            "sandbox": {"provider": "none"},
        }


def _without_prompt(argv: tuple[str, ...]) -> str:
    """The command for people: the prompt, which is long, by its length alone."""
    words = [*argv]
    if "-p" in words and (at := words.index("-p") + 1) < len(words):
        words[at] = f"<prompt of {len(words[at])} characters>"
    return " ".join(words)
