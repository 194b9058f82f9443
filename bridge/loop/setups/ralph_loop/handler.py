"""What a session reads and writes: the plan before each iteration, the prompt of each attempt, its log."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from bridge.base.files import delete
from bridge.base.git.repository import Files
from bridge.base.json_files import write_text
from bridge.base.wording import tame
from bridge.errors import BridgeError, HookError, HookExited
from bridge.loop.engine.events import (
    CheckEnded,
    CheckStarted,
    IterationEnded,
    IterationStarted,
    LogLine,
    LoopEnded,
    LoopInterrupted,
    MessageGiven,
    Notice,
    ProgramEnded,
    ReviewTurnEnded,
    ReviewTurnStarted,
    Waiting,
    interruption,
)
from bridge.loop.engine.handler import TurnHandler
from bridge.loop.engine.outcome import words_of
from bridge.loop.engine.policy import Decision, Verdict
from bridge.loop.engine.standstill import REASONS
from bridge.loop.engine.store import Store
from bridge.loop.setups.ralph_loop import policy, session_log
from bridge.loop.setups.ralph_loop.plan import Slices, parse, plan_command, slices
from bridge.loop.setups.ralph_loop.policy import Attempt, SessionState, over
from bridge.loop.setups.ralph_loop.prompt import Prompts
from bridge.loop.setups.ralph_loop.session_log import SessionLog, bound_sessions
from bridge.loop.setups.ralph_loop.settings import NO_PLAN, read
from bridge.loop.turn.agent import hook_texts
from bridge.loop.turn.tool import TurnLogs, TurnRequest
from bridge.scripts.session_id import validate_session_id

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bridge.loop.engine.active_run import ActiveRun
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.plan import Plan
    from bridge.loop.setups.ralph_loop.settings import RalphSession
    from bridge.scripts.agent import Agent

CAPTURE = "last_agent_output"


class SessionHandler(TurnHandler[SessionState, Attempt]):
    """The handler of one session.

    Args:
        agent: loaded; its bash exports what prompts are filled with.
        session: what to do.

    Attributes:
        interrupted_by: the signal that has ended the session, or None.
    """

    def __init__(self, agent: Agent, session: RalphSession) -> None:
        super().__init__(Store(session.home / "logs", logs=session.home / "logs"))
        self.interrupted_by: BaseException | None = None
        self._agent = agent
        self._session = session
        self._began = self._attempt_began = int(time.time())
        self._started = time.monotonic()
        self._iteration = 0
        self._prompt = self.store.logs / ".ralph_bridge.prompt.md"
        self._stderr = None if session.strict else self.store.logs / ".ralph_bridge.stderr"
        self._last_texts: list[LoopEvent] = []

    @cached_property
    def _prompts(self) -> Prompts:
        return Prompts(self._agent.shell, self._session)

    def open(self, active: ActiveRun) -> Iterable[str]:
        mode, loop = self._session.job.mode, self._session.loop
        self._log = SessionLog(self.store.logs, mode, datetime.now(), max_bytes=loop.turn_log_bytes)
        self._began, self._started = int(time.time()), time.monotonic()
        return active.notices

    # -- a turn --------------------------------------------------------------------------------------

    def load(self, state: SessionState) -> tuple[SessionState, Iterable[str]]:
        """Read the plan before each iteration; keep the logs within their bound before the first."""
        notices: list[str] = []
        if state.again:
            return state, ()
        if not state.iteration:
            bound_sessions(self.store.logs, self._session.logs_bytes, notices.append)
            for line in notices:
                self._log.line(line)
        return replace(state, plan=self._read_plan(state)), notices

    def _read_plan(self, state: SessionState) -> Slices | None:
        job, strict = self._session.job, self._session.strict
        if job.mode != "build" or (strict and state.iteration):
            return None
        if not job.plan.is_file():
            return Slices(missing=True)
        return slices(read(job.plan), process=job.process, strict=strict)

    def progress(self) -> tuple[int, int] | None:
        path = self._session.job.plan
        if not path.is_file():
            return None
        plan = parse(read(path))
        return plan.done, len(plan.tasks)

    def begin_turn(self, state: SessionState, _plan: Plan | None, _session: str | None) -> TurnRequest:
        """Write the prompt to a file of its own, which is gone when the program has ended."""
        if state.plan is not None and not state.again:
            self._prompts.take(state.plan)
        write_text(self._prompt, self._prompts.text())
        return TurnRequest(
            number=state.iteration + 1,
            prompt=str(self._prompt),
            logs=TurnLogs(self._session.home / CAPTURE, self._stderr, kept=self._log.path),
            attempt=state.retries,
            variables={"SESSION_LOG": str(self._log.path), "session_start": self._began},
        )

    def take_in(self, _state: SessionState, turn: Turn) -> Attempt:
        """Say what the attempt came to. Too many requests just now are over soon: a failure like any other."""
        from bridge.scripts.stream.analysis import RunFacts

        result = turn.result
        output = str(turn.request.logs.output)
        analysis = result.output.finish(
            RunFacts(
                now=turn.now,
                loop_number=turn.request.number,
                output_file=output,
                exit_status=result.status,
                timed_out=result.timed_out,
                stderr=result.stderr,
            )
        )
        said, error = words_of(analysis, result)
        context = self._agent.context()
        limit = analysis.limit if result.status else None
        return Attempt(
            result.status,
            timed_out=result.timed_out,
            mute=result.mute,
            said=said,
            error=error,
            session_id=validate_session_id(analysis.session_id),
            limit=None if limit is not None and limit.kind == "rate" else limit,
            analysis=analysis,
            changes=turn.changes,
            response=(analysis.text if result.response is None else result.response) or "",
            percent=context.percent or "",
            window=context.maximum or "",
        )

    def keep(self, state: SessionState, outcome: Attempt, _decision: Decision) -> Iterable[str]:
        """Say what is wrong with the iteration's ``_ITER_CONTEXT_PCT``."""
        percent = outcome.percent
        if not (state.again or self._session.strict) and policy.ContextUse().counted(percent, "") is None:
            yield f"_ITER_CONTEXT_PCT is {percent!r}, no number; it is left out of the summary"

    def show(self, data: bytes) -> None:
        self._log.write(data)

    def hook_is_slow(self, text: str) -> None:
        self._log.line(text, apart=False)

    # -- the log -------------------------------------------------------------------------------------

    def follow_up(self, event: LoopEvent) -> Iterable[LoopEvent]:
        match event:
            case IterationStarted():
                job = self._session.job
                self._iteration, self._attempt_began = event.iteration, int(time.time())
                return self._lines(*session_log.begins(event.iteration, datetime.now(), job.mode, job.shown))
            case ProgramEnded():
                return self._lines(*self._program_ended(event))
            case IterationEnded():
                return self._lines(session_log.RULE, *self._follows(event))
            case Waiting(first=True, reason="tokens_per_hour"):
                return self._lines(session_log.waits(event.detail, event.until))
            case CheckStarted() | CheckEnded() | ReviewTurnStarted() | ReviewTurnEnded():
                return self._lines(str(event))
            case MessageGiven():
                self._log.line(event.text)
            case Notice() if event.text.startswith(f"{CAPTURE} is cut"):
                self._log.line(event.text)
            case LoopEnded():
                return self._ended(event)
            case LoopInterrupted() if event.reason == "closed":
                with suppress(BridgeError):
                    self._summary(event.state, "the host has closed the session", 1)
        return ()

    def _lines(self, *lines: str) -> list[LoopEvent]:
        found = [line if line.isprintable() else tame(line, keep="\t") for line in lines]
        for line in found:
            self._log.line(line, apart=not self._session.strict)
        return [LogLine(line) for line in found]

    def _program_ended(self, event: ProgramEnded) -> Iterable[str]:
        self._remove_prompt()
        if event.mute:
            yield session_log.mute(self._session.loop.max_silence or 0.0)
        elif event.timed_out:
            yield session_log.timed_out(self._shown_limit())
        if event.status == 0 and not event.response:
            yield session_log.NO_RESPONSE
        yield from session_log.done(self._iteration, int(time.time()) - self._attempt_began)

    def _shown_limit(self) -> str:
        loop = self._session.loop
        most = loop.limits.max_seconds
        if most is not None and time.monotonic() - self._started >= most:
            return f"the session's {most / 60:g} minutes are over"
        return f"{(loop.timeout or 0) / 60:g} minutes"

    def _follows(self, event: IterationEnded) -> Iterable[str]:
        decision, state = event.decision, event.state
        if decision.reason == "api_limit":
            yield session_log.limited(decision.detail, datetime.now() + timedelta(seconds=decision.wait))
        elif decision.reason == "retry" and isinstance(state, SessionState):
            yield session_log.retry(state.retries, self._session.max_retries)

    def _ended(self, event: LoopEnded) -> Iterable[LoopEvent]:
        yield from self._last_texts
        if event.detail and event.permanent is None and event.reason not in REASONS:  # else the last line tells
            yield Notice(event.detail)
        if event.reason == policy.ENDED_WITHOUT_PLAN.reason:
            yield Notice(NO_PLAN)
        assert isinstance(event.state, SessionState)
        yield from self._lines(*self._last_words(event.reason, event.state.plan))
        if not self._session.strict or event.reason in policy.REASONS or self.interrupted_by is not None:
            yield from self._summary(event.state, event.reason, event.status or 0)

    def _last_words(self, reason: str, plan: Slices | None) -> Iterable[str]:
        job = self._session.job
        if reason == policy.ENDED_REPLAN.reason:
            if plan is not None and plan.waiting:
                yield from session_log.blocked(plan.waiting, self._plan_command())
            else:
                yield session_log.replan(self._plan_command())
        elif reason == policy.ENDED_COMPLETE.reason:
            if plan is not None and plan.complete:
                yield session_log.PLAN_DONE
            if job.mode == "build" and job.process:
                yield from session_log.nudge()

    def _plan_command(self) -> str:
        plan, command = self._session.job.plan, ""
        with suppress(BridgeError):
            command = plan_command(read(plan)) if plan.is_file() else ""
        return command or "ralph plan"

    def _summary(self, state: object, reason: str, code: int) -> list[LoopEvent]:
        assert isinstance(state, SessionState)
        state = over(state, succeeded=False) if state.again and reason in REASONS else state
        seconds = int(time.time()) - self._began
        lines = session_log.summary(state, iterations=self._iteration, seconds=seconds, reason=reason, code=code)
        return self._lines(*lines)

    # -- its end -------------------------------------------------------------------------------------

    def ended_by(self, error: BaseException) -> Decision | None:
        """A signal, a hook that calls ``exit`` and an error of ours end a session in order, with an exit code."""
        if isinstance(error, KeyboardInterrupt | SystemExit):
            self.interrupted_by = error
            name = interruption(error)[1]
            if isinstance(error, KeyboardInterrupt):
                return Decision(Verdict.INCOMPLETE, f"interrupted by {name}", status=130)
            if isinstance(error.code, int) and name != "exit":
                return Decision(Verdict.INCOMPLETE, f"ended by {name}", status=error.code)
            return Decision(Verdict.INCOMPLETE, "interrupted", status=1)
        if isinstance(error, HookExited):
            self._last_texts = [*hook_texts(error.stdout, error.stderr)]
            how = "failed" if error.state_lost else "called exit"
            return Decision(Verdict.INCOMPLETE, f"{error.hook} {how}", status=error.status or 0)
        if isinstance(error, BridgeError | OSError):
            reason = f"{error.hook} failed" if isinstance(error, HookError) else "error"
            return Decision(Verdict.INCOMPLETE, reason, f"Error: {error}", status=1)
        return None

    def close(self) -> None:
        """Close the log, remove what is left of a prompt and of the last stderr."""
        self._remove_prompt()
        if self._stderr is not None:
            with suppress(OSError, BridgeError):
                delete(self._stderr)
        self._log.close()

    def _remove_prompt(self) -> None:
        with suppress(OSError):
            delete(self._prompt, missing=False)


_PROTECTED = ("ralph", "config", "agents", "prompts", "lib", "logs", ".ralph_bridge.json", ".ralph_bridge.lock")


def protected(home: Path, folder: Path) -> tuple[str, ...]:
    """What the loop, or whoever starts it, runs or believes; the plan and the specs are the agent's to edit."""
    return tuple(os.path.normpath(os.path.join(os.path.relpath(home, folder), name)) for name in _PROTECTED)


def own_files(home: Path, folder: Path) -> Files:
    """The files that the loop itself writes, which are no work."""
    inside = os.path.relpath(home, folder)
    prefix = "" if inside == "." else f"{inside}/"
    own = (f"{prefix}logs/", f"{prefix}{CAPTURE}", f"{prefix}.ralph_bridge")
    return Files(
        is_own=lambda path: path.startswith(own),
        own=tuple(f"{prefix}{name}" for name in ("logs", CAPTURE, ".ralph_bridge*")),
    )
