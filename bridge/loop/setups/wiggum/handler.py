"""The files of the outer loop's turns: state, prompt, logs, progress, checkpoints."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE, make_folder, usable, write_atomic
from bridge.errors import BridgeError, ConfigurationError, ProgramNotFound, ProgramNotStarted
from bridge.loop.engine.events import (
    CheckEnded,
    CheckStarted,
    LeftoversEnded,
    LoopEnded,
    LoopEvent,
    LoopInterrupted,
    Notice,
    ReviewTurnEnded,
    ReviewTurnStarted,
)
from bridge.loop.engine.handler import TurnHandler
from bridge.loop.engine.logs import rotate
from bridge.loop.engine.outcome import build_outcome
from bridge.loop.engine.store import Store
from bridge.loop.setups.wiggum import controls, files, turns
from bridge.loop.setups.wiggum.outer import OuterOutcome, OuterState, ending
from bridge.loop.setups.wiggum.policy import Ending, closed
from bridge.loop.setups.wiggum.task import turn_prompt
from bridge.loop.setups.wiggum.transcript import logged_errors
from bridge.loop.turn.logs import bound_logs, new_log
from bridge.loop.turn.tool import TurnLogs, TurnRequest
from bridge.scripts.session_id import validate_session_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.base.git.work import WorkDetector
    from bridge.loop.engine.active_run import ActiveRun
    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Decision
    from bridge.loop.setups.wiggum.files import Layout

_TURN_LOG = re.compile(r"(iteration_\d+(?:-\d+)?)\.(?:log|err)(?:\.gz)?")


class OuterHandler(TurnHandler[OuterState, OuterOutcome]):
    """The handler of one run.

    Args:
        layout: the project; its lock is held.
        probe: tells whether a turn changed files.
        logs_bytes: size of the logs of all turns; 0: any.
        for_agent: the tool is an agent's script.
    """

    def __init__(self, layout: Layout, probe: WorkDetector, *, logs_bytes: int, for_agent: bool) -> None:
        super().__init__(Store(layout.folder))
        self._layout = layout
        self._probe = probe
        self._logs_bytes = logs_bytes
        self._for_agent = for_agent
        self._number = 0
        self._under_way: OuterState | None = None
        self._end_logged = False

    def open(self, _active: ActiveRun) -> Iterable[str]:
        """Say nothing: notices were given when the project's lock was taken."""
        return ()

    def load(self, state: OuterState) -> tuple[OuterState, Iterable[str]]:
        """Note what the turn starts from; one that a provider's limit has ended goes on from where it started."""
        saved, cancelled = state.saved, files.is_cancelled(self._layout)
        if saved.outcome is None and saved.turn is None and not cancelled:
            saved = turns.begin(self._layout, self._probe, saved, datetime.now(UTC))
        return replace(state, saved=saved, cancelled=cancelled), ()

    def begin_turn(self, state: OuterState, _plan: Plan | None, _session: str | None) -> TurnRequest:
        layout, number = self._layout, state.iteration + 1
        self._number = number
        if not state.limits:
            files.log(layout, f"iteration {number} begins")
        text = files.read_text(layout.prompt, root=ANYWHERE)
        if text is None or not text.strip():
            what = "missing" if text is None else "empty"
            raise ConfigurationError(f"{layout.prompt} is {what}\n  next: write it anew")
        with usable(layout.turn_prompt):
            make_folder(layout.folder)
            write_atomic(layout.turn_prompt, turn_prompt(text, state.saved, number))
        files.save(layout, state.saved)
        self._under_way = state
        session_log = self.store.logs / "session.log"
        if self._for_agent:
            with usable(session_log):
                rotate(session_log, max_bytes=files.LOG_BYTES)
        prompt = layout.turn_prompt if self._for_agent else layout.turn_prompt.relative_to(layout.project)
        variables = {"SESSION_LOG": str(session_log)}
        return TurnRequest(number, str(prompt), self._new_logs(number), variables=variables)

    def _new_logs(self, iteration: int) -> TurnLogs:
        logs = self.store.logs
        bound_logs(logs, _TURN_LOG, self._logs_bytes, lambda line: files.log(self._layout, line))
        output = new_log(logs, f"iteration_{iteration:04d}")
        return TurnLogs(output, output.with_suffix(".err"))

    def take_in(self, state: OuterState, turn: Turn) -> OuterOutcome:
        # Whether it was work that was cut off is the probe's to say: there may be no repository.
        seen = build_outcome(OuterOutcome, turn.result, turn.request, now=turn.now)
        text, failure, analysis = turn.result.response, seen.failure, seen.analysis
        if text is None:
            text = (analysis.last_text or analysis.text) if analysis else ""
        elif failure is not None and seen.silent:
            failure = "the agent gave no response"
        errors = logged_errors(turn.request.logs.output)
        excused = seen.timed_out or seen.silent or (analysis is not None and analysis.turns_used_up)
        reply = turns.AgentReply(text, failure, excused, errors)
        facts = turns.take_in(self._layout, self._probe, state.saved, reply)
        with suppress(BridgeError):  # what can't be read holds no items; it is written anew
            facts = replace(facts, recorded=files.load(self._layout))
        session = validate_session_id(analysis.session_id) if analysis else None
        return replace(seen, facts=facts, session_id=session)

    def keep(self, state: OuterState, outcome: OuterOutcome, decision: Decision) -> Iterable[str]:
        if outcome.facts is None or outcome.is_limited:
            return ()
        layout, saved = self._layout, state.saved
        warnings = turns.keep(layout, self._probe, saved, outcome.facts, datetime.now(UTC))
        files.save(layout, saved)
        self._under_way = None
        turns.log_end(layout, saved, outcome.facts)
        self._end_logged = saved.outcome is not None
        if decision.wait:
            waits = f"waiting {decision.wait:.3g} s, {state.failures} failed in a row"
            files.log(layout, f"iteration {state.iteration}: {waits}")
        return (*state.warnings, *warnings)

    def progress(self) -> tuple[int, int] | None:
        items = files.read_plan(self._layout)
        return (len(items.done), items.total) if items.total else None

    def follow_up(self, event: LoopEvent) -> Iterable[LoopEvent]:
        layout, number = self._layout, self._number
        match event:
            case Notice():
                files.log(layout, f"iteration {number}: {event.text}", "WARN")
            case LeftoversEnded() | CheckStarted() | CheckEnded() | ReviewTurnStarted() | ReviewTurnEnded():
                files.log(layout, str(event))
            case LoopInterrupted():
                self._interrupted(event.error)
            case LoopEnded() if layout.state.exists():
                self._ended(event)
        return ()

    def _ended(self, event: LoopEnded) -> None:
        layout, state = self._layout, event.state
        assert isinstance(state, OuterState)
        saved = state.saved
        if saved.outcome is None:  # what the loop itself found: a cap
            saved = closed(saved, event.reason, event.detail, datetime.now(UTC))
        files.finish(layout, saved)
        if event.reason == Ending.CANCELLED:
            files.clear_cancel(layout)
            files.log(layout, f"iteration {event.iterations}: the loop was stopped by hand")
        elif not self._end_logged:
            files.log(
                layout, f"iteration {event.iterations}: the loop ends, {event.reason}: {event.detail}", "WARN"
            )

    def _interrupted(self, error: BaseException | None) -> None:
        layout, number, begun = self._layout, self._number, self._under_way
        if isinstance(error, ProgramNotFound | ProgramNotStarted | ConfigurationError):
            files.log(layout, f"iteration {number} could not begin: {error}", "ERROR")
            if begun is not None:
                files.save(layout, replace(begun.saved, turn=None))  # it never began, so it doesn't count
        elif begun is not None and not isinstance(error, Exception):
            files.log(layout, f"iteration {number} is interrupted; the next start ends it", "WARN")

    def stopped(self) -> bool:
        return files.is_cancelled(self._layout)

    def ended_by(self, error: BaseException) -> Decision | None:
        """Make a signal the end that `wiggum stop --now` asks for; the turn's work is kept."""
        if isinstance(error, SystemExit) and files.is_cancelled(self._layout):
            return ending(controls.close_interrupted(self._layout, self._probe, datetime.now(UTC)))
        return None
