"""The files of a frankbria project as the loop's store: each written as the loop goes."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge import records
from bridge.files import delete, make_folder
from bridge.loop.outcome import left_session
from bridge.loop.plan import CONTEXT_LIMIT, whole_characters
from bridge.setups.dot_ralph.files import crash, small
from bridge.setups.dot_ralph.store import FolderStore, keep_stream
from bridge.setups.frankbria.backups import Backups
from bridge.setups.frankbria.layout import missing_parts, read_plan
from bridge.setups.frankbria.policy import FrankbriaOutcome, FrankbriaState
from bridge.setups.frankbria.reading import compound_commands, judged, notification, questions_in
from bridge.setups.frankbria.recording import FrankbriaRecorder
from bridge.setups.frankbria.versions import NewerVersion
from bridge.turn.tool import TurnRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.loop.active import ActiveRun
    from bridge.loop.events import LoopEvent
    from bridge.loop.handler import Turn
    from bridge.loop.plan import Plan
    from bridge.loop.runs import RunRecord
    from bridge.loop.settings import LoopSettings
    from bridge.setups.dot_ralph.files.logs import Level
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.frankbria.settings import FrankbriaSettings
    from bridge.stream.analysis import Analysis

_UNANSWERED = (
    "IMPORTANT: You asked questions in the previous loop. Nobody is there to answer: this runs headless."
    " Decide yourself, take the safest default, and go on with the work. "
)


class FrankbriaStore(FolderStore[FrankbriaState, FrankbriaOutcome]):
    """The store of one run of the loop.

    Args:
        folder: the loop's folder.
        settings: of the project.
        loop: the same for the loop.
        version: of claude, or ''.
        on_log: is given each line of ``ralph.log`` with its level.
        leaving: says whether somebody wants no wait for a provider's limit; asked while the loop waits for one.
        now: the time, in seconds since the epoch.
    """

    def __init__(
        self,
        folder: Folder,
        settings: FrankbriaSettings,
        loop: LoopSettings,
        *,
        version: str = "",
        on_log: Callable[[Level, str], None] = lambda _level, _line: None,
        leaving: Callable[[], bool] = lambda: False,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(folder, settings, loop, on_log=on_log, now=now)
        self.settings = settings
        self.writer: FrankbriaRecorder = FrankbriaRecorder(folder, settings, log=self.log)
        self._backups = Backups(folder, loop.environment) if settings.backup else None
        self._version = version
        self._newer: NewerVersion | None = None
        self._leaving = leaving
        self._leave = False

    def open(self, active: ActiveRun) -> Iterable[str]:
        """Make ready, and ask npm for a newer CLI where that is wanted."""
        told = super().open(active)
        if self.settings.auto_update and self._version:
            self._newer = NewerVersion(self._version, self.loop.env or {})
        return told

    def close(self) -> None:
        """Let go of everything."""
        super().close()
        if self._newer is not None:
            self._newer.close()

    def sort_out(self, before: RunRecord | None, now: float) -> tuple[str, ...]:
        """Drop what earlier runs said about being complete, however they ended."""
        small.clear_exit_signals(self.folder)
        records.delete(self.folder / ".response_analysis")
        return crash.sort_out(self.folder, before, now)

    def load(self, state: FrankbriaState) -> tuple[FrankbriaState, Iterable[str]]:
        """Read what others may have changed: counters, signals, breaker, session; and see that all is there."""
        if self._newer is not None and (news := self._newer.news()):
            self.log("INFO", news)
        missing = missing_parts(self.folder.project)
        if missing:
            self._restore_folder()
            return replace(state, missing=missing), ()
        loaded, wrong = super().load(state)
        return replace(loaded, tokens=small.tokens_used(self.folder), leave=self._leave), wrong

    def read_plan(self) -> Plan | None:
        """Read the fix plan."""
        return read_plan(self.folder.project, self.settings.optional_sections)

    def begin_turn(self, state: FrankbriaState, plan: Plan | None, session: str | None) -> TurnRequest:
        """Keep the work tree where that is asked for, name the logs, say what the agent is told."""
        if self._backups is not None:
            self.log(*self._backups.keep(state.iteration + 1, self.now()))
        return TurnRequest(
            state.iteration + 1,
            self.loop.prompt,
            self.new_logs(),
            context=context_of(state, plan),
            session=session,
        )

    def take_in(self, state: FrankbriaState, turn: Turn) -> FrankbriaOutcome:
        """Judge the output, see to the session and the logs."""
        outcome = self.outcome(FrankbriaOutcome, state, turn)
        if outcome.analysis is not None:
            outcome = self._judged(outcome, outcome.analysis)
        files = turn.request.logs
        if turn.command.live and outcome.failure is None:
            keep_stream(turn.result, files)
        with suppress(FileNotFoundError):
            if files.stderr is not None and not files.stderr.stat().st_size:
                delete(files.stderr, missing=False)
        if turn.sessions:
            outcome = replace(outcome, session_id=left_session(outcome, turn.tool, turn.request))
        return outcome

    def _judged(self, outcome: FrankbriaOutcome, analysis: Analysis) -> FrankbriaOutcome:
        analysis = judged(analysis)
        compound = compound_commands(analysis.denied_commands, self.settings.allowed_tools)
        return replace(
            outcome,
            analysis=replace(analysis, has_permission_denials=analysis.has_permission_denials and not compound),
            denied=analysis.has_permission_denials and not compound,
            compound=compound,
            questions=questions_in(analysis),
        )

    def stopped(self) -> bool:
        """Whether somebody wants no wait for a provider's limit."""
        self._leave = self._leave or (self.writer.at_limit and self._leaving())
        return self._leave

    def follow_up(self, event: LoopEvent) -> Iterable[LoopEvent]:
        """Write what follows from an event; the agent may have deleted the folder."""
        self._restore_folder()
        super().follow_up(event)
        said = notification(event) if self.settings.notifications else None
        return () if said is None else (said,)

    def _restore_folder(self) -> None:
        with records.usable(self.folder.logs):
            make_folder(self.folder.logs)


def context_of(state: FrankbriaState, plan: Plan | None) -> str:
    """Write what the agent is told beside its prompt: sentences in a settled order, at most 500 characters."""
    parts = [f"Loop #{state.iteration + 1}. "]
    if plan is not None:
        parts.append(f"Remaining tasks: {plan.total - plan.done + plan.open_optional}. ")
    if state.breaker.state != "CLOSED":
        parts.append(f"Circuit breaker: {state.breaker.state}. ")
    if previous := whole_characters(state.previous, 200):
        parts.append(f"Previous: {previous} ")
    if state.asked:
        parts.append(_UNANSWERED)
    return "".join(parts).replace("\0", "")[:CONTEXT_LIMIT]
