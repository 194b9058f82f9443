"""The files of a loop in a folder without any setup, under ``.ralph/``: session, status, logs and records."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from bridge.files import usable, write_atomic
from bridge.loop.active import ActiveRun
from bridge.loop.decide import State, Verdict
from bridge.loop.events import (
    IterationEnded,
    IterationStarted,
    LoopEnded,
    LoopEvent,
    LoopInterrupted,
    Notice,
    RunProgress,
    Waiting,
)
from bridge.loop.logs import LiveLog, log_line
from bridge.loop.night import night
from bridge.loop.outcome import failure_of
from bridge.loop.plan import Plan, parse_plan
from bridge.loop.ports import RunLogs
from bridge.loop.runs import Pause, sweep
from bridge.loop.turn_logs import bound_logs, logs_of_turns, unused
from bridge.loop.turn_records import TurnRecords
from bridge.session_id import validate_session_id
from bridge.setups.places import other_folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from bridge.loop.logs import Level

__all__ = ["PlainFiles", "PlainStore"]

_LOG_BYTES = 10 * 1024 * 1024
_TURN_LOG = re.compile(r"driver_(?:output|stderr)_(.*)\.log(?:\.gz)?")


class PlainFiles:
    """What lies there, for whoever only looks.

    Args:
        project: the project's folder.
    """

    def __init__(self, project: Path) -> None:
        self.project = project
        self.folder = project / ".ralph"
        self.logs = self.folder / "logs"
        self.session_file = self.folder / ".claude_session_id"
        self.status_file = self.folder / "status.json"

    def read_plan(self) -> Plan | None:
        """Read the fix plan: in ``.ralph/``, else in the project's folder, else None."""
        for folder in (self.folder, self.project):
            with usable("the fix plan"), suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return parse_plan((folder / "@fix_plan.md").read_text("utf-8", "replace"))
        return None

    def read_session(self) -> tuple[str | None, bool]:
        """Return the saved session id, and whether the file holds something that is none."""
        text = ""
        with usable("the session file"), suppress(FileNotFoundError, NotADirectoryError):
            text = self.session_file.read_text("utf-8", "replace").strip()
        if text.startswith("{"):  # what older installations wrote
            with suppress(ValueError):
                record = json.loads(text)
                text = str(record.get("session_id") or record.get("sessionId") or "")
        first = text.splitlines()[0] if text else ""
        found = validate_session_id(first.strip())
        return found, bool(first) and found is None


class PlainStore(PlainFiles):
    """The store of one run of the loop; holds the project's lock from :meth:`begin` to :meth:`end`.

    Args:
        project: the project's folder.
        tool: what it runs, such as ``driver codex``.
        resume: sessions are resumed.
        env: the environment, which says how large logs may be; None: this process's own.

    Raises:
        bridge.errors.ConfigurationError: a variable of the environment is no number.
    """

    def __init__(
        self, project: Path, *, tool: str = "", resume: bool = True, env: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(project)
        self._logs_bytes = night(os.environ if env is None else env).turn_logs_bytes
        self._resume = resume
        self._held = ExitStack()
        self._live = LiveLog(self.folder / "live.log")
        self._run = ActiveRun(
            self.folder,
            project,
            command=sys.argv,
            tool=tool,
            others=other_folders(self.folder, project),
        )
        self._records: TurnRecords | None = None
        self._tool = tool

    def begin(self) -> Iterable[str]:
        """Take the lock, end what a killed loop has left, open the records."""
        with usable("the folder for logs"):
            self.logs.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            run = stack.enter_context(self._run)
            sweep(self.folder, self.logs)
            self._records = TurnRecords(self.logs, run_id=run.run_id, tool=self._tool)
            for line in run.notices:
                self.log("WARN", line)
            self.log("INFO", f"The loop begins: {self._tool}")
            self._held = stack.pop_all()
        return run.notices

    def load(self, state: State) -> tuple[State, Iterable[str]]:
        """Read the session, if there is one to resume."""
        self._run.renew()
        if state.iteration or not self._resume:
            return state, ()
        found, spoiled = self.read_session()
        wrong = f"{self.session_file} holds no session id; a new session is started"
        return replace(state, session_id=found), (wrong,) if spoiled else ()

    def new_logs(self, iteration: int) -> RunLogs:
        """Return log paths that no earlier turn has used; keep all of them together within their bound."""
        turns = logs_of_turns(self.logs, _TURN_LOG)
        bound_logs(turns, max_bytes=self._logs_bytes, say=lambda line: self.log("INFO", line))
        stamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        name = f"{iteration}_{stamp}"
        number = 1
        while not unused(self.logs / f"driver_output_{name}.log"):
            number += 1
            name = f"{iteration}_{stamp}-{number}"
        return RunLogs(self.logs / f"driver_output_{name}.log", self.logs / f"driver_stderr_{name}.log")

    def agent(self, pid: int | None) -> None:
        """Note the tool's process, so that the next run can end it should this one be killed."""
        self._run.program(pid)

    def show(self, data: bytes) -> None:
        """Append to ``live.log``, which ``watch`` follows."""
        self._live.write(data)

    def record(self, event: LoopEvent) -> None:
        """Write the status, the record of the turn, and the session for the next run."""
        match event:
            case IterationStarted():
                self._run.turn(event.iteration)
                self._live.begin(f"Turn {event.iteration}")
                self.write_status(event.iteration, "executing", "running")
            case RunProgress():
                self._run.renew()
            case IterationEnded():
                self._ended_turn(event)
            case Waiting():
                if event.reason != "pause":
                    self._run.waiting(Pause(event.reason, event.detail, event.until.timestamp()))
                if event.first and event.reason in ("api_limit", "rate_limit"):
                    self.write_status(event.iteration, event.reason, "paused")
            case Notice():
                self.log("WARN", event.text)
            case LoopEnded():
                complete = event.verdict is Verdict.COMPLETE
                if complete:
                    self.save_session(None)  # the next loop is about something else
                self.log("SUCCESS" if complete else "ERROR", f"The loop has ended: {event.reason}: {event.detail}")
                self._run.over(event.reason)
                action = "graceful_exit" if complete else event.reason
                status = "completed" if complete else "halted"
                self.write_status(event.iterations, action, status, event.reason)
            case LoopInterrupted():
                self.log("ERROR", f"The loop has ended: {event.action} ({event.reason})")
                if self._records is not None and event.turn is not None:
                    self._records.write(event.turn)
                if event.action == "interrupted":
                    self._run.over(event.reason)
                self.write_status(event.iteration, event.action, "stopped", event.reason)

    def end(self) -> None:
        """Let go of the project."""
        self._live.close()
        try:
            if groups := self._run.end_leftovers():
                counted = f"{groups} process group{'s' * (groups > 1)}"
                self.log("INFO", f"What the tool had left running was ended: {counted}")
        finally:
            self._held.close()

    def log(self, level: Level, message: str) -> None:
        """Write one line to the loop's log."""
        log_line(self.logs / "ralph.log", level, message, time.time(), max_bytes=_LOG_BYTES)

    def _ended_turn(self, event: IterationEnded) -> None:
        self._live.close()
        failure = failure_of(event.outcome)
        if event.sessions:
            self.save_session(event.state.session_id)
        if self._records is not None and event.turn is not None:
            self._records.write(event.turn)
        took = f"turn {event.iteration} took {event.seconds:.0f} s"
        self.log("ERROR" if failure else "INFO", f"{took}: {failure or 'done'}")
        word = ("failed", "running") if failure else ("completed", "success")
        self.write_status(event.iteration, *word)

    def save_session(self, session_id: str | None) -> None:
        """Save the session for the next run, or forget it."""
        with usable("the session file"):
            if session_id is None:
                self.session_file.unlink(missing_ok=True)
            else:
                write_atomic(self.session_file, session_id + "\n")

    def write_status(self, loop_count: int, last_action: str, status: str, exit_reason: str = "") -> None:
        """Write ``status.json``, which dashboards and `ralph-bridge status` read."""
        record = {
            "timestamp": datetime.now().astimezone().isoformat(timespec="seconds"),
            "loop_count": loop_count,
            "last_action": last_action,
            "status": status,
            "exit_reason": exit_reason,
        }
        with usable("the status file"):
            write_atomic(self.status_file, json.dumps(record, indent=2) + "\n")
