"""The loop of a ralph-loop setup: yields events, writes the session's log, decides nothing itself."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.errors import BridgeError, HookError, HookExited, HookTimeout
from bridge.files import usable
from bridge.git.repository import Repository
from bridge.loop.backoff import back_off, limit_wait
from bridge.loop.events import IterationEnded, IterationStarted, Waiting, interruption
from bridge.loop.outcome import Outcome
from bridge.loop.policy import Decision, LoopState, Verdict
from bridge.loop.runs import Pause
from bridge.loop.turn_records import Tally, TurnRecords, begun, interrupted
from bridge.session_id import validate_session_id
from bridge.setups.ralph_loop import policy
from bridge.setups.ralph_loop import store as logs
from bridge.setups.ralph_loop.events import Display, Ended, HookText, Line, Notice
from bridge.setups.ralph_loop.plan import Slices, plan_command, slices
from bridge.setups.ralph_loop.policy import Attempt, Ending, Policy, SessionState, Step
from bridge.setups.ralph_loop.preflight import NO_PLAN, read
from bridge.setups.ralph_loop.prompt import Prompts
from bridge.setups.ralph_loop.store import own_files
from bridge.turn.agent import AgentEnd, named_when_slow, run_agent
from bridge.turn.logs import TurnLog
from bridge.turn.output import analyse

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from bridge.agent import Agent
    from bridge.git.tree import TreeState
    from bridge.loop.active import ActiveRun
    from bridge.loop.turn_records import Result, TurnRecord
    from bridge.setups.ralph_loop.events import SessionEvent
    from bridge.setups.ralph_loop.settings import Session
    from bridge.shell import Reply
    from bridge.stream.analysis import Limit

    Events = Generator[SessionEvent, None, None]


def run_session(agent: Agent, session: Session, active: ActiveRun | None = None) -> Events:
    """Run a session to its end; the last event is `Ended`, with the exit code.

    Ctrl-C (KeyboardInterrupt) and what the command line makes of TERM and HUP (SystemExit) may be thrown in: the
    agent's program is ended with all that it started, the summary is written, and `Ended` has 130, 143 or 129.

    Args:
        agent: loaded into a bash with the variables of ``config``.
        session: what to do.
        active: holds the setup's lock and record; None: nobody else knows of this session.

    Raises:
        bridge.errors.ProjectUnusable: the log can't be made.
    """
    run = _Run(agent, session, active)
    with closing(run.log):
        yield from run.run()


class _Run:
    def __init__(self, agent: Agent, session: Session, active: ActiveRun | None) -> None:
        self.agent = agent
        self.session = session
        self.active = active
        self.records: TurnRecords | None = None
        if active is not None:
            self.records = TurnRecords(session.home / "logs", run_id=active.run_id, tool=active.tool)
        self.tally = Tally()
        self.under_way: TurnRecord | None = None
        self.repository = Repository(session.folder, own_files(session.home, session.folder))
        self.ends_at: float | None = None
        if session.limits.max_seconds is not None:
            self.ends_at = time.monotonic() + session.limits.max_seconds
        most = session.limits.night.turn_log_bytes
        self.log = logs.SessionLog(session.home / "logs", session.job.mode, datetime.now(), max_bytes=most)
        self.began = int(time.time())
        self.started = time.monotonic()
        limits = session.limits
        self.policy = Policy(limits.max_iterations, limits.max_retries, session.strict)
        self.state = SessionState()
        self.iterations = 0

    def run(self) -> Events:
        came: BaseException | None = None
        try:
            ending = yield from self._loop()
        except GeneratorExit:
            self._keep_interrupted("closed")
            self._write_summary(Ending(1, "the host has closed the session"))
            raise
        except (KeyboardInterrupt, SystemExit) as signal:
            ending, came = _interrupted(signal), signal
            self._keep_interrupted(interruption(signal)[1])
        except HookExited as left:
            yield from self._hook_said(left.stdout, left.stderr)
            ending = Ending(left.status or 0, f"{left.hook} {'failed' if left.state_lost else 'called exit'}")
            if self.session.strict:  # the original is simply gone
                yield self._ended(ending)
                return
        except (BridgeError, OSError) as error:
            yield Notice(f"Error: {error}")
            ending = Ending(1, f"{error.hook} failed" if isinstance(error, HookError) else "error")
            if self.session.strict:
                yield self._ended(ending)
                return
        if self.active is not None:
            if groups := self.active.end_leftovers():
                counted = f"{groups} process group{'s' * (groups > 1)}"
                yield Notice(f"What the agent had left running was ended: {counted}")
            self.active.over(ending.reason)
        yield from self._lines(self._summary(ending))
        yield self._ended(ending, came)

    def _ended(self, ending: Ending, signal: BaseException | None = None) -> Ended:
        self._keep_interrupted(ending.reason)
        complete = ending == policy.ENDED_COMPLETE
        seconds = time.monotonic() - self.started
        return Ended(ending.code, ending.reason, complete, self.iterations, seconds, self.tally.totals, signal)

    # -- the loop ------------------------------------------------------------------------------------

    def _loop(self) -> Generator[SessionEvent, None, Ending]:
        session, shell = self.session, self.agent.shell
        shell.update({"SESSION_LOG": str(self.log.path), "session_start": self.began})
        prompts = Prompts(shell, session)
        told: list[str] = []
        logs.bound_sessions(session.home / "logs", session.limits.night.turn_logs_bytes, told.append)
        yield from self._lines(told)
        while True:
            plan = self._plan()
            if ending := self.policy.begin(self.state, plan, time_is_up=self._time_is_up()):
                yield from self._not_begun(ending, plan)
                return ending
            if plan is not None:
                prompts.take(plan)
            self.iterations = self.state.iteration + 1
            if self.active is not None:
                self.active.renew()
                self.active.turn(self.iterations)
            self.agent.reset_context()
            step = yield from self._iterate(prompts)
            if isinstance(step, Ending):
                yield from self._last_words(step)
                return step

    def _plan(self) -> Slices | None:
        """What is left of the plan; None where none is followed, or the first slices stay."""
        job, strict = self.session.job, self.session.strict
        if job.mode != "build" or (strict and self.state.iteration):
            return None
        if not job.plan.is_file():
            return Slices(missing=True)
        return slices(read(job.plan), process=job.process, strict=strict)

    def _not_begun(self, ending: Ending, plan: Slices | None) -> Events:
        if ending is policy.ENDED_WITHOUT_PLAN:
            yield Notice(NO_PLAN)
        elif ending is policy.ENDED_COMPLETE:
            yield from self._lines([logs.PLAN_DONE])
            yield from self._last_words(ending)
        elif ending is policy.ENDED_REPLAN and plan is not None:
            yield from self._lines(logs.blocked(plan.waiting, self._plan_command()))

    def _iterate(self, prompts: Prompts) -> Generator[SessionEvent, None, Step | Ending]:
        limits = self.session.limits
        while True:
            attempt = yield from self._attempt(prompts, self.iterations, self.state.retries)
            self.state, step = self.policy.decide(self.state, attempt, time_is_up=self._time_is_up())
            if step is Step.LIMIT:
                assert attempt.limit is not None
                yield from self._wait_for(attempt.limit)
            elif step is Step.RETRY:
                retries = self.state.retries
                yield from self._lines([logs.retry(retries, limits.max_retries)])
                if pause := back_off(limits.retry_delay, retries):
                    detail = f"the agent failed, {retries} of {limits.max_retries} retries"
                    yield from self._pause("retry", detail, pause)
            else:
                yield from self._count_context()
                return step

    def _attempt(self, prompts: Prompts, iteration: int, repeated: int) -> Generator[SessionEvent, None, Attempt]:
        job, began = self.session.job, int(time.time())
        tree = self.repository.look()
        self.under_way = begun(iteration, time.time(), self.log.path, self.session.folder)
        shell = self.agent.shell
        state = LoopState(iteration=iteration - 1)
        yield IterationStarted(iteration, (), None, True, None, self.log.path, state)
        yield from self._lines(logs.begins(iteration, datetime.now(), job.mode, job.shown))
        with _temporary(prompts.text()) as path:
            shell.update(
                {"iteration": iteration, "retry": repeated, "iter_start": began, "tmp_prompt": path, "agent_rc": 0}
            )
            yield from self._beside("agent_pre_iteration")
            status, timed_out, _ = yield from self._pipeline(path)
        if timed_out:
            yield from self._lines([f"⚠ Agent ran for too long and was ended ({self._shown_limit()})"])
        response = self.agent.extract_response(self._capture()).rstrip("\n") if status == 0 else ""
        attempt, turn = self._judged(self.under_way, tree, status, response, timed_out=timed_out)
        self.under_way = None
        if attempt.empty:
            yield from self._lines([logs.NO_RESPONSE])
        yield from self._lines(logs.done(iteration, int(time.time()) - began))
        shell["agent_rc"] = status or int(attempt.empty)
        yield from self._beside("agent_post_iteration")
        yield from self._lines([logs.RULE])
        outcome = Outcome(status, timed_out=timed_out, said=not attempt.empty, limit=attempt.limit)
        after = LoopState(iteration=iteration)
        yield IterationEnded(
            iteration, outcome, Decision(Verdict.CONTINUE), turn.seconds, self.log.path, after, turn=turn
        )
        return attempt

    def _pipeline(self, prompt: str) -> Generator[SessionEvent, None, AgentEnd]:
        """The agent, through its own display filter."""
        whole = not self.session.strict
        limits = self.session.limits
        bounds = [each for each in (limits.turn_seconds, self._left()) if each is not None]
        most, grace = min(bounds, default=None), limits.night.grace_seconds
        with usable("last_agent_output"):
            capture = TurnLog(Path(self._capture()), limits.night.turn_log_bytes)
        with (
            capture as raw,
            closing(run_agent(self.agent, prompt, raw, end_line=whole, timeout=most, grace=grace)) as texts,
        ):
            while True:
                try:
                    text = next(texts)
                except StopIteration as stop:
                    end: AgentEnd = stop.value
                    yield from self._lines(filter(None, [raw.notice]))
                    return end
                self.log.write(text)
                yield Display(text)

    def _judged(
        self, turn: TurnRecord, tree: TreeState | None, status: int, response: str, *, timed_out: bool
    ) -> tuple[Attempt, TurnRecord]:
        """What an attempt came to, written down as a record of the turn."""
        analysis = analyse(Path(self._capture()), status)
        limit = analysis.limit if analysis and status else None
        if limit is not None and limit.kind == "rate":
            limit = None  # too many requests just now: over soon, and a failure like any other
        attempt = Attempt(status, response, limit)
        failed: Result = "timeout" if timed_out else "limit" if attempt.limit else "failed"
        changes = self.repository.changes(tree)
        record = self.tally.add(
            replace(
                turn,
                seconds=time.time() - turn.began,
                result="success" if attempt.succeeded else failed,
                status=status,
                error=None if attempt.succeeded else f"exit status {status}" if status else "no response",
                session=validate_session_id(analysis.session_id) if analysis else None,
                files_changed=changes.count if changes else None,
                committed=changes.committed if changes else None,
            ),
            analysis.usage if analysis else None,
        )
        if self.records is not None:
            self.records.write(record)
        return attempt, record

    def _keep_interrupted(self, why: str) -> None:
        if self.records is not None and self.under_way is not None:
            with suppress(BridgeError):
                self.records.write(self.tally.add(interrupted(self.under_way, why, time.time())))
        self.under_way = None

    def _beside(self, hook: str) -> Events:
        """A hook before or after the agent; one that hangs is named, and ended at its deadline."""
        call = self.agent.pre_iteration if hook == "agent_pre_iteration" else self.agent.post_iteration
        told: list[str] = []

        def say(text: str) -> None:
            told.append(text)
            self.log.write(text + "\n")

        try:
            with named_when_slow(hook, self.session.limits.night.hook_seconds, say):
                reply = call(host_streams=True)
        except HookTimeout as error:
            yield from map(Notice, told)
            yield Notice(f"{hook} was ended: it took longer than {self.session.limits.night.hook_seconds:g} s")
            yield from self._hook_said(error.stdout, error.stderr)
            return
        yield from map(Notice, told)
        yield from self._hook(reply)

    # -- time ----------------------------------------------------------------------------------------

    def _left(self) -> float | None:
        return None if self.ends_at is None else max(0.0, self.ends_at - time.monotonic())

    def _time_is_up(self) -> bool:
        return self.ends_at is not None and time.monotonic() >= self.ends_at

    def _shown_limit(self) -> str:
        limits = self.session.limits
        if self._time_is_up() and limits.max_seconds is not None:
            return f"the session's {limits.max_seconds / 60:g} minutes are over"
        return f"{(limits.turn_seconds or 0) / 60:g} minutes"

    def _wait_for(self, limit: Limit) -> Events:
        limits = self.session.limits
        seconds = limit_wait(limit, limits.night.pauses)
        until = datetime.fromtimestamp(time.time() + seconds)
        said = limit.text or f"the provider's {limit.kind} limit"
        yield from self._lines([f"API limit: {said}; waiting until {until:%Y-%m-%d %H:%M:%S}"])
        yield from self._pause("api_limit", said, seconds)

    def _pause(self, reason: str, detail: str, seconds: float) -> Events:
        """Wait, at most until the session's end."""
        left = self._left()
        seconds = seconds if left is None else min(seconds, left)
        if self.active is not None:
            self.active.waiting(Pause(reason, detail, time.time() + seconds))
        until, ends_at = time.monotonic() + seconds, datetime.now().astimezone() + timedelta(seconds=seconds)
        first, state = True, LoopState(iteration=self.iterations)
        while (more := until - time.monotonic()) > 0:
            yield Waiting(self.iterations, reason, detail, ends_at, more, first, state)
            first = False
            time.sleep(min(more, 1.0))
        if self.active is not None:
            self.active.waiting(None)

    def _capture(self) -> str:
        return str(self.session.home / "last_agent_output")

    # -- around it -----------------------------------------------------------------------------------

    def _count_context(self) -> Events:
        told = self.agent.context()
        percent, window = told.percent or "", told.maximum or ""
        if self.session.strict and percent and not policy.is_integer(percent):
            raise HookError(f"_ITER_CONTEXT_PCT is {percent!r}, no whole number", hook="agent_post_iteration")
        counted = self.state.context.counted(percent, window)
        if counted is None:
            yield Notice(f"_ITER_CONTEXT_PCT is {percent!r}, no number; it is left out of the summary")
        else:
            self.state = replace(self.state, context=counted)

    def _last_words(self, ending: Ending) -> Events:
        job = self.session.job
        if ending is policy.ENDED_REPLAN:
            yield from self._lines([logs.replan(self._plan_command())])
        elif ending is policy.ENDED_COMPLETE and job.mode == "build" and job.process:
            yield from self._lines(logs.nudge())

    def _plan_command(self) -> str:
        plan = self.session.job.plan
        return (plan_command(read(plan)) if plan.is_file() else "") or "ralph plan"

    def _summary(self, ending: Ending) -> list[str]:
        seconds = int(time.time()) - self.began
        return logs.summary(self.state, ending, iterations=self.iterations, seconds=seconds)

    def _write_summary(self, ending: Ending) -> None:
        with suppress(BridgeError):
            self.log.write("".join(line + "\n" for line in ("", *self._summary(ending))[not self.log.line_open :]))

    def _lines(self, lines: Iterable[str]) -> Events:
        for line in lines:
            if self.log.line_open and not self.session.strict:
                self.log.write("\n")
            self.log.write(line + "\n")
            yield Line(line)

    def _hook(self, reply: Reply | None) -> Events:
        if reply is not None:
            yield from self._hook_said(reply.stdout, reply.stderr)

    def _hook_said(self, stdout: str, stderr: str) -> Events:
        if stdout:
            yield HookText(stdout)
        if stderr:
            yield HookText(stderr, error=True)


def _interrupted(error: BaseException) -> Ending:
    code = 130 if isinstance(error, KeyboardInterrupt) else getattr(error, "code", 1)
    names = {130: "interrupted by SIGINT", 143: "ended by SIGTERM", 129: "ended by SIGHUP"}
    return Ending(code, names[code]) if code in names else Ending(1, "interrupted")


@contextmanager
def _temporary(text: str) -> Iterator[str]:
    """The filled prompt as a file of its own, gone when the block ends, however it ends."""
    with usable("the prompt's temporary file"):
        descriptor, path = tempfile.mkstemp(prefix="ralph-prompt-", suffix=".md")
    try:
        with usable("the prompt's temporary file"), os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
        yield path
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)
