"""What the handlers of both loops in ``.ralph`` do alike: reading, logs, the lines of ``ralph.log``."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from bridge.base import json_files, timestamps
from bridge.base.files import link, move, open_file, write_atomic
from bridge.base.wording import plural
from bridge.loop.engine.events import (
    CheckEnded,
    CheckStarted,
    DenialHelp,
    IterationEnded,
    IterationStarted,
    LeftoversEnded,
    LoopEnded,
    LoopEvent,
    LoopInterrupted,
    MessageGiven,
    Notice,
    ReviewTurnEnded,
    ReviewTurnStarted,
    RunProgress,
    SessionRotated,
    ToolChanged,
    Waiting,
)
from bridge.loop.engine.handler import TurnHandler
from bridge.loop.engine.inbox import PAUSED
from bridge.loop.engine.logs import Level
from bridge.loop.engine.outcome import Outcome, build_outcome, left_session
from bridge.loop.engine.policy import LIMITS, Verdict
from bridge.loop.engine.store import Facts, LoopLog, Store
from bridge.loop.setups.dot_ralph import breaker_files, files, session_files
from bridge.loop.setups.dot_ralph.policy import FolderState
from bridge.loop.setups.dot_ralph.session_files import session_dropped
from bridge.loop.setups.dot_ralph.state_files import (
    FIRST,
    LAST,
    CrashCleared,
    calls_of,
    exit_code,
    exit_label,
)
from bridge.loop.turn.logs import MB, bound_logs, new_log
from bridge.loop.turn.tool import TurnLogs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.loop.engine.active_run import ActiveRun
    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.engine.store import StateFile
    from bridge.loop.setups.dot_ralph.state_files import FolderSetup
    from bridge.loop.turn.tool import TurnResult


Lines = Iterator[tuple[Level, str]]
S = TypeVar("S", bound=FolderState)
O = TypeVar("O", bound=Outcome)  # noqa: E741
DONE = "Ralph has completed the project"


class FolderHandler(TurnHandler[S, O], Generic[S, O]):
    """The handler of a loop whose files lie in ``.ralph``.

    Args:
        setup: what its documents are made from.
        own: the state files that only this loop has.
        lines: of its log.
        now: the time, in seconds since the epoch.
        on_log: is given each line of ``ralph.log`` with its level.
    """

    def __init__(
        self,
        setup: FolderSetup,
        loop: LoopSettings,
        *,
        own: Sequence[StateFile],
        lines: Callable[[Facts], Lines],
        now: Callable[[], float] = time.time,
        on_log: Callable[[Level, str], None] = lambda _level, _line: None,
    ) -> None:
        assert setup.settings is not None
        self.folder, self.common, self.loop = setup.folder, setup.settings, loop
        log = LoopLog(lines=lines, most=self.common.log_max_mb * MB, kept=self.common.log_keep)
        table = (*FIRST, *own, *LAST)
        super().__init__(
            Store(self.folder.path, table, setup=setup, log=log, live="Loop #{}", now=now, on_log=on_log)
        )

    def open(self, active: ActiveRun) -> Iterable[str]:
        notices = active.notices
        if active.before is None or active.before.end is None:
            if files.read_exit_signals(self.folder):
                run = f"run {active.before.run_id}, which" if active.before else "a run that"
                notices = (*notices, f"exit signals of {run} did not end in order are dropped")
            self.store.record(CrashCleared())
        files.prune_run_logs(self.folder, self.common.run_logs_keep)
        for line in self.common.notices:  # on stderr already, where a dashboard's user never looks
            self.store.log("WARN", line, quiet=True)
        for line in notices:
            self.store.log("INFO", line)
        return notices

    def load(self, state: S) -> tuple[S, Iterable[str]]:
        folder, now = self.folder, self.store.now()
        resumed = session_files.Resume(None)
        if self.common.session_continuity:
            resumed = session_files.resume_id(folder, expiry_hours=self.common.session_expiry_hours, now=now)
        analysis = files.read_analysis(folder)
        loaded = replace(
            state,
            session_id=resumed.session_id,
            signals=files.read_exit_signals(folder),
            exit_signal=analysis.get("exit_signal") is True,
            breaker=breaker_files.load(folder, now),
            calls=files.read_calls(folder),
            previous=str(analysis.get("work_summary") or ""),
            output_length=json_files.read_number(folder / ".last_output_length"),
        )
        return loaded, (f"the session is not resumed: {resumed.dropped}",) if resumed.dropped else ()

    def outcome(self, kind: type[O], state: S, turn: Turn) -> O:
        """Say what a turn came to, as far as its output, git and the plan show."""
        return build_outcome(
            kind,
            turn.result,
            turn.request,
            now=turn.now,
            changes=turn.changes,
            plans=(turn.plan, self.read_plan()),
            promise=self.loop.promise,
            last_length=state.output_length,
        )

    def with_session(self, outcome: O, turn: Turn) -> O:
        """Add the session that the turn has left."""
        left = left_session(outcome, turn.tool, turn.request) if turn.sessions else outcome.session_id
        return replace(outcome, session_id=left)

    def new_logs(self) -> TurnLogs:
        """Keep the logs of all turns within their bound; name this one's, which carry the time."""
        folder, most = self.folder.logs, int(self.common.turn_logs_mb * MB)
        bound_logs(folder, files.RUN_LOG, most, lambda line: self.store.log("INFO", line))
        output = new_log(folder, f"claude_output_{timestamps.file_name(self.store.now())}")
        stderr = output.with_name(output.name.replace("output", "stderr", 1))
        return TurnLogs(output, stderr, output.with_name(f"{output.stem}_stream.log") if self.loop.live else None)


def keep_stream(result: TurnResult, logs: TurnLogs) -> None:
    """The whole stream of a live turn goes to a file of its own, and its result takes its place."""
    if logs.stream is None:
        return
    with suppress(FileNotFoundError):  # the agent has tidied up
        if result.result is not None:
            move(logs.output, logs.stream)
            write_atomic(logs.output, result.result)
            return
        try:
            link(logs.output, logs.stream)
        except OSError:  # a file system without links
            with open_file(logs.output) as source, open_file(logs.stream, "wb") as target:
                shutil.copyfileobj(source, target)


# -- the lines of ralph.log ----------------------------------------------------------------------------


def _started(facts: Facts) -> Lines:
    event, most = facts.event, facts.setup.settings.timeout_minutes
    if facts.state.transition is not None:  # a cooldown is over
        yield "INFO", f"Circuit breaker: {facts.state.breaker.reason}"
    yield "LOOP", f"=== Starting Loop #{event.iteration} ==="
    resumes = f", resumes session {event.session_id}" if event.session_id else ""
    limit = f"timeout {most} min" if most else "no timeout"
    if event.argv:
        yield "INFO", f"Calling the agent ({limit}{resumes})"


def _progress(facts: Facts) -> Lines:
    event = facts.event
    if facts.setup.settings.verbose:
        yield "INFO", f"{int(event.elapsed)} s: {event.tool or event.last_line}"[:300]


def _waiting(facts: Facts) -> Lines:
    event = facts.event
    if event.first and event.reason in (*LIMITS, "retry", PAUSED):
        until = event.until.strftime("%Y-%m-%d %H:%M:%S")
        yield "WARN", f"Waiting until {until} ({event.reason}): {event.detail}"


def _completed(facts: Facts) -> Lines:
    event = facts.event
    if event.verdict is Verdict.COMPLETE:
        yield "SUCCESS", f"{DONE}: {event.reason}"
        yield "INFO", f"Loops: {event.iterations}, calls in this hour: {calls_of(facts).count}"
        yield "INFO", f"Why: {event.detail}"


def _interrupted(facts: Facts) -> Lines:
    event = facts.event
    if event.action == "interrupted":
        yield "INFO", f"Interrupted ({event.reason}); the agent has been ended"
        return
    error = "" if event.error is None else str(event.error)
    yield "ERROR", f"Unexpected end: {error.splitlines()[0] if error else event.reason}"


def _over(facts: Facts) -> Lines:
    event, state = facts.event, facts.state
    outcome = event.outcome
    if session_dropped(event) and not (event.turn is not None and event.turn.rotated):
        why = event.decision.detail if outcome.failure else "the turn gave no session id"
        yield "WARN", f"Session {event.session_id} is dropped: {why}"
    if event.decision.reason != "api_limit" and (moved := state.transition) is not None:
        yield "WARN", f"Circuit breaker: {moved.from_state} -> {moved.to_state}: {moved.reason}"
    changed = f"{plural(outcome.files_changed, 'file')} changed"
    if event.decision.reason == "api_limit":
        yield "WARN", f"API limit: {event.decision.detail}"
    elif outcome.failure is not None:
        code = exit_code(event)
        label = "write timeout" if outcome.idle else exit_label(code) if code else "failed"
        log = facts.setup.folder.name_of(event.log)
        yield "ERROR", f"Run {label}: {outcome.failure}; {changed}; its output: {log}"
        text = json_files.read_text(event.stderr) if event.stderr is not None else None
        for line in [line for line in (text or "").splitlines() if line.strip()][-3:]:
            yield "ERROR", f"  stderr: {line}"
    elif outcome.denied:
        yield "WARN", f"Permission denied for {outcome.refused_tools}; {changed}"
    else:
        ran_out = " (it ran out of time, with work done)" if outcome.productive else ""
        yield "SUCCESS", f"Completed Loop #{event.iteration}: {changed} in {event.seconds:.0f} s{ran_out}"


_LINES: dict[type[LoopEvent], Callable[[Facts], Iterable[tuple[Level, str]]]] = {
    IterationStarted: _started,
    IterationEnded: _over,
    RunProgress: _progress,
    Waiting: _waiting,
    DenialHelp: lambda facts: (("WARN", line) for line in facts.event.text.split("\n") if line),
    **dict.fromkeys(
        (Notice, ToolChanged, MessageGiven, SessionRotated), lambda facts: (("WARN", facts.event.text),)
    ),
    **dict.fromkeys((CheckStarted, ReviewTurnStarted), lambda facts: (("INFO", str(facts.event)),)),
    ReviewTurnEnded: lambda facts: (
        ("WARN" if facts.event.opinion.findings != () else "SUCCESS", str(facts.event)),
    ),
    CheckEnded: lambda facts: (("WARN" if facts.event.checked.why else "SUCCESS", str(facts.event)),),
    LeftoversEnded: lambda facts: (("INFO", str(facts.event)),),
    LoopEnded: _completed,
    LoopInterrupted: _interrupted,
}


def lines(facts: Facts) -> Lines:
    """Give those that both loops write about an event."""
    if (found := _LINES.get(type(facts.event))) is not None:
        yield from found(facts)
