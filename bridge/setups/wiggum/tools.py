"""One turn of the agent: by a driver, on the engine of the other setups; or by an agent script."""

from __future__ import annotations

import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridge.errors import ProgramNotFound
from bridge.loop.decide import Limits
from bridge.loop.events import IterationEnded, LoopEnded, OutputText
from bridge.loop.options import LoopSettings
from bridge.loop.outcome import Outcome, failure_of
from bridge.loop.runner import run_loop
from bridge.setups.wiggum import files
from bridge.setups.wiggum.store import TurnStore, log_names
from bridge.setups.wiggum.tool_errors import logged_errors
from bridge.setups.wiggum.turns import Reply

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from bridge.agent import Agent
    from bridge.loop.events import LoopEvent
    from bridge.loop.ports import LoopDriver
    from bridge.setups.wiggum.layout import Layout
    from bridge.shell.jobs import Job

__all__ = ["AgentTool", "DriverTool"]


@dataclass(frozen=True, slots=True)
class DriverTool:
    """A driver's CLI, without a session: each turn has a context of its own.

    Attributes:
        driver: builds the command.
        live: show events as they come, where the driver can.
        timeout: seconds that a turn may take, or None.
    """

    driver: LoopDriver
    live: bool = True
    timeout: float | None = None

    def turn(self, layout: Layout, number: int, seconds: float | None) -> Generator[LoopEvent, None, Reply]:
        """Run one iteration of the engine. A provider's limit is waited out in it, and is no turn."""
        until = None if seconds is None else time.monotonic() + seconds
        settings = LoopSettings(
            project=layout.project,
            prompt=str(layout.turn_prompt.relative_to(layout.project)),
            limits=Limits(max_iterations=number, max_failures=0),
            live=self.live,
            timeout=_sooner(self.timeout, seconds),
            resume=False,
        )
        reply = Reply(failure="the agent was not run")
        store = TurnStore(layout, number)
        with closing(run_loop(self.driver, settings, store=store)) as events:
            for event in events:
                if until is not None and time.monotonic() >= until and not isinstance(event, IterationEnded):
                    # A run that is repeated behind a provider's limit, or the wait for its end.
                    reply = _CUT
                    break
                if isinstance(event, IterationEnded):
                    outcome = event.outcome
                    analysis = outcome.analysis
                    said = (analysis.last_text or analysis.text) if analysis else ""
                    excused = outcome.timed_out or outcome.silent
                    reply = Reply(said, failure_of(outcome), excused)
                elif not isinstance(event, LoopEnded):
                    yield event
        return replace(reply, tool_errors=logged_errors(store.logs.output)) if store.logs else reply


@dataclass(frozen=True, slots=True)
class AgentTool:
    """An agent script, its program run and shown as its controller does.

    Attributes:
        agent: the script.
        timeout: seconds that its program may run in a turn, or None.
    """

    agent: Agent
    timeout: float | None = None

    def turn(self, layout: Layout, number: int, seconds: float | None) -> Generator[LoopEvent, None, Reply]:
        """Run the hooks of one iteration.

        Raises:
            ProgramNotFound: there is no ``AGENT_CLI``.
        """
        agent, logs = self.agent, log_names(layout, number)
        if not agent.shell.call("command", "-v", "--", agent.cli).ok:
            raise ProgramNotFound(
                f"{agent.cli} was not found on PATH; {agent.script} needs it\n"
                "  next: install it, or put the folder that holds it on PATH"
            )
        agent.shell.update({"SESSION_LOG": str(layout.folder / "logs" / "session.log"), "iteration": number})
        agent.reset_context()
        agent.pre_iteration()
        with files.usable():
            raw = open(logs.output, "wb", buffering=0)  # noqa: SIM115
        with (
            raw,
            agent.invoke(layout.turn_prompt, stdin=b"", tee=raw) as running,
            _ended_after(_sooner(self.timeout, seconds), running) as timed_out,
            agent.format_display(running) as display,
        ):
            for text in display:
                yield OutputText(number, text)
        status = display.status or running.status or 0
        errors = logged_errors(logs.output)
        if timed_out.is_set():
            agent.post_iteration()
            return replace(_CUT, tool_errors=errors)
        said = agent.extract_response(logs.output).rstrip("\n") if status == 0 else ""
        agent.post_iteration()
        if status:
            return Reply(failure=f"exit status {status}", tool_errors=errors)
        silent = None if said else "the agent gave no response"
        return Reply(said, silent, excused=not said, tool_errors=errors)


_CUT = Reply(failure=failure_of(Outcome(timed_out=True)), excused=True)


def _sooner(*seconds: float | None) -> float | None:
    return min((each for each in seconds if each is not None), default=None)


@contextmanager
def _ended_after(seconds: float | None, job: Job) -> Iterator[threading.Event]:
    """End a job that runs for longer; the event says that it did."""
    over = threading.Event()
    if seconds is None:
        yield over
        return

    def end() -> None:
        over.set()
        job.terminate()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield over
    finally:
        timer.cancel()
        timer.join()
