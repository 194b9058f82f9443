"""The files of a bmalph project as the engine's store: each written as the loop goes."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge import records, stamps
from bridge.loop.active import ActiveRun
from bridge.loop.events import (
    DenialHelp,
    IterationEnded,
    IterationStarted,
    LoopEnded,
    LoopInterrupted,
    Notice,
    ReviewEnded,
    RunProgress,
    Waiting,
)
from bridge.loop.logs import LiveLog
from bridge.loop.plan import Plan, parse_plan
from bridge.loop.ports import RunLogs
from bridge.loop.runs import Pause
from bridge.loop.turn_logs import MB
from bridge.loop.turn_records import TurnRecords
from bridge.setups.bmalph.files import breaker, counters, crash, logs, results, sessions, status
from bridge.setups.bmalph.layout import fix_plan
from bridge.setups.bmalph.recording import Recorder
from bridge.setups.places import other_folders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bridge.loop.decide import State
    from bridge.loop.events import LoopEvent
    from bridge.loop.turn_records import TurnRecord
    from bridge.setups.bmalph.files.logs import Level
    from bridge.setups.bmalph.folder import Folder
    from bridge.setups.bmalph.settings import Settings

__all__ = ["BmalphStore"]


class BmalphStore:
    """The store of one run of the loop; holds the project's lock from :meth:`begin` to :meth:`end`.

    Args:
        folder: the loop's folder.
        settings: of the project.
        driver: name of the driver, for metrics.
        command: the command line of this process, for whoever finds the project locked.
        live: runs are live: the whole stream is kept beside the output.
        on_log: is given each line of ``ralph.log`` with its level.
        now: the time, in seconds since the epoch.
    """

    def __init__(
        self,
        folder: Folder,
        settings: Settings,
        *,
        driver: str,
        command: Sequence[str],
        live: bool = False,
        on_log: Callable[[Level, str], None] = lambda _level, _line: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self.settings = settings
        self._live = live
        self._on_log = on_log
        self._now = now
        self._held = ExitStack()
        self._live_log = LiveLog(folder / "live.log", now=now)
        self._run = ActiveRun(
            folder.path,
            folder.project,
            command=command,
            tool=f"driver {driver}",
            others=other_folders(folder.path, folder.project),
            now=now,
        )
        self._recorder = Recorder(folder, settings, driver=driver, started=stamps.iso(now()), log=self.log)

    # -- the engine's questions ----------------------------------------------------------------------

    def begin(self) -> Iterable[str]:
        """Take the lock, sort what a crashed run left, end its agents, start the session."""
        with records.usable(self.folder.logs):
            self.folder.logs.mkdir(parents=True, exist_ok=True)
        run = self._held.enter_context(self._run)
        now = self._now()
        sorted_out = crash.sort_out(self.folder, run.before, now)
        sessions.start_session(self.folder, now)
        logs.prune_run_logs(self.folder, self.settings.run_logs_keep)
        for line in self.settings.notices:  # said on stderr already, where a dashboard's user never looks
            self._write_log("WARN", line)
        for line in (*run.notices, *sorted_out):
            self.log("INFO", line)
        return (*run.notices, *sorted_out)

    def load(self, state: State) -> tuple[State, Iterable[str]]:
        """Read what others may have changed: counters, signals, breaker, session, results of the loop before."""
        folder, now = self.folder, self._now()
        self._run.renew()
        sessions.touch_session(folder, now)
        counters.reset_calls(folder, now)
        if not (folder / ".exit_signals").exists():
            counters.clear_exit_signals(folder)
        circuit = breaker.load(folder, now)
        if not (folder / breaker.FILE).exists() or breaker.is_corrupt(folder):
            breaker.save(folder, circuit)
        if not isinstance(records.read_json(folder / breaker.HISTORY), list):
            breaker.save_history(folder, [])
        resumed = sessions.Resume(None)
        if self.settings.session_continuity:
            resumed = sessions.resume_id(folder, expiry_hours=self.settings.session_expiry_hours, now=now)
        analysis = results.read_analysis(folder)
        findings = results.read_findings(folder)
        wrong = [f"the session is not resumed: {resumed.dropped}"] if resumed.dropped else []
        for line in wrong:
            self.log("WARN", line)
        loaded = replace(
            state,
            session_id=resumed.session_id,
            signals=counters.read_exit_signals(folder),
            exit_signal=analysis.get("exit_signal") is True,
            breaker=circuit,
            calls=counters.read_calls(folder),
            previous=str(analysis.get("work_summary") or ""),
            changed=counters.read_diff_summary(folder),
            findings=records.to_json(findings, compact=True) if findings else None,
            output_length=records.read_number(folder / ".last_output_length"),
        )
        return loaded, wrong

    def read_plan(self) -> Plan | None:
        """Read the fix plan."""
        path = fix_plan(self.folder)
        text = records.read_text(path) if path else None
        return None if text is None else parse_plan(text)

    def new_logs(self, iteration: int) -> RunLogs:  # noqa: ARG002
        """Return the names of a run's logs, which carry the time; keep those of all runs within their bound."""
        most = int(self.settings.turn_logs_mb * MB)
        logs.bound_run_logs(self.folder, most, lambda line: self.log("INFO", line))
        made = logs.new_run_logs(self.folder, self._now())
        return RunLogs(made.output, made.stderr, made.stream if self._live else None)

    # -- what the engine tells -----------------------------------------------------------------------

    def agent(self, pid: int | None) -> None:
        """Note the agent's process, so that the next run can end it should this one be killed."""
        self._run.program(pid)

    def show(self, data: bytes) -> None:
        """Append to ``live.log``."""
        self._live_log.write(data)

    def record(self, event: LoopEvent) -> None:
        """Write what follows from an event."""
        now = self._now()
        match event:
            case IterationStarted():
                self._run.turn(event.iteration)
                self._live_log.begin(f"Loop #{event.iteration}")
                self._recorder.started_run(event, now)
            case RunProgress():
                self._run.renew()
                status.write_running(
                    self.folder, poll=event.count, elapsed=event.elapsed, last_line=event.last_line, now=now
                )
                if self.settings.verbose:
                    self.log("INFO", f"{int(event.elapsed)} s: {event.tool or event.last_line}"[:300])
            case IterationEnded():
                self._live_log.close()
                self._recorder.ended_run(event, now)
                self._keep(event.turn)
            case DenialHelp():  # on a terminal it is shown as it is
                for line in filter(None, event.text.split("\n")):
                    self._write_log("WARN", line)
            case Waiting():
                self._run.waiting(Pause(event.reason, event.detail, event.until.timestamp()))
                self._recorder.waiting(event, now)
            case ReviewEnded():
                self._recorder.reviewed(event)
            case Notice():
                self.log("WARN", event.text)
            case LoopEnded():
                self._run.over(event.reason)
                self._recorder.ended(event, now)
            case LoopInterrupted():
                self._live_log.close()
                if event.action == "interrupted":
                    self._run.over(event.reason)
                self._recorder.interrupted(event, now)
                self._keep(event.turn)

    def end(self) -> None:
        """Let go of the project."""
        self._live_log.close()
        try:
            if groups := self._run.end_leftovers():
                counted = f"{groups} process group{'s' * (groups > 1)}"
                self.log("INFO", f"What the agent had left running was ended: {counted}")
        finally:
            self._held.close()

    def _keep(self, turn: TurnRecord | None) -> None:
        if turn is not None:
            TurnRecords(self.folder.logs, run_id=self._run.run_id, tool=self._run.tool).write(turn)

    def log(self, level: Level, message: str) -> None:
        """Write one line to ``ralph.log``, and pass it on."""
        self._on_log(level, self._write_log(level, message))

    def _write_log(self, level: Level, message: str) -> str:
        most = self.settings.log_max_mb * 1024 * 1024
        return logs.log(self.folder, level, message, self._now(), max_bytes=most, keep=self.settings.log_keep)


def command_line() -> list[str]:
    """Return the command line of this process, for people."""
    import sys

    return [os.path.basename(sys.argv[0] or "ralph-bridge"), *sys.argv[1:]]
