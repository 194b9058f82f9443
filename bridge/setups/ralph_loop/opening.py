"""From a command line to a session that is ready: what the controller does before its loop, in its order."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError, HookExited, SessionRefused
from bridge.files import usable
from bridge.loop.active import ActiveRun
from bridge.loop.events import IterationEnded, IterationStarted, LoopEnded, Notice, OutputText, Waiting
from bridge.loop.night import night
from bridge.loop.policy import LoopState, Verdict
from bridge.loop.turn_records import Totals
from bridge.process.leftovers import MARK
from bridge.setups.projects import other_folders
from bridge.setups.ralph_loop import policy, preflight
from bridge.setups.ralph_loop.arguments import LOOP_MODES, Refusal, Request, parse
from bridge.setups.ralph_loop.controller import original_text
from bridge.setups.ralph_loop.events import Display, Ended, HookText
from bridge.setups.ralph_loop.events import Notice as SessionNotice
from bridge.setups.ralph_loop.runner import run_session
from bridge.setups.ralph_loop.settings import TURN_MINUTES, Limits, Session, exit_called, read_config, source_file
from bridge.shell.protocol import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from pathlib import Path

    from bridge.agent import Agent
    from bridge.loop.events import LoopEvent
    from bridge.setups.model import Setup
    from bridge.setups.ralph_loop.events import SessionEvent
    from bridge.setups.ralph_loop.settings import Config, Options
    from bridge.shell import Reply, Shell

    Tell = Callable[[HookText], None]


@dataclass(frozen=True, slots=True)
class Opened:
    """A session that may start."""

    agent: Agent
    session: Session
    active: ActiveRun | None

    def events(self) -> Generator[LoopEvent, None, None]:
        """Run it.

        Raises:
            KeyboardInterrupt, SystemExit: it came while the session ran; the summary is written.
        """
        yield from _as_loop_events(run_session(self.agent, self.session, self.active))


@contextmanager
def open_loop(setup: Setup, request: Request, options: Options, tell: Callable[[str], None]) -> Iterator[Opened]:
    """Check everything, load the agent and take the lock, all of which is let go of when the block ends.

    Args:
        setup: where.
        request: a loop mode with its words.
        options: see there.
        tell: gets what sourced files print.

    Raises:
        bridge.errors.BridgeError: see :func:`ready`.
    """

    def show(text: HookText) -> None:
        tell(text.text.rstrip("\n"))

    with ready(setup.home, setup.project, request, options, show) as (agent, session, active):
        yield Opened(agent, session, active)


def request_of(
    setup: Setup, words: Sequence[str] = (), *, prompt: str | None = None, max_iterations: int | None = None
) -> Request:
    """Read what is asked for.

    Args:
        setup: where.
        words: of the controller's command line; none: build when there is a plan with tasks, else plan.
        prompt: a prompt file, as the project sees it, instead of words.
        max_iterations: wins over the words.

    Raises:
        ConfigurationError: the words make no sense, or ask for no loop.
    """
    if prompt is not None and words:
        raise ConfigurationError("a prompt and words exclude each other\n  next: give one of them")
    request = parse(
        [*words] or (["prompt", prompt] if prompt is not None else [preflight.default_mode(setup.home)])
    )
    if isinstance(request, Refusal) or request.mode not in LOOP_MODES:
        why = request.message if isinstance(request, Refusal) else ""
        why = why or f"{' '.join(words)!r} asks for no loop"
        raise ConfigurationError(f"{why}\n  next: one of {', '.join(LOOP_MODES)}, and what they take")
    return request if max_iterations is None else replace(request, iterations=str(max_iterations))


@contextmanager
def ready(
    home: Path, folder: Path, request: Request, options: Options, tell: Tell, *, lock: bool = True
) -> Iterator[tuple[Agent, Session, ActiveRun | None]]:
    """Do the start-up and the checks, and have the agent loaded while the block runs.

    Args:
        home: folder of the setup's own files.
        folder: the working folder.
        request: a loop mode with its words.
        options: see there.
        tell: gets what sourced files print.
        lock: keep other loops out of `home`.

    Raises:
        SessionRefused: a check failed; the message and the exit code are the controller's.
        ProjectBusy: another loop is at work there.
        bridge.errors.BridgeError: the agent's script can't be loaded.
    """
    wanted = night(os.environ)
    with loaded(home, folder, request, options, tell, timeout=wanted.hook_seconds) as (agent, config):
        preflight.repository(folder, strict=options.strict)
        _program(agent)
        preflight.specs(folder, config)
        job = preflight.job(home, folder, config, process=request.process, prompt_file=request.prompt_file)
        delay = config.retry_delay if options.retry_delay is None else options.retry_delay
        limits = Limits(
            config.max_iterations,
            config.max_retries,
            delay,
            options.max_seconds,
            TURN_MINUTES * 60 if options.turn_seconds is None else options.turn_seconds,
            replace(wanted, retry_seconds=delay),
        )
        session = Session(home, folder, config, job, limits, options.strict)
        if not lock:
            yield agent, session, None
            return
        state = home / "logs"
        with usable("the folder for logs"):
            state.mkdir(parents=True, exist_ok=True)
        others = other_folders(state, folder)
        tool = f"agent {config.agent}"
        with ActiveRun(state, folder, command=sys.argv, tool=tool, others=others) as active:
            # What the agent starts hands it on; the shell itself doesn't show it, and so is no leftover.
            agent.shell.execute(f"export {MARK}={quote(str(folder))}")
            for line in active.notices:
                tell(HookText(f"{line}\n", error=True))
            yield agent, session, active


@contextmanager
def loaded(
    home: Path,
    folder: Path,
    request: Request,
    options: Options,
    tell: Tell,
    *,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Iterator[tuple[Agent, Config]]:
    """Source what every start does, in its order: ``config``, the controller's library, the agent's script.

    Args:
        home, folder, request, options, tell: as for :func:`ready`, which see for what is raised.
        env: the environment; None: this process's own.
        timeout: seconds that each script may take, and each hook; None: as long as it likes.
    """
    from bridge.agent import open_shell

    with open_shell(cwd=folder, env=env, timeout=timeout) as shell:
        shell.update({"RALPH_DIR": str(home), "RALPH_HOME": os.path.relpath(home, folder.resolve())})
        config = read_config(shell, home / "config", options, mode=request.mode, iterations=request.iterations)
        _show(tell, config.output)
        _sandbox(shell, home, tell)
        yield _agent(shell, home, config, options, tell), config


def _show(tell: Tell, reply: Reply) -> None:
    if reply.stdout:
        tell(HookText(reply.stdout))
    if reply.stderr:
        tell(HookText(reply.stderr, error=True))


def _sandbox(shell: Shell, home: Path, tell: Tell) -> None:
    """The controller's own library. Nothing of ours needs it, but agents may, where their controller does."""
    path = home / "lib" / "sandbox.sh"
    if path.is_file():
        _show(tell, source_file(shell, path))
    elif b"sandbox.sh" in original_text(home / "ralph"):
        raise SessionRefused(f"Error: {path} is missing: the controller sources it at every start")


def _agent(shell: Shell, home: Path, config: Config, options: Options, tell: Tell) -> Agent:
    from bridge.agent import Agent

    script = preflight.agent_script(home, config.agent) if options.agent is None else options.agent
    try:
        agent = Agent.load(script, shell=shell, folders=[home / "agents"], lift=options.lift)
    except HookExited as left:
        raise exit_called(script, left) from left
    if agent.sourced is not None:
        _show(tell, agent.sourced)
    return agent


def _program(agent: Agent) -> None:
    """The agent's program, as ``command -v`` finds it: a function will do."""
    if not agent.cli:
        raise SessionRefused(f"Error: {agent.script} does not set AGENT_CLI")
    if not agent.shell.call("command", "-v", "--", agent.cli).ok:
        raise SessionRefused(f"Error: agent CLI not found in PATH: {agent.cli}")


def _as_loop_events(events: Generator[SessionEvent, None, None]) -> Generator[LoopEvent, None, None]:
    """The lines of the log stay in the log, whose path the events have."""
    began, turn, totals = time.monotonic(), 0, Totals()
    try:
        for event in events:
            match event:
                case Display() | HookText(error=False):
                    yield OutputText(turn, event.text)
                case SessionNotice() | HookText():
                    yield Notice(event.text.rstrip("\n"))
                case IterationStarted():
                    turn = event.iteration
                    yield event
                case IterationEnded():
                    totals = totals if event.turn is None else totals.with_turn(event.turn)
                    yield event
                case Waiting():
                    yield event
                case Ended():
                    if event.signal is not None:
                        raise event.signal
                    complete = event.reason == policy.ENDED_COMPLETE.reason
                    verdict = Verdict.COMPLETE if complete else Verdict.INCOMPLETE
                    seconds = time.monotonic() - began
                    state = LoopState(iteration=turn)
                    yield LoopEnded(verdict, event.reason, event.reason, turn, seconds, state, totals)
    finally:
        events.close()
