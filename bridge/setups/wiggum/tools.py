"""One turn of the agent: by a driver or by an agent script."""

from __future__ import annotations

import os
import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bridge.loop.backoff import limit_wait
from bridge.loop.events import DenialHelp, OutputText, Waiting
from bridge.loop.logs import rotate
from bridge.loop.night import Night
from bridge.loop.outcome import Outcome, answer_of, build_outcome, left_session
from bridge.loop.policy import LoopState
from bridge.loop.turn_records import Tally, TurnRecord
from bridge.setups.wiggum import files
from bridge.setups.wiggum.reported_errors import logged_errors
from bridge.setups.wiggum.store import log_names
from bridge.setups.wiggum.turns import AgentReply, Limited
from bridge.turn.agent import AgentTool as AgentTurns
from bridge.turn.driver import DriverTool as DriverTurns
from bridge.turn.tool import CommandBuilt, TurnRequest, TurnSettings, run_turn

if TYPE_CHECKING:
    from collections.abc import Generator

    from bridge.agent import Agent
    from bridge.loop.events import LoopEvent
    from bridge.loop.turn_records import Result
    from bridge.setups.wiggum.files import Layout
    from bridge.stream.analysis import Limit
    from bridge.turn.driver import LoopDriver
    from bridge.turn.tool import Tool, TurnLogs

TURN_MINUTES = 60.0
"""Minutes that one turn may take, unless told otherwise: a CLI that hangs must not cost the night."""


@dataclass(frozen=True, slots=True)
class _Tool:
    """What both have in common.

    Attributes:
        timeout: seconds that a turn may take; None: any number.
        night: how long limits and hooks may take.
    """

    live: bool = True
    timeout: float | None = TURN_MINUTES * 60
    night: Night = field(default_factory=Night)

    def tool(self, layout: Layout, settings: TurnSettings) -> Tool:
        """Give what runs a turn."""
        raise NotImplementedError

    def turn(
        self, layout: Layout, number: int, seconds: float | None
    ) -> Generator[LoopEvent | Limited, None, AgentReply]:
        """Run a turn. A provider's limit is waited out in it, and is no turn.

        Raises:
            bridge.errors.ProgramNotFound: there is no such program.
        """
        until = None if seconds is None else time.monotonic() + seconds
        settings = TurnSettings(
            project=layout.project,
            live=self.live,
            resume=False,
            graces=self.night.graces,
            turn_log_bytes=self.night.turn_log_bytes,
            hook_seconds=self.night.hook_seconds,
        )
        tool = self.tool(layout, settings)
        times = failures = 0
        while True:
            logs = log_names(layout, number, self.night.turn_logs_bytes)
            reply, limit = yield from self._run(tool, layout, number, logs, _left(until), first=failures == 0)
            failures += 1
            left = _left(until)
            if limit is None or left == 0 or files.is_cancelled(layout):
                return reply
            if reply.record is not None:
                yield Limited(reply.record)
            times += 1
            wait = limit_wait(limit, self.night.pauses, times)
            yield from waiting(layout, number, limit, wait if left is None else min(wait, left))
            if _left(until) == 0:
                cut = None if reply.record is None else replace(reply.record, result="timeout", error=_CUT.failure)
                return replace(_CUT, record=cut)

    def _run(
        self, tool: Tool, layout: Layout, number: int, logs: TurnLogs, seconds: float | None, *, first: bool
    ) -> Generator[LoopEvent, None, tuple[AgentReply, Limit | None]]:
        began = time.time()
        request = TurnRequest(
            number,
            str(layout.turn_prompt.relative_to(layout.project)),
            logs,
            first=first,
            timeout=_sooner(self.timeout, seconds),
            variables={"SESSION_LOG": str(layout.folder / "logs" / "session.log")},
        )
        events = run_turn(tool, request)
        with closing(events):
            while True:
                try:
                    event = next(events)
                except StopIteration as stop:
                    result = stop.value
                    break
                if not isinstance(event, CommandBuilt):
                    yield event
        now = datetime.now().astimezone()
        outcome = build_outcome(Outcome, result, request, now=now)
        outcome = replace(outcome, session_id=left_session(outcome, tool, request))
        if not result.shown and (words := answer_of(outcome)):
            yield OutputText(number, words)
        if outcome.denied:
            refused = outcome.analysis.denied_commands if outcome.analysis else ()
            yield DenialHelp(number, refused, tool.denial_help())
        failure, excused = outcome.failure, outcome.timed_out or outcome.silent
        said = result.response
        if said is None:
            said = (outcome.analysis.last_text or outcome.analysis.text) if outcome.analysis else ""
        elif not failure and not said:
            failure, excused = "the agent gave no response", True
        limit = outcome.limit if failure and not outcome.timed_out else None
        word: Result = "failed" if failure else "success"
        if outcome.timed_out or limit is not None:
            word = "timeout" if outcome.timed_out else "limit"
        record = TurnRecord(
            turn=number,
            began=began,
            seconds=time.time() - began,
            result=word,
            status=outcome.status,
            error=failure,
            session=outcome.session_id,
            log=os.path.relpath(logs.output, layout.project),
        )
        record = Tally().add(record, outcome.analysis.usage if outcome.analysis else None)
        reply = AgentReply(said, failure, excused, record=record, tool_errors=logged_errors(logs.output))
        return reply, limit


@dataclass(frozen=True, slots=True)
class DriverTool(_Tool):
    """A driver's CLI, without a session: each turn has a context of its own."""

    driver: LoopDriver = field(kw_only=True)

    def tool(self, _layout: Layout, settings: TurnSettings) -> Tool:
        """Give what runs a turn."""
        return DriverTurns(self.driver, settings)


@dataclass(frozen=True, slots=True)
class AgentTool(_Tool):
    """An agent script, its program run and shown as its controller does."""

    agent: Agent = field(kw_only=True)

    def tool(self, layout: Layout, settings: TurnSettings) -> Tool:
        """Give what runs a turn."""
        with files.usable():
            rotate(layout.folder / "logs" / "session.log", max_bytes=files.LOG_BYTES)
        return AgentTurns(self.agent, settings)


def waiting(layout: Layout, number: int, limit: Limit, seconds: float) -> Generator[LoopEvent, None, None]:
    """Wait for the end of a provider's limit, visibly, until it is over or somebody asks for the loop's end."""
    until = datetime.now().astimezone() + timedelta(seconds=seconds)
    first = True
    while (left := (until - datetime.now().astimezone()).total_seconds()) > 0 and not files.is_cancelled(layout):
        yield Waiting(number - 1, "api_limit", limit.said, until, left, first, LoopState())
        first = False
        time.sleep(min(left, 1.0))


def _left(until: float | None) -> float | None:
    return None if until is None else max(0.0, until - time.monotonic())


_CUT = AgentReply(failure=Outcome(timed_out=True).failure, excused=True)


def _sooner(*seconds: float | None) -> float | None:
    return min((each for each in seconds if each is not None), default=None)
