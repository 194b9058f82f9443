"""The files of a project that the loop reads and writes, under ``.ralph/``."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from bridge.files import usable, write_atomic
from bridge.loop.decide import State, Verdict
from bridge.loop.events import IterationEnded, IterationStarted, LoopEnded, LoopEvent, LoopInterrupted, Waiting
from bridge.loop.outcome import failure_of
from bridge.loop.plan import Plan, parse_plan
from bridge.loop.ports import RunLogs
from bridge.session_id import validate_session_id

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["ProjectFiles"]


class ProjectFiles:
    """The store of a folder without any setup: a session, a status, the logs of each run.

    Args:
        project: the project's folder.
        resume: sessions are resumed.
    """

    def __init__(self, project: Path, *, resume: bool = True) -> None:
        self.project = project
        self._resume = resume
        self.folder = project / ".ralph"
        self.logs = self.folder / "logs"
        self.session_file = self.folder / ".claude_session_id"
        self.status_file = self.folder / "status.json"

    def begin(self) -> Iterable[str]:
        """Create the folders that are missing."""
        with usable("the folder for logs"):
            self.logs.mkdir(parents=True, exist_ok=True)
        return ()

    def load(self, state: State) -> tuple[State, Iterable[str]]:
        """Read the session, if there is one to resume."""
        if state.iteration or not self._resume:
            return state, ()
        found, spoiled = self.read_session()
        wrong = f"{self.session_file} holds no session id; a new session is started"
        return replace(state, session_id=found), (wrong,) if spoiled else ()

    def new_logs(self, iteration: int) -> RunLogs:
        """Return log paths that no earlier run has used."""
        stamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        name = f"{iteration}_{stamp}"
        number = 1
        while (self.logs / f"driver_output_{name}.log").exists():
            number += 1
            name = f"{iteration}_{stamp}-{number}"
        return RunLogs(self.logs / f"driver_output_{name}.log", self.logs / f"driver_stderr_{name}.log")

    def agent(self, pid: int | None) -> None:
        """Note nothing: the guardian sees to it."""

    def show(self, data: bytes) -> None:
        """Keep nothing: the logs have it."""

    def record(self, event: LoopEvent) -> None:
        """Write the status, and the session for the next run."""
        match event:
            case IterationStarted():
                self.write_status(event.iteration, "executing", "running")
            case IterationEnded():
                failed = failure_of(event.outcome) is not None
                if event.sessions:
                    self.save_session(event.state.session_id)
                self.write_status(
                    event.iteration, "failed" if failed else "completed", "running" if failed else "success"
                )
            case Waiting() if event.first and event.reason in ("api_limit", "rate_limit"):
                self.write_status(event.iteration, event.reason, "paused")
            case LoopEnded():
                complete = event.verdict is Verdict.COMPLETE
                if complete:
                    self.save_session(None)  # the next loop is about something else
                action = "graceful_exit" if complete else event.reason
                status = "completed" if complete else "halted"
                self.write_status(event.iterations, action, status, event.reason)
            case LoopInterrupted():
                self.write_status(event.iteration, event.action, "stopped", event.reason)

    def end(self) -> None:
        """Let go of nothing."""

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
