"""From a command line to a session that is ready: what the controller does before its loop, in its order."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.errors import HookExited, SessionRefused
from bridge.files import usable
from bridge.loop.active import ActiveRun
from bridge.loop.night import night
from bridge.process.leftovers import MARK
from bridge.setups.places import other_folders
from bridge.setups.ralph_loop import preflight
from bridge.setups.ralph_loop.config import read_config, said, source_file
from bridge.setups.ralph_loop.events import HookText
from bridge.setups.ralph_loop.original import original_text
from bridge.setups.ralph_loop.session import TURN_MINUTES, Limits, Session
from bridge.shell.protocol import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bridge.agent import Agent
    from bridge.setups.ralph_loop.arguments import Request
    from bridge.setups.ralph_loop.config import Config
    from bridge.shell import Reply, Shell

    Tell = Callable[[HookText], None]

__all__ = ["Options", "loaded", "ready"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says beyond the controller's own words.

    Attributes:
        agent: name or path of an agent's script; wins over AGENT.
        settings: globals that win over ``config``.
        strict: bring the original's observable warts back.
        lift: run filters that are understood in process.
        max_seconds: of the session; None: any number.
        turn_seconds: of one run of the agent's program; None: the default.
        retry_delay: seconds before the first repetition; None: as ``config`` says.
    """

    agent: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False
    lift: bool = True
    max_seconds: float | None = None
    turn_seconds: float | None = None
    retry_delay: float | None = None


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
        limits = Limits(
            config.max_iterations,
            config.max_retries,
            config.retry_delay if options.retry_delay is None else options.retry_delay,
            options.max_seconds,
            TURN_MINUTES * 60 if options.turn_seconds is None else options.turn_seconds,
            wanted.hook_seconds,
            wanted.limit_seconds,
            wanted.turn_log_bytes,
            wanted.turn_logs_bytes,
            wanted.grace_seconds,
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
        home: folder of the setup's own files.
        folder: the working folder.
        request: see :func:`ready`, as the next two.
        options: see there.
        tell: see there.
        env: the environment; None: this process's own.
        timeout: seconds that each script may take, and each hook; None: as long as it likes.

    Raises:
        SessionRefused, bridge.errors.BridgeError: see :func:`ready`.
    """
    from bridge.agent import open_shell

    with open_shell(cwd=folder, env=env, timeout=timeout) as shell:
        shell.update({"RALPH_DIR": str(home), "RALPH_HOME": os.path.relpath(home, folder.resolve())})
        config = read_config(
            shell,
            home / "config",
            mode=request.mode,
            iterations=request.iterations,
            agent=options.agent and Path(options.agent).stem,
            settings=options.settings,
            strict=options.strict,
        )
        _tell(tell, config.output)
        _sandbox(shell, home, tell)
        yield _agent(shell, home, config, options, tell), config


def _tell(tell: Tell, reply: Reply) -> None:
    if reply.stdout:
        tell(HookText(reply.stdout))
    if reply.stderr:
        tell(HookText(reply.stderr, error=True))


def _sandbox(shell: Shell, home: Path, tell: Tell) -> None:
    """The controller's own library. Nothing of ours needs it, but agents may, where their controller does."""
    path = home / "lib" / "sandbox.sh"
    if path.is_file():
        _tell(tell, source_file(shell, path))
    elif b"sandbox.sh" in original_text(home / "ralph"):
        raise SessionRefused(f"Error: {path} is missing: the controller sources it at every start")


def _agent(shell: Shell, home: Path, config: Config, options: Options, tell: Tell) -> Agent:
    from bridge.agent import Agent

    script = preflight.agent_script(home, config.agent) if options.agent is None else options.agent
    try:
        agent = Agent.load(script, shell=shell, folders=[home / "agents"], lift=options.lift)
    except HookExited as left:
        raise SessionRefused(said(f"Error: {script} called exit {left.status}", left), left.status or 0) from left
    if agent.sourced is not None:
        _tell(tell, agent.sourced)
    return agent


def _program(agent: Agent) -> None:
    """The agent's program, as ``command -v`` finds it: a function will do."""
    if not agent.cli:
        raise SessionRefused(f"Error: {agent.script} does not set AGENT_CLI")
    if not agent.shell.call("command", "-v", "--", agent.cli).ok:
        raise SessionRefused(f"Error: agent CLI not found in PATH: {agent.cli}")
