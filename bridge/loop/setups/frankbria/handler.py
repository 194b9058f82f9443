"""What a frankbria loop does around its turns: it asks for its files, for backups, and for a newer CLI."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bridge.base import json_files
from bridge.base.files import delete, make_folder
from bridge.loop.engine.events import IterationStarted, Waiting
from bridge.loop.engine.plan import CONTEXT_LIMIT, whole_characters
from bridge.loop.setups.dot_ralph import files
from bridge.loop.setups.dot_ralph.handler import FolderHandler, keep_stream
from bridge.loop.setups.dot_ralph.state_files import CrashCleared, FolderSetup
from bridge.loop.setups.frankbria.backups import Backups
from bridge.loop.setups.frankbria.layout import missing_parts, read_plan
from bridge.loop.setups.frankbria.policy import FrankbriaOutcome, FrankbriaState
from bridge.loop.setups.frankbria.reading import compound_commands, judged, notification, questions_in
from bridge.loop.setups.frankbria.state_files import FILES, further, lines, reset, status
from bridge.loop.setups.frankbria.versions import NewerVersion
from bridge.loop.turn.tool import TurnRequest
from bridge.scripts.stream.status import find_promise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from bridge.loop.engine.active_run import ActiveRun
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.logs import Level
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.engine.plan import Plan
    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.loop.setups.frankbria.providers import ProviderCommands
    from bridge.loop.setups.frankbria.settings import FrankbriaSettings

_UNANSWERED = (
    "IMPORTANT: You asked questions in the previous loop. Nobody is there to answer: this runs headless."
    " Decide yourself, take the safest default, and go on with the work. "
)


class FrankbriaHandler(FolderHandler[FrankbriaState, FrankbriaOutcome]):
    """The handler of one run of the loop.

    Args:
        reader: the provider adapter that reads the answers; None: we do.
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
        reader: ProviderCommands | None = None,
        version: str = "",
        on_log: Callable[[Level, str], None] = lambda _level, _line: None,
        leaving: Callable[[], bool] = lambda: False,
        now: Callable[[], float] = time.time,
    ) -> None:
        box = "none" if loop.box is None else loop.box.name
        setup = FolderSetup(
            folder=folder,
            settings=settings,
            reset=reset,
            status=status,
            further=partial(further, box),
            names_signals=False,
        )
        super().__init__(setup, loop, own=FILES, lines=lines, now=now, on_log=on_log)
        self.settings = settings
        self._backups = Backups(folder, loop.environment) if settings.backup else None
        self._reader = reader
        self._version = version
        self._newer: NewerVersion | None = None
        self._leaving = leaving
        self._leave = self._at_limit = False

    def open(self, active: ActiveRun) -> Iterable[str]:
        """Make ready; what earlier runs said about being complete is dropped, however they ended."""
        self.store.record(CrashCleared())
        notices = super().open(active)
        if self.settings.auto_update and self._version:
            self._newer = NewerVersion(self._version, self.loop.project)
        return notices

    def close(self) -> None:
        super().close()
        if self._newer is not None:
            self._newer.close()

    def load(self, state: FrankbriaState) -> tuple[FrankbriaState, Iterable[str]]:
        if self._newer is not None and (news := self._newer.news()):
            self.store.log("INFO", news)
        if missing := missing_parts(self.folder.project):
            self._restore_folder()
            return replace(state, missing=missing), ()
        loaded, wrong = super().load(state)
        tokens = files.tokens_used(self.folder, self.store.now())
        return replace(loaded, tokens=tokens, leave=self._leave), wrong

    def read_plan(self) -> Plan | None:
        return read_plan(self.folder.project, self.settings.optional_sections)

    def begin_turn(self, state: FrankbriaState, plan: Plan | None, session: str | None) -> TurnRequest:
        number = state.iteration + 1
        if self._backups is not None:
            self.store.log(*self._backups.keep(number, self.store.now()))
        context = context_of(state, plan)
        return TurnRequest(number, self.loop.prompt, self.new_logs(), context=context, session=session)

    def take_in(self, state: FrankbriaState, turn: Turn) -> FrankbriaOutcome:
        outcome = self.outcome(FrankbriaOutcome, state, turn)
        if outcome.analysis is not None:
            if self._reader is not None:
                outcome = self._read(self._reader, outcome, turn.request.logs.output)
            outcome = self._judged(outcome)
        logs = turn.request.logs
        if turn.command.live and outcome.failure is None:
            keep_stream(turn.result, logs)
        with suppress(FileNotFoundError):
            if logs.stderr is not None and not logs.stderr.stat().st_size:
                delete(logs.stderr, missing=False)
        return self.with_session(outcome, turn)

    def _read(self, reader: ProviderCommands, outcome: FrankbriaOutcome, output: Path) -> FrankbriaOutcome:
        assert outcome.analysis is not None
        analysis, wrong = reader.read(output, outcome.analysis)
        for line in wrong:
            self.store.log("WARN", line)
        promise = self.loop.promise
        return replace(
            outcome,
            analysis=analysis,
            said=outcome.said or bool(analysis.text.strip()),
            exit_signal=analysis.explicit_exit,
            promised=outcome.promised or (promise is not None and find_promise(analysis.text, promise)),
            denied=analysis.has_permission_denials,
        )

    def _judged(self, outcome: FrankbriaOutcome) -> FrankbriaOutcome:
        assert outcome.analysis is not None
        analysis = judged(outcome.analysis)
        compound = compound_commands(analysis.denied_commands, self.settings.allowed_tools)
        denied = analysis.has_permission_denials and not compound
        return replace(
            outcome,
            analysis=replace(analysis, has_permission_denials=denied),
            denied=denied,
            compound=compound,
            questions=questions_in(analysis),
        )

    def stopped(self) -> bool:
        self._leave = self._leave or (self._at_limit and self._leaving())
        return self._leave

    def follow_up(self, event: LoopEvent) -> Iterable[LoopEvent]:
        if isinstance(event, IterationStarted | Waiting):
            self._at_limit = isinstance(event, Waiting) and event.reason == "api_limit"
        self._restore_folder()
        found = notification(event) if self.settings.notifications else None
        return () if found is None else (found,)

    def _restore_folder(self) -> None:
        """The agent may have deleted it."""
        with json_files.usable(self.folder.logs):
            make_folder(self.folder.logs)


def context_of(state: FrankbriaState, plan: Plan | None) -> str:
    """Write what the agent gets beside its prompt: sentences in a settled order, at most 500 characters."""
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
