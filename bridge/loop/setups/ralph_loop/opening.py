"""From a command line to a session that is ready: what the controller does before its loop, in its order."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.files import make_folder, usable
from bridge.base.records import dataclass
from bridge.errors import ConfigurationError, HookExited, ProgramNotFound, SessionRefused
from bridge.loop.engine.events import HookText, LoopEnded
from bridge.loop.engine.loop_settings import night
from bridge.loop.engine.policy import Limits
from bridge.loop.engine.runner import run_loop
from bridge.loop.setups.asked import asked_settings
from bridge.loop.setups.box_options import box_of
from bridge.loop.setups.projects import active_run
from bridge.loop.setups.ralph_loop import settings
from bridge.loop.setups.ralph_loop.controller import LOOP_MODES, RalphRequest, Refusal, original_text, parse
from bridge.loop.setups.ralph_loop.handler import SessionHandler, own_files, protected
from bridge.loop.setups.ralph_loop.policy import SessionPolicy, SessionState
from bridge.loop.setups.ralph_loop.settings import TURN_MINUTES, RalphSession, exit_called, read_config, source_file
from bridge.loop.setups.setup_kind import Opened
from bridge.loop.turn.agent import AgentTool, hook_texts
from bridge.loop.turn.language_model import refuse_for_agent

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

    from bridge.loop.engine.active_run import ActiveRun
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.ralph_loop.settings import Config
    from bridge.loop.setups.setup_kind import Setup
    from bridge.scripts.agent import Agent
    from bridge.shell import Reply, Shell

    Tell = Callable[[HookText], None]


@dataclass(frozen=True, slots=True)
class OpenedSession(Opened):
    agent: Agent  # loaded into a bash with the variables of ``config``
    session: RalphSession
    active: ActiveRun  # holds the project
    handler: SessionHandler

    def run(self) -> Generator[LoopEvent, None, None]:
        """Run it to its end, whose `status` is the controller's exit code.

        Ctrl-C (KeyboardInterrupt) and what the command line makes of TERM and HUP (SystemExit) may be thrown in:
        the agent's program is ended with all that it started and the summary is written; 130, 143 or 129 is the
        status.
        """
        session = self.session
        policy = SessionPolicy(session.loop.limits, session.loop.pauses, session.max_retries, session.strict)
        tool = AgentTool(self.agent, session.loop, as_controller=True, end_line=not session.strict)
        return run_loop(tool, policy, self.handler, session.loop, active=self.active, state=SessionState())

    def events(self) -> Generator[LoopEvent, None, None]:
        """The same for a library, which must not swallow signals: they are raised behind the summary."""
        with closing(self.run()) as events:
            for event in events:
                if isinstance(event, LoopEnded) and self.handler.interrupted_by is not None:
                    raise self.handler.interrupted_by
                yield event


@contextmanager
def open_loop(setup: Setup, options: RunOptions, tell: Callable[[str], None]) -> Iterator[OpenedSession]:
    """Check everything, load the agent and take the lock, all of which is let go of when the block ends.

    `tell` gets what sourced files print; see :func:`ready` for what else is raised.

    Raises:
        ConfigurationError: the words of the options make no sense, or ask for no loop.
        ProjectBusy: another loop is at work there.
    """

    def show(text: HookText) -> None:
        tell(text.text.rstrip("\n"))

    request = _request(setup, options)
    with ready(setup, request, options, show) as (agent, session), hold(agent, session) as opened:
        yield opened


def _request(setup: Setup, options: RunOptions) -> RalphRequest:
    """Without words or a prompt: build when there is a plan with tasks, else plan."""
    words, prompt = [*options.words], options.prompt
    if prompt is not None and words:
        raise ConfigurationError("a prompt and words exclude each other\n  next: give one of them")
    request = parse(words or (["prompt", prompt] if prompt is not None else [settings.default_mode(setup.home)]))
    if isinstance(request, Refusal) or request.mode not in LOOP_MODES:
        why = request.message if isinstance(request, Refusal) else ""
        why = why or f"{' '.join(words)!r} asks for no loop"
        raise ConfigurationError(f"{why}\n  next: one of {', '.join(LOOP_MODES)}, and what they take")
    most = options.max_iterations
    return request if most is None else replace(request, iterations=str(most))


@contextmanager
def hold(agent: Agent, session: RalphSession) -> Iterator[OpenedSession]:
    """Keep other loops out of the project while the block runs. Raises ProjectBusy."""
    handler, folder = SessionHandler(agent, session), session.loop.project
    with usable("the folder for logs"):
        make_folder(handler.store.logs)
    with active_run(handler.store.logs, folder, f"agent {session.config.agent}") as active:
        yield OpenedSession(agent, session, active, handler)


@contextmanager
def ready(
    setup: Setup, request: RalphRequest, options: RunOptions, tell: Tell
) -> Iterator[tuple[Agent, RalphSession]]:
    """Do the start-up and the checks, and have the agent loaded while the block runs.

    Raises:
        SessionRefused: a check failed; the message and the exit code are the controller's.
        bridge.errors.BridgeError: the agent's script can't be loaded.
    """
    home, folder, wanted = setup.home, setup.project, night(os.environ)
    box = box_of(folder, options, protected(home, folder))
    boxed = box is not None
    with loaded(setup, request, options, tell, timeout=wanted.hook_seconds, boxed=boxed) as (agent, config):
        settings.repository(folder, strict=options.strict)
        _program(agent)
        settings.specs(folder, config)
        job = settings.job(home, folder, config, process=request.process, prompt_file=request.prompt_file)
        delay = config.retry_delay if options.retry_delay is None else options.retry_delay
        idle = int(wanted.max_idle) if options.max_idle is None else options.max_idle
        # The original knows neither of these ends: it goes on.
        ends = (
            Limits(max_idle=0, permanent_failures=0, same_failures=0) if options.strict else Limits(max_idle=idle)
        )
        asked = asked_settings(
            folder,
            job.shown,
            options,
            wanted,
            files=own_files(home, folder),
            box=box,
            timeout=TURN_MINUTES * 60,
            reserves=config.reserves,
        )
        loop = replace(
            asked,
            limits=replace(
                ends, max_iterations=config.max_iterations, max_failures=0, max_seconds=options.max_seconds
            ),
            pauses=replace(wanted.pauses, retry=delay),
        )
        refuse_for_agent(agent, loop.model)
        yield (
            agent,
            RalphSession(
                home=home,
                config=config,
                job=job,
                loop=loop,
                max_retries=config.max_retries,
                logs_bytes=wanted.turn_logs_bytes,
                strict=options.strict,
            ),
        )


@contextmanager
def loaded(
    setup: Setup,
    request: RalphRequest,
    options: RunOptions,
    tell: Tell,
    *,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    boxed: bool = False,
) -> Iterator[tuple[Agent, Config]]:
    """Source what every start does, in its order: ``config``, the controller's library, the agent's script.

    Args:
        timeout: seconds that each script may take, and each hook; None: as long as it likes.
        boxed: turns run in a box: out here ``config`` is read and not run, and the library is left alone.
    """
    from bridge.scripts.agent import open_shell

    home, folder = setup.home, setup.project
    with open_shell(cwd=folder, env=env, timeout=timeout) as shell:
        shell.update({"RALPH_DIR": str(home), "RALPH_HOME": os.path.relpath(home, folder.resolve())})
        config = read_config(
            shell, home / "config", options, mode=request.mode, iterations=request.iterations, as_data=boxed
        )
        _show(tell, config.output)
        if not boxed:
            _sandbox(shell, home, tell)
        yield _agent(shell, home, config, options, tell, boxed=boxed), config


def _show(tell: Tell, reply: Reply) -> None:
    for text in hook_texts(reply.stdout, reply.stderr):
        tell(text)


def _sandbox(shell: Shell, home: Path, tell: Tell) -> None:
    """The controller's own library. Nothing of ours needs it, but agents may, where their controller does."""
    path = home / "lib" / "sandbox.sh"
    if path.is_file():
        _show(tell, source_file(shell, path))
    elif b"sandbox.sh" in original_text(home / "ralph"):
        raise SessionRefused(f"Error: {path} is missing: the controller sources it at every start")


def _agent(
    shell: Shell, home: Path, config: Config, options: RunOptions, tell: Tell, *, boxed: bool = False
) -> Agent:
    from bridge.scripts.agent import Agent

    script = options.named("agent") or settings.agent_script(home, config.agent)
    try:
        agent = Agent.load(script, shell=shell, folders=[home / "agents"], lift=options.lift, boxed=boxed)
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
        why = f"Error: agent CLI not found in PATH: {agent.cli}"
        raise SessionRefused(why) from ProgramNotFound(why)
