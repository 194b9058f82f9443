"""One turn of the agent: by a driver, on the engine of the other setups; or by an agent script."""

from __future__ import annotations

import os
import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bridge.errors import ProgramNotFound
from bridge.loop.backoff import limit_wait
from bridge.loop.decide import Limits, Rules
from bridge.loop.decide import State as EngineState
from bridge.loop.events import IterationEnded, LoopEnded, Notice, OutputText, Waiting
from bridge.loop.logs import rotate
from bridge.loop.night import Night
from bridge.loop.options import LoopSettings
from bridge.loop.outcome import Outcome, failure_of
from bridge.loop.runner import run_loop
from bridge.loop.turn_logs import TurnLog
from bridge.loop.turn_records import Tally, TurnRecord, begun, interrupted
from bridge.process.leftovers import MARK
from bridge.session_id import validate_session_id
from bridge.setups.wiggum import files
from bridge.setups.wiggum.reported_errors import logged_errors
from bridge.setups.wiggum.store import TurnStore, log_names
from bridge.setups.wiggum.turns import AgentReply, Limited
from bridge.shell.protocol import quote
from bridge.turn.agent import AgentEnd, run_agent, run_hook
from bridge.turn.output import analyse

if TYPE_CHECKING:
    from collections.abc import Generator

    from bridge.agent import Agent
    from bridge.loop.events import LoopEvent
    from bridge.loop.ports import LoopDriver, RunLogs
    from bridge.loop.turn_records import Result
    from bridge.setups.wiggum.files import Layout
    from bridge.stream.analysis import Analysis, Limit


TURN_MINUTES = 60.0
"""Minutes that one turn may take, unless told otherwise: a CLI that hangs must not cost the night."""


@dataclass(frozen=True, slots=True)
class DriverTool:
    """A driver's CLI, without a session: each turn has a context of its own.

    Attributes:
        driver: builds the command.
        live: show events as they come, where the driver can.
        timeout: seconds that a turn may take; None: any number.
        night: how long limits may take.
    """

    driver: LoopDriver
    live: bool = True
    timeout: float | None = TURN_MINUTES * 60
    night: Night = field(default_factory=Night)

    def turn(
        self, layout: Layout, number: int, seconds: float | None
    ) -> Generator[LoopEvent | Limited, None, AgentReply]:
        """Run one iteration of the engine. A provider's limit is waited out in it, and is no turn."""
        until = None if seconds is None else time.monotonic() + seconds
        settings = LoopSettings(
            project=layout.project,
            prompt=str(layout.turn_prompt.relative_to(layout.project)),
            limits=Limits(max_iterations=number, max_failures=0),
            live=self.live,
            timeout=_sooner(self.timeout, seconds),
            resume=False,
            rules=Rules(
                retry_seconds=self.night.retry_seconds,
                retry_max_seconds=self.night.retry_max_seconds,
                limit_seconds=self.night.limit_seconds,
            ),
            env={**os.environ, MARK: str(layout.project)},
            turn_log_bytes=self.night.turn_log_bytes,
            graces=self.night.graces,
        )
        reply = AgentReply(failure="the agent was not run")
        began = time.time()
        store = TurnStore(layout, number, self.night.turn_logs_bytes)
        with closing(run_loop(self.driver, settings, store=store)) as events:
            for event in events:
                if until is not None and time.monotonic() >= until and not isinstance(event, IterationEnded):
                    # A run that is repeated behind a provider's limit, or the wait for its end.
                    if store.logs is not None:
                        cut = replace(begun(number, began, store.logs.output, layout.project), result="timeout")
                        reply = replace(_CUT, record=interrupted(cut, _CUT.failure or "", time.time()))
                    else:
                        reply = _CUT
                    break
                if isinstance(event, IterationEnded):
                    outcome = event.outcome
                    analysis = outcome.analysis
                    said = (analysis.last_text or analysis.text) if analysis else ""
                    excused = outcome.timed_out or outcome.silent
                    began = time.time()
                    record = event.turn
                    if record is not None and record.result == "limit":
                        yield Limited(record)
                        record = None
                    reply = AgentReply(said, failure_of(outcome), excused, record=record)
                elif not isinstance(event, LoopEnded):
                    yield event
        return replace(reply, tool_errors=logged_errors(store.logs.output)) if store.logs else reply


@dataclass(frozen=True, slots=True)
class AgentTool:
    """An agent script, its program run and shown as its controller does.

    Attributes:
        agent: the script.
        timeout: seconds that its program may run in a turn; None: any number.
        night: how long hooks and limits may take.
    """

    agent: Agent
    timeout: float | None = TURN_MINUTES * 60
    night: Night = field(default_factory=Night)

    def turn(
        self, layout: Layout, number: int, seconds: float | None
    ) -> Generator[LoopEvent | Limited, None, AgentReply]:
        """Run the hooks of one iteration.

        Raises:
            ProgramNotFound: there is no ``AGENT_CLI``.
        """
        agent, logs = self.agent, log_names(layout, number, self.night.turn_logs_bytes)
        if not agent.shell.call("command", "-v", "--", agent.cli).ok:
            raise ProgramNotFound(
                f"{agent.cli} was not found on PATH; {agent.script} needs it\n"
                "  next: install it, or put the folder that holds it on PATH"
            )
        said = layout.folder / "logs" / "session.log"
        with files.usable():
            rotate(said, max_bytes=files.LOG_BYTES)
        agent.shell.update({"SESSION_LOG": str(said), "iteration": number})
        # What the agent starts hands it on; the shell itself doesn't show it, and so is no leftover.
        agent.shell.execute(f"export {MARK}={quote(str(layout.project))}")
        until = None if seconds is None else time.monotonic() + seconds
        times = 0
        while True:
            reply, limit = yield from self._run(layout, number, logs, _left(until))
            left = _left(until)
            if limit is None or left == 0 or files.is_cancelled(layout):
                return reply
            # A provider's limit is waited out, and is no turn.
            if reply.record is not None:
                yield Limited(reply.record)
            times += 1
            wait = limit_wait(limit, self.night, times)
            yield from waiting(layout, number, limit, wait if left is None else min(wait, left))
            logs = log_names(layout, number, self.night.turn_logs_bytes)

    def _run(
        self, layout: Layout, number: int, logs: RunLogs, seconds: float | None
    ) -> Generator[LoopEvent, None, tuple[AgentReply, Limit | None]]:
        agent, began = self.agent, time.time()
        agent.reset_context()
        yield from map(Notice, run_hook(agent, "agent_pre_iteration", self.night.hook_seconds))
        with files.usable():
            raw = TurnLog(logs.output, self.night.turn_log_bytes)
        limit = _sooner(self.timeout, seconds)
        grace = self.night.grace_seconds
        program = run_agent(agent, layout.turn_prompt, raw, stdin=b"", timeout=limit, grace=grace)
        with raw, closing(program) as texts:
            end = AgentEnd(0)
            while True:
                try:
                    yield OutputText(number, next(texts))
                except StopIteration as stop:
                    end = stop.value
                    break
            yield from map(Notice, filter(None, [raw.notice]))
        errors = logged_errors(logs.output)
        said = agent.extract_response(logs.output).rstrip("\n") if end.status == 0 else ""
        yield from map(Notice, run_hook(agent, "agent_post_iteration", self.night.hook_seconds))
        analysis = analyse(logs.output, end.status)
        if end.timed_out:
            reply = replace(_CUT, tool_errors=errors)
        elif end.status:
            reply = AgentReply(failure=f"exit status {end.status}", tool_errors=errors)
        else:
            silent = None if said else "the agent gave no response"
            reply = AgentReply(said, silent, excused=not said, tool_errors=errors)
        found = analysis.limit if analysis and end.status and not end.timed_out else None
        return replace(reply, record=_record(layout, number, began, end, reply, logs, analysis, found)), found


def _record(
    layout: Layout,
    number: int,
    began: float,
    end: AgentEnd,
    reply: AgentReply,
    logs: RunLogs,
    analysis: Analysis | None,
    limit: Limit | None,
) -> TurnRecord:
    result: Result = "failed" if reply.failure else "success"
    if end.timed_out or limit is not None:
        result = "timeout" if end.timed_out else "limit"
    record = TurnRecord(
        turn=number,
        began=began,
        seconds=time.time() - began,
        result=result,
        status=end.status,
        error=reply.failure,
        session=validate_session_id(analysis.session_id) if analysis else None,
        log=os.path.relpath(logs.output, layout.project),
    )
    return Tally().add(record, analysis.usage if analysis else None)


def waiting(layout: Layout, number: int, limit: Limit, seconds: float) -> Generator[LoopEvent, None, None]:
    """Wait for the end of a provider's limit, visibly, until it is over or somebody asks for the loop's end."""
    until = datetime.now().astimezone() + timedelta(seconds=seconds)
    said = limit.text or f"the provider's {limit.kind} limit"
    first = True
    while (left := (until - datetime.now().astimezone()).total_seconds()) > 0 and not files.is_cancelled(layout):
        yield Waiting(number - 1, "api_limit", said, until, left, first, EngineState())
        first = False
        time.sleep(min(left, 1.0))


def _left(until: float | None) -> float | None:
    return None if until is None else max(0.0, until - time.monotonic())


_CUT = AgentReply(failure=failure_of(Outcome(timed_out=True)), excused=True)


def _sooner(*seconds: float | None) -> float | None:
    return min((each for each in seconds if each is not None), default=None)
