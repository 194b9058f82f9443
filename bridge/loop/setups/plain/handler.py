"""A loop in a folder without any setup: its files under ``.ralph/`` (session, status and logs), and its turns."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

from bridge.base.encodings import readable
from bridge.base.files import ANYWHERE, confine, read_bytes, usable, write_atomic
from bridge.base.timestamps import file_name
from bridge.errors import ProjectUnusable
from bridge.loop.engine.events import (
    CheckEnded,
    CheckStarted,
    IterationEnded,
    IterationStarted,
    LeftoversEnded,
    LoopEnded,
    LoopInterrupted,
    Notice,
    ReviewTurnEnded,
    ReviewTurnStarted,
    Waiting,
)
from bridge.loop.engine.handler import TurnHandler
from bridge.loop.engine.logs import USUAL
from bridge.loop.engine.outcome import Outcome, build_outcome, left_session
from bridge.loop.engine.plan import Plan, context_for, parse_plan
from bridge.loop.engine.policy import LIMITS, Verdict
from bridge.loop.engine.state import LoopState
from bridge.loop.engine.store import LEAVE, LoopLog, StateFile, Store
from bridge.loop.setups.plain.ending import PLANS
from bridge.loop.turn.logs import bound_logs, new_log
from bridge.loop.turn.tool import TurnLogs, TurnRequest, first_line
from bridge.scripts.session_id import validate_session_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from bridge.loop.engine.active_run import ActiveRun
    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.logs import Level, Names
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.engine.store import Document, Facts

S = TypeVar("S", bound=LoopState)
SESSION = ".claude_session_id"
_TURN_LOG = re.compile(r"driver_(?:output|stderr)_(.*)\.log(?:\.gz)?")


class PlainFiles:
    """What lies there, for whoever only looks.

    Args:
        folder: of the loop's state, relative to it.
        plan: name of the plan, in that folder or in the project; None: as `plans` says.
        plans: where the plan may lie, relative to the project: the first with boxes counts.
    """

    def __init__(
        self, project: Path, *, folder: str = ".ralph", plan: str | None = None, plans: Sequence[str] = PLANS
    ) -> None:
        confine(project)
        self.project = project
        self.folder = project / folder
        self.plans = plans if plan is None else (f"{folder}/{plan}", plan)
        self.session_file = self.folder / SESSION

    def find_plan(self) -> tuple[str, Plan] | None:
        """Find the plan and its name from the project: the first with boxes, else the first file; or None."""
        without_boxes = None
        for name in self.plans:
            with usable("the fix plan"), suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
                plan = parse_plan(readable(read_bytes(self.project / name, root=ANYWHERE)))
                if plan.total:
                    return name, plan
                without_boxes = without_boxes or (name, plan)
        return without_boxes

    def read_plan(self) -> Plan | None:
        """Read the plan; None: there is none."""
        found = self.find_plan()
        return None if found is None else found[1]

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


# -- what is written ---------------------------------------------------------------------------------


def _status(facts: Facts) -> Document:
    """``status.json``, which dashboards and `ralph-bridge status` read."""
    event, reason = facts.event, ""
    match event:
        case IterationStarted():
            action, status = "executing", "running"
        case IterationEnded():
            action, status = ("failed", "running") if event.outcome.failure else ("completed", "success")
        case Waiting():
            if not event.first or event.reason not in LIMITS:
                return LEAVE
            action, status = event.reason, "paused"
        case LoopInterrupted():
            action, status, reason = event.action, "stopped", event.reason
        case _:
            complete = event.verdict is Verdict.COMPLETE
            action, status = ("graceful_exit", "completed") if complete else (event.reason, "halted")
            reason = event.reason
    return {
        "timestamp": datetime.fromtimestamp(facts.now).astimezone().isoformat(timespec="seconds"),
        "loop_count": event.iterations if isinstance(event, LoopEnded) else event.iteration,
        "last_action": action,
        "status": status,
        "exit_reason": reason,
    }


def _session(facts: Facts) -> Document:
    """The session for the next run; behind a loop that is complete, the next one is about something else."""
    event = facts.event
    if isinstance(event, LoopEnded):
        return None if event.verdict is Verdict.COMPLETE else LEAVE
    if not event.sessions:
        return LEAVE
    return f"{event.state.session_id}\n" if event.state.session_id else None


def state_files(names: Names) -> tuple[StateFile, ...]:
    """The state files of such a loop."""
    told = (IterationStarted, IterationEnded, Waiting, LoopEnded, LoopInterrupted)
    return (
        StateFile(SESSION, (IterationEnded, LoopEnded), _session),
        StateFile(names.status, told, _status),
    )


def _lines(facts: Facts) -> Iterator[tuple[Level, str]]:
    """The lines of ``ralph.log``."""
    event = facts.event
    match event:
        case IterationEnded():
            failure = event.outcome.failure
            took = f"turn {event.iteration} took {event.seconds:.0f} s"
            yield "ERROR" if failure else "INFO", f"{took}: {failure or 'done'}"
        case Notice():
            yield "WARN", event.text
        case LeftoversEnded() | CheckStarted() | CheckEnded() | ReviewTurnStarted() | ReviewTurnEnded():
            yield "INFO", str(event)
        case LoopEnded():
            level: Level = "SUCCESS" if event.verdict is Verdict.COMPLETE else "ERROR"
            yield level, f"The loop has ended: {event.reason}: {event.detail}"
        case LoopInterrupted():
            yield "ERROR", f"The loop has ended: {event.action} ({event.reason})"


# -- the turns ---------------------------------------------------------------------------------------


class PlainHandler(TurnHandler[S, Outcome], Generic[S]):
    """See :class:`bridge.loop.engine.handler.TurnHandler`.

    Args:
        logs_bytes: size of the logs of all turns; 0: any.
        for_agent: the tool is an agent's script, which gets one file: the context, and the prompt.
        words: the prompt, where it is no file's whole text; or ''.
        more: further state files of a kind that is built on this one.
        names: of those that people look at.
    """

    def __init__(
        self,
        files: PlainFiles,
        loop: LoopSettings,
        *,
        logs_bytes: int,
        for_agent: bool = False,
        words: str = "",
        more: Sequence[StateFile] = (),
        names: Names = USUAL,
    ) -> None:
        log = LoopLog(name=names.log, lines=_lines)
        table = (*state_files(names), *more)
        super().__init__(Store(files.folder, table, setup=loop, log=log, live="Turn {}", live_name=names.live))
        self._files = files
        self._loop = loop
        self._logs_bytes = logs_bytes
        self._goes_on = False
        self._for_agent, self._words = for_agent, words
        self._own_prompt = files.folder / ".ralph_bridge.prompt.md" if for_agent or words else None

    def open(self, active: ActiveRun) -> Iterable[str]:
        self._goes_on = active.before is None or active.before.cut_off
        for line in active.notices:
            self.store.log("WARN", line)
        self.store.log("INFO", f"The loop begins: {active.tool}")
        return [*active.notices, *filter(None, [self._loop.ending_notice])]

    def load(self, state: S) -> tuple[S, Iterable[str]]:
        # A run that has ended in order has left nothing to go on with: the next one begins anew.
        if state.iteration or not (self._loop.resume and self._goes_on):
            return state, ()
        found, spoiled = self._files.read_session()
        wrong = f"{self._files.session_file} holds no session id; a new session is started"
        return replace(state, session_id=found), (wrong,) if spoiled else ()

    def read_plan(self) -> Plan | None:
        return self._files.read_plan()

    def begin_turn(self, state: S, plan: Plan | None, session: str | None) -> TurnRequest:
        number = state.iteration + 1
        context = context_of(self._loop, state, plan, resumed=session is not None)
        prompt, broken = self._loop.prompt, ""
        if self._own_prompt is not None:
            prompt = str(self._own_prompt)
            try:
                with usable("the prompt of the turn"):
                    write_atomic(self._own_prompt, self._written(context))
            except ProjectUnusable as error:
                if number == 1:
                    raise
                broken = first_line(error)
        logs = self.store.logs
        bound_logs(logs, _TURN_LOG, self._logs_bytes, lambda line: self.store.log("INFO", line))
        output = new_log(logs, f"driver_output_{number}_{file_name(self.store.now())}")
        stderr = output.with_name(output.name.replace("output", "stderr", 1))
        return TurnRequest(
            number, prompt, TurnLogs(output, stderr), context=context, session=session, broken=broken
        )

    def _written(self, context: str) -> bytes:
        if self._for_agent:
            return agent_prompt(self._loop, context, self._words)
        return self._words.encode("utf-8", "surrogateescape")

    def take_in(self, _state: S, turn: Turn) -> Outcome:
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


def context_of(settings: LoopSettings, state: LoopState, plan: Plan | None, *, resumed: bool) -> str:
    """Give the context of a turn: where the loop stands, and how to say that all is done."""
    return context_for(state, plan, resumed=resumed) + settings.ending_request


def agent_prompt(settings: LoopSettings, context: str, words: str = "") -> bytes:
    """Give the prompt of an agent's turn: where the loop stands, and what people have written.

    `words` are that, where no file's whole text is.

    Raises:
        bridge.errors.ProjectUnusable: the prompt can't be read.
    """
    with usable("the prompt"):
        written = words.encode("utf-8", "surrogateescape") or read_bytes(
            settings.project / settings.prompt, root=ANYWHERE
        )
    return context.encode("utf-8", "surrogateescape") + b"\n\n" + written
