"""The files of a loop in a folder without any setup, under ``.ralph/``: session, status and logs."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from bridge.errors import ProjectUnusable
from bridge.files import ANYWHERE, confine, delete, make_folder, read_bytes, usable, write_atomic
from bridge.loop.context import context_for
from bridge.loop.events import (
    IterationEnded,
    IterationStarted,
    LeftoversEnded,
    LoopEnded,
    LoopEvent,
    LoopInterrupted,
    Notice,
    Waiting,
)
from bridge.loop.logs import LiveLog, log_line
from bridge.loop.outcome import Outcome, build_outcome, left_session
from bridge.loop.plan import Plan, parse_plan
from bridge.loop.policy import LIMITS, LoopState, Verdict
from bridge.loop.runs import sweep
from bridge.loop.store import Store
from bridge.session_id import validate_session_id
from bridge.turn.logs import bound_logs, logs_of_turns, unused
from bridge.turn.tool import TurnLogs, TurnRequest, first_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bridge.loop.active import ActiveRun
    from bridge.loop.logs import Level
    from bridge.loop.store import LoopSettings, Turn

_LOG_BYTES = 10 * 1024 * 1024
_TURN_LOG = re.compile(r"driver_(?:output|stderr)_(.*)\.log(?:\.gz)?")


class PlainFiles:
    """What lies there, for whoever only looks.

    Args:
        project: the project's folder.
        folder: of the loop's state, relative to it.
        plan: name of the fix plan in either.
    """

    def __init__(self, project: Path, *, folder: str = ".ralph", plan: str = "@fix_plan.md") -> None:
        confine(project)
        self.project = project
        self.folder = project / folder
        self.plan = plan
        self.logs = self.folder / "logs"
        self.session_file = self.folder / ".claude_session_id"
        self.status_file = self.folder / "status.json"

    def read_plan(self) -> Plan | None:
        """Read the fix plan: in ``.ralph/``, else in the project's folder, else None."""
        for folder in (self.folder, self.project):
            with usable("the fix plan"), suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return parse_plan(read_bytes(folder / self.plan, root=ANYWHERE).decode("utf-8", "replace"))
        return None

    def read_session(self) -> tuple[str | None, bool]:
        """Return the saved session id, and whether the file holds something that is none."""
        text = ""
        with usable("the session file"), suppress(FileNotFoundError, NotADirectoryError):
            text = read_bytes(self.session_file).decode("utf-8", "replace").strip()
        if text.startswith("{"):  # what older installations wrote
            with suppress(ValueError, RecursionError):
                record = json.loads(text)
                text = str(record.get("session_id") or record.get("sessionId") or "")
        first = text.splitlines()[0] if text else ""
        found = validate_session_id(first.strip())
        return found, bool(first) and found is None


class PlainStore(Store[LoopState, Outcome]):
    """The store of one run of the loop.

    Args:
        loop: its settings.
        logs_bytes: size of the logs of all turns; 0: any.
        for_agent: the tool is an agent's script, which gets one file: the context, and the prompt.
        files: where they lie; None: as in a plain folder.
    """

    def __init__(
        self, loop: LoopSettings, *, logs_bytes: int, for_agent: bool = False, files: PlainFiles | None = None
    ) -> None:
        self.files = PlainFiles(loop.project) if files is None else files
        self._loop = loop
        self._logs_bytes = logs_bytes
        self._live = LiveLog(self.files.folder / "live.log")
        self._agent_prompt = self.files.folder / ".ralph_bridge.prompt.md" if for_agent else None

    @property
    def logs(self) -> Path:
        """The folder of the logs."""
        return self.files.logs

    def open(self, active: ActiveRun) -> Iterable[str]:
        """Sweep up what a killed loop has left."""
        with usable("the folder for logs"):
            make_folder(self.logs)
        sweep(self.files.folder, self.logs)
        for line in active.notices:
            self.log("WARN", line)
        self.log("INFO", f"The loop begins: {active.tool}")
        return active.notices

    def load(self, state: LoopState) -> tuple[LoopState, Iterable[str]]:
        """Read the session, if there is one to resume."""
        if state.iteration or not self._loop.resume:
            return state, ()
        found, spoiled = self.files.read_session()
        wrong = f"{self.files.session_file} holds no session id; a new session is started"
        return replace(state, session_id=found), (wrong,) if spoiled else ()

    def read_plan(self) -> Plan | None:
        """Read the fix plan."""
        return self.files.read_plan()

    def begin_turn(self, state: LoopState, plan: Plan | None, session: str | None) -> TurnRequest:
        """Name logs that no earlier turn has used, keep all of them within their bound, write an agent's prompt."""
        number = state.iteration + 1
        context = context_for(state, plan, resumed=session is not None)
        prompt, broken = self._loop.prompt, ""
        if self._agent_prompt is not None:
            prompt = str(self._agent_prompt)
            try:
                with usable("the prompt of the turn"):
                    write_atomic(self._agent_prompt, agent_prompt(self._loop, context))
            except ProjectUnusable as error:
                if number == 1:
                    raise
                broken = first_line(error)
        return TurnRequest(number, prompt, self._new_logs(number), context=context, session=session, broken=broken)

    def _new_logs(self, iteration: int) -> TurnLogs:
        logs = self.logs
        bound_logs(
            logs_of_turns(logs, _TURN_LOG), max_bytes=self._logs_bytes, say=lambda line: self.log("INFO", line)
        )
        name = stamped = f"{iteration}_{datetime.now():%Y-%m-%d_%H-%M-%S}"
        number = 1
        while not unused(logs / f"driver_output_{name}.log"):
            number += 1
            name = f"{stamped}-{number}"
        return TurnLogs(logs / f"driver_output_{name}.log", logs / f"driver_stderr_{name}.log")

    def take_in(self, _state: LoopState, turn: Turn) -> Outcome:
        """Judge the output, and find the session that it leaves."""
        outcome = build_outcome(
            Outcome,
            turn.result,
            turn.request,
            now=turn.now,
            changes=turn.changes,
            plans=(turn.plan, self.read_plan()),
            promise=self._loop.promise,
        )
        if not turn.sessions:
            return outcome
        return replace(outcome, session_id=left_session(outcome, turn.tool, turn.request))

    def show(self, data: bytes) -> None:
        """Append to ``live.log``, which ``watch`` follows."""
        self._live.write(data)

    def record(self, event: LoopEvent) -> Iterable[LoopEvent]:
        """Write the log, the status, and the session for the next run."""
        match event:
            case IterationStarted():
                self._live.begin(f"Turn {event.iteration}")
                self._write_status(event.iteration, "executing", "running")
            case IterationEnded():
                self._ended_turn(event)
            case Waiting(first=True) if event.reason in LIMITS:
                self._write_status(event.iteration, event.reason, "paused")
            case Notice():
                self.log("WARN", event.text)
            case LeftoversEnded():
                self.log("INFO", str(event))
            case LoopEnded():
                complete = event.verdict is Verdict.COMPLETE
                if complete:
                    self._save_session(None)  # the next loop is about something else
                self.log("SUCCESS" if complete else "ERROR", f"The loop has ended: {event.reason}: {event.detail}")
                action = "graceful_exit" if complete else event.reason
                status = "completed" if complete else "halted"
                self._write_status(event.iterations, action, status, event.reason)
            case LoopInterrupted():
                self.log("ERROR", f"The loop has ended: {event.action} ({event.reason})")
                self._write_status(event.iteration, event.action, "stopped", event.reason)
        return ()

    def close(self) -> None:
        """Let go of the log that people watch."""
        self._live.close()

    def log(self, level: Level, message: str) -> None:
        """Write one line to the loop's log."""
        log_line(self.logs / "ralph.log", level, message, time.time(), max_bytes=_LOG_BYTES)

    def _ended_turn(self, event: IterationEnded) -> None:
        self._live.close()
        failure = event.outcome.failure
        if event.sessions:
            self._save_session(event.state.session_id)
        took = f"turn {event.iteration} took {event.seconds:.0f} s"
        self.log("ERROR" if failure else "INFO", f"{took}: {failure or 'done'}")
        word = ("failed", "running") if failure else ("completed", "success")
        self._write_status(event.iteration, *word)

    def _save_session(self, session_id: str | None) -> None:
        """Save the session for the next run, or forget it."""
        with usable("the session file"):
            if session_id is None:
                delete(self.files.session_file)
            else:
                write_atomic(self.files.session_file, session_id + "\n")

    def _write_status(self, loop_count: int, last_action: str, status: str, exit_reason: str = "") -> None:
        """Write ``status.json``, which dashboards and `ralph-bridge status` read."""
        record = {
            "timestamp": datetime.now().astimezone().isoformat(timespec="seconds"),
            "loop_count": loop_count,
            "last_action": last_action,
            "status": status,
            "exit_reason": exit_reason,
        }
        with usable("the status file"):
            write_atomic(self.files.status_file, json.dumps(record, indent=2) + "\n")


def agent_prompt(settings: LoopSettings, context: str) -> bytes:
    """Give the prompt of an agent's turn: where the loop stands, and what people have written.

    Raises:
        bridge.errors.ProjectUnusable: the prompt can't be read.
    """
    with usable("the prompt"):
        written = read_bytes(settings.project / settings.prompt, root=ANYWHERE)
    return context.encode("utf-8", "surrogateescape") + b"\n\n" + written
