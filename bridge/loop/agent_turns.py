"""An agent script as the loop's tool: one turn is its hooks, and its program shown through its own filter."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.errors import BridgeError, ProgramNotFound
from bridge.files import usable, write_atomic
from bridge.loop.events import Notice, OutputText
from bridge.loop.turn import Run, not_started, tail
from bridge.loop.turn_logs import TurnLog
from bridge.process.leftovers import MARK
from bridge.shell.protocol import quote
from bridge.stream.analysis import Analyzer
from bridge.turn.agent import AgentEnd, run_agent, run_hook

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from bridge.agent import Agent
    from bridge.loop.events import LoopEvent
    from bridge.loop.options import LoopSettings
    from bridge.loop.ports import RunLogs, Store
    from bridge.stream.analysis import Analysis, RunFacts

__all__ = ["AgentTurns"]


class AgentTurns:
    """Runs the turns of one loop; see :class:`bridge.loop.ports.Tool`.

    The agent gets one file: what a driver's agent is told beside its prompt, and the prompt.

    Args:
        agent: the script, in a bash whose environment lacks the mark of the loop.
        settings: the loop's.
        store: is told of each event.
        prompt: where to write the prompt of a turn.
        hook_seconds: what a hook beside the program may take, as the agent's shell sees to it.
    """

    reviewer = None

    def __init__(
        self, agent: Agent, settings: LoopSettings, store: Store, *, prompt: Path, hook_seconds: float
    ) -> None:
        self._agent = agent
        self._settings = settings
        self._store = store
        self._prompt = prompt
        self._hook_seconds = hook_seconds
        self._began = int(time.time())
        # What the agent starts hands it on; the shell itself doesn't show it, and so is no leftover.
        agent.shell.execute(f"export {MARK}={quote(str(settings.project))}")

    def supports_sessions(self) -> bool:
        """No hook takes a session: each turn has a context of its own."""
        return False

    def recover_session_id(self, _output_file: str) -> str | None:
        """There is none to come back to."""
        return None

    def denial_help(self) -> str:
        """No hook says what to do about refused tools."""
        return ""

    def command(self, context: str, _session: str | None, *, first: bool) -> tuple[list[str], bool, str]:
        """Write the prompt, and see whether the program is there; what fails in the first turn is raised.

        Raises:
            bridge.errors.ProgramNotFound: there is no ``AGENT_CLI``.
            bridge.errors.ProjectUnusable: the prompt can't be read, or not be written.
        """
        agent = self._agent
        try:
            if not agent.shell.call("command", "-v", "--", agent.cli).ok:
                raise ProgramNotFound(
                    f"{agent.cli} was not found on PATH; {agent.script} needs it\n"
                    "  next: install it, or put the folder that holds it on PATH"
                )
            text = prompt_text(self._settings, context)
            with usable("the prompt of the turn"):
                write_atomic(self._prompt, text)
        except BridgeError as error:
            if first:
                raise
            return [], False, str(error).split("\n", 1)[0]
        return [agent.cli], True, ""

    def run(
        self, iteration: int, _argv: list[str], logs: RunLogs, *, live: bool, timeout: float | None
    ) -> Generator[LoopEvent, None, Run]:
        """Run the hooks of one turn, with the program between them.

        Raises:
            bridge.errors.HookExited: a hook called ``exit``, which ends the loop.
            bridge.errors.BridgeError: the program can't be started, in the first turn; a file can't be written.
        """
        events = self._turn(iteration, logs, live=live, timeout=timeout)
        with closing(events):
            while True:
                try:
                    event = next(events)
                except StopIteration as stop:
                    run: Run = stop.value
                    return run
                self._store.record(event)
                yield event

    def _turn(
        self, iteration: int, logs: RunLogs, *, live: bool, timeout: float | None
    ) -> Generator[LoopEvent, None, Run]:
        agent = self._agent
        agent.shell.update(
            {
                "SESSION_LOG": str(logs.output.parent / "ralph.log"),
                "session_start": self._began,
                "iteration": iteration,
                "retry": 0,
                "iter_start": int(time.time()),
                "tmp_prompt": str(self._prompt),
                "agent_rc": 0,
            }
        )
        agent.reset_context()
        yield from map(Notice, run_hook(agent, "agent_pre_iteration", self._hook_seconds))
        with usable(f"the log {logs.output}"):
            raw = TurnLog(logs.output, self._settings.turn_log_bytes)
        end, shown = AgentEnd(127), False
        try:
            with (
                raw,
                closing(
                    run_agent(
                        agent,
                        self._prompt,
                        raw,
                        stdin=b"",
                        stderr=logs.stderr,
                        grace=self._settings.graces.interrupt,
                        timeout=timeout,
                    )
                ) as texts,
            ):
                while True:
                    try:
                        text = next(texts)
                    except StopIteration as stop:
                        end = stop.value
                        break
                    self._store.show(text.encode("utf-8", "surrogateescape"))
                    if live and self._settings.live:
                        shown = shown or bool(text.strip())
                        yield OutputText(iteration, text)
        except ProgramNotFound as error:
            if iteration == 1:
                raise
            return not_started(str(error).split("\n", 1)[0])
        response = agent.extract_response(logs.output).rstrip("\n") if end.status == 0 else ""
        agent.shell["agent_rc"] = end.status
        yield from map(Notice, run_hook(agent, "agent_post_iteration", self._hook_seconds))
        heard = _Heard(logs.output, response if end.status == 0 else None)
        return Run(end.status, end.timed_out, False, heard, tail(logs.stderr), None, shown)


def prompt_text(settings: LoopSettings, context: str) -> bytes:
    """Give the prompt of a turn: where the loop stands, and what people have written.

    Raises:
        bridge.errors.ProjectUnusable: the prompt can't be read.
    """
    with usable("the prompt"):
        written = (settings.project / settings.prompt).read_bytes()
    return context.encode("utf-8", "surrogateescape") + b"\n\n" + written


class _Heard:
    """What a turn came to: the agent's words as its own script finds them, the rest from the raw output.

    Args:
        output: all that the program printed.
        response: what the agent itself said; None: the program failed, and its output says why.
    """

    def __init__(self, output: Path, response: str | None) -> None:
        self._response = response
        self._raw = Analyzer()
        try:
            with open(output, "rb") as file:
                for line in file:
                    self._raw.feed(line)
        except OSError:  # the agent has tidied up: `git clean -fdx` takes ignored logs, too
            pass

    def finish(self, facts: RunFacts) -> Analysis:
        """See :meth:`bridge.stream.analysis.Analyzer.finish`."""
        raw = self._raw.finish(facts)
        if self._response is None:
            return raw
        words = Analyzer()
        words.feed(self._response.encode("utf-8", "surrogateescape"))
        return replace(
            words.finish(facts),
            family="text",
            text=self._response,
            completed_turn=None,
            usage=raw.usage,
            has_permission_denials=raw.has_permission_denials,
            permission_denial_count=raw.permission_denial_count,
            denied_commands=raw.denied_commands,
            is_error=raw.is_error,
            error=raw.error,
            limit=raw.limit,
        )
