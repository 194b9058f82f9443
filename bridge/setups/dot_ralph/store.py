"""What the stores of both loops do alike: logs, and who is told of which event."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from bridge import records
from bridge.files import link, make_folder, move, open_file, write_atomic
from bridge.loop.events import (
    DenialHelp,
    IterationEnded,
    IterationStarted,
    LeftoversEnded,
    LoopEnded,
    LoopInterrupted,
    Notice,
    RunProgress,
    Waiting,
)
from bridge.loop.handler import TurnHandler
from bridge.loop.logs import LiveLog
from bridge.loop.outcome import Outcome, build_outcome
from bridge.loop.store import Store
from bridge.setups.dot_ralph.files import breaker, crash, logs, sessions, small, status
from bridge.setups.dot_ralph.policy import FolderState
from bridge.turn.logs import MB
from bridge.turn.tool import TurnLogs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from bridge.loop.active import ActiveRun
    from bridge.loop.events import LoopEvent
    from bridge.loop.handler import Turn
    from bridge.loop.runs import RunRecord
    from bridge.loop.settings import LoopSettings
    from bridge.setups.dot_ralph.common import CommonSettings
    from bridge.setups.dot_ralph.files.logs import Level
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.dot_ralph.recording import FolderRecorder
    from bridge.turn.tool import TurnResult

S = TypeVar("S", bound=FolderState)
O = TypeVar("O", bound=Outcome)  # noqa: E741


class FolderStore(TurnHandler[S, O], Generic[S, O]):
    """The store of one run of a loop whose files lie in ``.ralph``.

    Args:
        folder: the loop's folder.
        settings: of the project.
        loop: the same for the loop.
        on_log: is given each line of ``ralph.log`` with its level.
        now: the time, in seconds since the epoch.
    """

    writer: FolderRecorder

    def __init__(
        self,
        folder: Folder,
        settings: CommonSettings,
        loop: LoopSettings,
        *,
        on_log: Callable[[Level, str], None] = lambda _level, _line: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(Store(folder.path))
        self.folder = folder
        self.common = settings
        self.loop = loop
        self.now = now
        self._on_log = on_log
        self._live_log = LiveLog(folder / "live.log", now=now)

    @property
    def logs(self) -> Path:
        """The folder of the logs."""
        return self.folder.logs

    def open(self, active: ActiveRun) -> Iterable[str]:
        """Sort what a crashed run left, start the session."""
        with records.usable(self.folder.logs):
            make_folder(self.folder.logs)
        now = self.now()
        sorted_out = self.sort_out(active.before, now)
        sessions.start_session(self.folder, now)
        logs.prune_run_logs(self.folder, self.common.run_logs_keep)
        for line in self.common.notices:  # said on stderr already, where a dashboard's user never looks
            self.write_log("WARN", line)
        for line in (*active.notices, *sorted_out):
            self.log("INFO", line)
        return (*active.notices, *sorted_out)

    def sort_out(self, before: RunRecord | None, now: float) -> tuple[str, ...]:
        """Sort what the run before has left; return what people should be told."""
        return crash.sort_out(self.folder, before, now)

    def load(self, state: S) -> tuple[S, Iterable[str]]:
        """Read what others may have changed: counters, signals, breaker, session, results of the loop before."""
        folder, now = self.folder, self.now()
        sessions.touch_session(folder, now)
        small.reset_calls(folder, now)
        if not (folder / ".exit_signals").exists():
            small.clear_exit_signals(folder)
        circuit = breaker.load(folder, now)
        if not (folder / breaker.FILE).exists() or breaker.is_corrupt(folder):
            breaker.save(folder, circuit)
        if not isinstance(records.read_json(folder / breaker.HISTORY), list):
            breaker.save_history(folder, [])
        resumed = sessions.Resume(None)
        if self.common.session_continuity:
            resumed = sessions.resume_id(folder, expiry_hours=self.common.session_expiry_hours, now=now)
        wrong = [f"the session is not resumed: {resumed.dropped}"] if resumed.dropped else []
        for line in wrong:
            self.log("WARN", line)
        analysis = small.read_analysis(folder)
        loaded = replace(
            state,
            session_id=resumed.session_id,
            signals=small.read_exit_signals(folder),
            exit_signal=analysis.get("exit_signal") is True,
            breaker=circuit,
            calls=small.read_calls(folder),
            previous=str(analysis.get("work_summary") or ""),
            output_length=records.read_number(folder / ".last_output_length"),
        )
        return loaded, wrong

    def outcome(self, kind: type[O], state: S, turn: Turn) -> O:
        """Say what a turn came to, as far as its output, git and the plan tell."""
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

    def new_logs(self) -> TurnLogs:
        """Keep the logs of all turns within their bound; name this one's, which carry the time."""
        most = int(self.common.turn_logs_mb * MB)
        logs.bound_run_logs(self.folder, most, lambda line: self.log("INFO", line))
        made = logs.new_run_logs(self.folder, self.now())
        return TurnLogs(made.output, made.stderr, made.stream if self.loop.live else None)

    def show(self, data: bytes) -> None:
        """Append to ``live.log``."""
        self._live_log.write(data)

    def follow_up(self, event: LoopEvent) -> Iterable[LoopEvent]:
        """Write what follows from an event."""
        now = self.now()
        match event:
            case IterationStarted():
                self._live_log.begin(f"Loop #{event.iteration}")
                self.writer.started_run(event, now)
            case IterationEnded():
                self._live_log.close()
                self.writer.ended_run(event, now)
            case Waiting():
                self.writer.waiting(event, now)
            case LoopEnded():
                self.writer.ended(event, now)
            case LoopInterrupted():
                self._live_log.close()
                self.writer.interrupted(event, now)
            case _:
                self._log_event(event, now)
        return ()

    def _log_event(self, event: LoopEvent, now: float) -> None:
        """Write what only the log, or who watches, wants to know."""
        match event:
            case RunProgress():
                status.write_running(
                    self.folder, poll=event.count, elapsed=event.elapsed, last_line=event.last_line, now=now
                )
                if self.common.verbose:
                    self.log("INFO", f"{int(event.elapsed)} s: {event.tool or event.last_line}"[:300])
            case DenialHelp():  # on a terminal it is shown as it is
                for line in filter(None, event.text.split("\n")):
                    self.write_log("WARN", line)
            case Notice():
                self.log("WARN", event.text)
            case LeftoversEnded():
                self.log("INFO", str(event))

    def close(self) -> None:
        """Let go of the log that people watch."""
        self._live_log.close()

    def log(self, level: Level, message: str) -> None:
        """Write one line to ``ralph.log``, and pass it on."""
        self._on_log(level, self.write_log(level, message))

    def write_log(self, level: Level, message: str) -> str:
        """Write one line to ``ralph.log``, and return it."""
        most = self.common.log_max_mb * 1024 * 1024
        return logs.log(self.folder, level, message, self.now(), max_bytes=most, keep=self.common.log_keep)


def keep_stream(result: TurnResult, files: TurnLogs) -> None:
    """The whole stream of a live turn goes to a file of its own, and its result takes its place."""
    if files.stream is None:
        return
    with suppress(FileNotFoundError):  # the agent has tidied up
        if result.result is not None:
            move(files.output, files.stream)
            write_atomic(files.output, result.result)
            return
        try:
            link(files.output, files.stream)
        except OSError:  # a file system without links
            with open_file(files.output) as source, open_file(files.stream, "wb") as target:
                shutil.copyfileobj(source, target)
