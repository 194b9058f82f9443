"""The loop of a ralph-loop setup: yields events, writes the session's log, decides nothing itself."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

from bridge.errors import BridgeError, HookError, HookExited
from bridge.files import usable
from bridge.loop.backoff import back_off
from bridge.setups.ralph_loop import decide, logs
from bridge.setups.ralph_loop.decide import Attempt, Context, Ending
from bridge.setups.ralph_loop.events import Display, Ended, HookText, Line, Notice
from bridge.setups.ralph_loop.plan import plan_command
from bridge.setups.ralph_loop.preflight import NO_PLAN, read
from bridge.setups.ralph_loop.prompts import Prompts, slices

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from bridge.agent import Agent
    from bridge.setups.ralph_loop.events import SessionEvent
    from bridge.setups.ralph_loop.session import Session
    from bridge.shell import Reply

    Events = Generator[SessionEvent, None, None]

__all__ = ["run_session"]


def run_session(agent: Agent, session: Session) -> Events:
    """Run a session to its end; the last event is `Ended`, with the exit code.

    Ctrl-C (KeyboardInterrupt) and what the command line makes of TERM and HUP (SystemExit) may be thrown in: the
    agent's program is ended with all that it started, the summary is written, and `Ended` has 130, 143 or 129.

    Args:
        agent: loaded into a bash with the variables of ``config``.
        session: what to do.

    Raises:
        bridge.errors.ProjectUnusable: the log can't be made.
    """
    run = _Run(agent, session)
    with closing(run.log):
        yield from run.run()


class _Run:
    def __init__(self, agent: Agent, session: Session) -> None:
        self.agent = agent
        self.session = session
        self.log = logs.SessionLog(session.home / "logs", session.job.mode, datetime.now())
        self.began = int(time.time())
        self.iterations = self.successful = self.failed = 0
        self.context = Context()
        self.line_open = False

    def run(self) -> Events:
        try:
            ending = yield from self._loop()
        except GeneratorExit:
            self._write_summary(Ending(1, "the host has closed the session"))
            raise
        except (KeyboardInterrupt, SystemExit) as signal:
            ending = _interrupted(signal)
        except HookExited as left:
            yield from self._hook_said(left.stdout, left.stderr)
            ending = Ending(left.status or 0, f"{left.hook} {'failed' if left.state_lost else 'called exit'}")
            if self.session.strict:  # the original is simply gone
                yield Ended(ending.code, ending.reason)
                return
        except (BridgeError, OSError) as error:
            yield Notice(f"Error: {error}")
            ending = Ending(1, f"{error.hook} failed" if isinstance(error, HookError) else "error")
            if self.session.strict:
                yield Ended(ending.code, ending.reason)
                return
        yield from self._lines(self._summary(ending))
        yield Ended(ending.code, ending.reason)

    # -- the loop ------------------------------------------------------------------------------------

    def _loop(self) -> Generator[SessionEvent, None, Ending]:
        shell = self.agent.shell
        shell.update({"SESSION_LOG": str(self.log.path), "session_start": self.began})
        prompts = Prompts(shell, self.session)
        for iteration in range(1, self.session.limits.max_iterations + 1):
            if self.session.job.mode == "build" and (iteration == 1 or not self.session.strict):
                ending = yield from self._cut_plan(prompts)
                if ending is not None:
                    return ending
            self.iterations = iteration
            self.agent.reset_context()
            attempt = yield from self._iterate(prompts, iteration)
            self.successful += attempt.succeeded
            self.failed += not attempt.succeeded
            yield from self._count_context()
            ending = decide.after_iteration(attempt, strict=self.session.strict)
            if ending is not None:
                yield from self._last_words(ending)
                return ending
        return decide.ENDED_AT_MOST

    def _cut_plan(self, prompts: Prompts) -> Generator[SessionEvent, None, Ending | None]:
        """Give this iteration its part of the plan, or end the loop when there is none to give."""
        job = self.session.job
        if not job.plan.is_file():
            yield Notice(NO_PLAN)
            return Ending(2, "implementation plan not found")
        cut = slices(read(job.plan), process=job.process, strict=self.session.strict)
        if cut.complete:
            yield from self._lines(["All tasks of the implementation plan are complete."])
            yield from self._last_words(decide.ENDED_COMPLETE)
            return decide.ENDED_COMPLETE
        if cut.waiting:
            way_out = f"Run '{self._plan_command()}' to regenerate the plan, or edit it."
            yield from self._lines([decide.blocked(cut.waiting), way_out])
            return decide.ENDED_REPLAN
        prompts.take(cut)
        return None

    def _iterate(self, prompts: Prompts, iteration: int) -> Generator[SessionEvent, None, Attempt]:
        limits = self.session.limits
        repeated = 0
        while True:
            attempt = yield from self._attempt(prompts, iteration, repeated)
            if not decide.retries(attempt, repeated, limits.max_retries):
                return attempt
            repeated += 1
            yield from self._lines([logs.retry(repeated, limits.max_retries)])
            if pause := back_off(limits.retry_delay, repeated):
                time.sleep(pause)

    def _attempt(self, prompts: Prompts, iteration: int, repeated: int) -> Generator[SessionEvent, None, Attempt]:
        job, began = self.session.job, int(time.time())
        shell = self.agent.shell
        yield from self._lines(logs.begins(iteration, datetime.now(), job.mode, job.shown))
        with _temporary(prompts.text()) as path:
            shell.update(
                {"iteration": iteration, "retry": repeated, "iter_start": began, "tmp_prompt": path, "agent_rc": 0}
            )
            yield from self._hook(self.agent.pre_iteration(host_streams=True))
            status = yield from self._pipeline(path)
        response = self.agent.extract_response(self._capture()).rstrip("\n") if status == 0 else ""
        attempt = Attempt(status, response)
        if attempt.empty:
            yield from self._lines([logs.NO_RESPONSE])
        yield from self._lines(logs.done(iteration, int(time.time()) - began))
        shell["agent_rc"] = status or int(attempt.empty)
        yield from self._hook(self.agent.post_iteration(host_streams=True))
        yield from self._lines([logs.RULE])
        return attempt

    def _pipeline(self, prompt: str) -> Generator[SessionEvent, None, int]:
        """The agent, through its own display filter; the status is that of the rightmost stage that failed."""
        whole = not self.session.strict
        with usable("last_agent_output"):
            capture = open(self._capture(), "wb", buffering=0)  # noqa: SIM115
        with (
            capture as raw,
            self.agent.invoke(prompt, tee=raw, end_line=whole) as running,
            self.agent.format_display(running, end_line=whole) as display,
        ):
            for text in display:
                self._logged(text)
                yield Display(text)
        return display.status or running.status or 0

    def _capture(self) -> str:
        return str(self.session.home / "last_agent_output")

    # -- around it -----------------------------------------------------------------------------------

    def _count_context(self) -> Events:
        told = self.agent.context()
        percent, window = told.percent or "", told.maximum or ""
        if self.session.strict and percent and not decide.is_integer(percent):
            raise HookError(f"_ITER_CONTEXT_PCT is {percent!r}, no whole number", hook="agent_post_iteration")
        counted = decide.context(self.context, percent, window)
        if counted is None:
            yield Notice(f"_ITER_CONTEXT_PCT is {percent!r}, no number; it is left out of the summary")
        else:
            self.context = counted

    def _last_words(self, ending: Ending) -> Events:
        job = self.session.job
        if ending is decide.ENDED_REPLAN:
            yield from self._lines([logs.replan(self._plan_command())])
        elif ending is decide.ENDED_COMPLETE and job.mode == "build" and job.process:
            yield from self._lines(logs.nudge())

    def _plan_command(self) -> str:
        plan = self.session.job.plan
        return (plan_command(read(plan)) if plan.is_file() else "") or "ralph plan"

    def _summary(self, ending: Ending) -> list[str]:
        return logs.summary(
            ending,
            iterations=self.iterations,
            successful=self.successful,
            failed=self.failed,
            seconds=int(time.time()) - self.began,
            context=self.context,
        )

    def _write_summary(self, ending: Ending) -> None:
        with suppress(BridgeError):
            self._logged("".join(line + "\n" for line in ("", *self._summary(ending))[not self.line_open :]))

    def _lines(self, lines: Iterable[str]) -> Events:
        for line in lines:
            if self.line_open and not self.session.strict:
                self._logged("\n")
            self._logged(line + "\n")
            yield Line(line)

    def _logged(self, text: str) -> None:
        self.log.write(text)
        if text:
            self.line_open = not text.endswith("\n")

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
