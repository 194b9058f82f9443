"""What a session runs with: ``config`` as a living bash has sourced it, the command line's options, the limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.errors import HookExited, HookTimeout, ScriptUnreadable, SessionRefused, ShellDied
from bridge.resources import os_text
from bridge.setups.ralph_loop.arguments import integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.loop.settings import LoopSettings
    from bridge.setups.options import RunOptions
    from bridge.shell import Reply, Shell
    from bridge.shell.values import Variable

DEFAULTS: Mapping[str, str] = {"DEFAULT_MAX_ITERATIONS": "10", "MAX_RETRIES": "3", "SPECS_DIR": "specs"}
"""Set before ``config`` is sourced, whatever the environment says."""

RETRY_DELAY = 0.5
"""Seconds before the first repetition of a failed attempt, doubled for each further one; the original waits not at
all. The variable of that name in ``config`` or in the environment changes it."""

TURN_MINUTES = 240.0
"""Minutes that one run of the agent may take by default. The original knows no such limit: it is there
for a program that hangs, which would cost the night."""

_KEYS = ("MODE", "MAX_ITERATIONS", "AGENT", "PROCESS_DIR", "RETRY_DELAY", *DEFAULTS)


@dataclass(frozen=True, slots=True)
class Config:
    """What counts after ``config`` was sourced; numbers as they stand there.

    Attributes:
        agent: AGENT.
        mode: MODE: what the command line says, unless ``config`` overrides it.
        specs_dir: SPECS_DIR, relative to the working folder.
        process_dir: PROCESS_DIR; empty when unused.
        iterations: the most of this session; 0 or less runs none.
        retries: MAX_RETRIES, how often a failed attempt is repeated.
        delay: RETRY_DELAY, seconds before the first repetition.
        names: variables that ``config`` defines, or that have a default.
        output: what sourcing it printed.
    """

    agent: str
    mode: str
    specs_dir: str
    process_dir: str
    iterations: str
    retries: str
    delay: str
    names: frozenset[str]
    output: Reply

    @property
    def max_iterations(self) -> int:
        """Raises `SessionRefused`, as the two below, for what is no number."""
        return integer(self.iterations, "the number of iterations")

    @property
    def max_retries(self) -> int:
        """Repetitions after a failed attempt."""
        return integer(self.retries, "MAX_RETRIES")

    @property
    def retry_delay(self) -> float:
        """Seconds before the first repetition."""
        return _seconds(self.delay)


@dataclass(frozen=True, slots=True)
class SessionJob:
    """What a session is to do.

    Attributes:
        mode: plan, build, align-specs or prompt.
        template: the prompt's template.
        shown: its path as the log names it.
        process: planning from, or building to, a process specification.
        plan: path of the implementation plan.
    """

    mode: str
    template: Path
    shown: str
    process: bool
    plan: Path


@dataclass(frozen=True, slots=True)
class RalphSession:
    """One run of the loop.

    Attributes:
        home: folder of the setup's own files.
        config: what ``config`` and the command line settled.
        job: what to do.
        loop: how; its project is the working folder.
        max_retries: repetitions of a failed attempt.
        logs_bytes: size of the logs of all sessions; 0: any.
        strict: with the original's warts that show (docs/ralph-loop.md).
    """

    home: Path
    config: Config
    job: SessionJob
    loop: LoopSettings
    max_retries: int
    logs_bytes: int
    strict: bool = False


def read_config(shell: Shell, path: Path, options: RunOptions, *, mode: str, iterations: str) -> Config:
    """Source ``config`` and settle what it leaves open.

    Args:
        shell: a bash of `bridge.agent.open_shell`, with RALPH_DIR and RALPH_HOME.
        path: the file.
        options: see there.
        mode: from the command line.
        iterations: from the command line; empty for DEFAULT_MAX_ITERATIONS.

    Raises:
        SessionRefused: no such file, it failed (a command that fails in it ends it), or AGENT is not set; or it
            called ``exit``, whose status is the exit code then.
    """
    if not path.is_file():
        raise SessionRefused(f"Error: config file not found: {path}")
    shell.update({**DEFAULTS, "MODE": mode, "MAX_ITERATIONS": iterations})
    before = shell.snapshot()
    reply = source_file(shell, path)
    agent = options.agent and os_text(Path(options.agent).stem)
    chosen = options.globals | ({"AGENT": agent} if agent else {})
    if chosen:
        shell.update(chosen)
    after = shell.snapshot()
    names = {name for name, found in after.items() if before.get(name) != found}
    value = {name: _text(after.get(name)) for name in _KEYS}
    if not value["AGENT"]:
        raise SessionRefused(f'Error: AGENT is not set in {path}\n  next: name an agent there, such as AGENT="amp"')
    most = value["MAX_ITERATIONS"] or value["DEFAULT_MAX_ITERATIONS"]
    shell["MAX_ITERATIONS"] = most
    return Config(
        agent=value["AGENT"],
        mode=value["MODE"],
        specs_dir=value["SPECS_DIR"],
        process_dir=value["PROCESS_DIR"],
        iterations=most,
        retries=value["MAX_RETRIES"],
        delay="0" if options.strict else value["RETRY_DELAY"],
        names=frozenset(names) | set(_KEYS),
        output=reply,
    )


def source_file(shell: Shell, path: Path) -> Reply:
    """Source a file of the setup as the controller does, outside of any condition.

    Raises:
        SessionRefused: it failed, with what it had printed.
    """
    try:
        return shell.source(path, errexit=True)
    except HookExited as left:
        if left.state_lost:  # errexit: one of its commands failed
            raise SessionRefused(with_output(f"Error: {path} failed while it was read", left)) from left
        raise exit_called(path, left) from left
    except (ShellDied, HookTimeout) as died:
        raise SessionRefused(with_output(f"Error: {path} failed while it was read", died)) from died
    except ScriptUnreadable as error:
        raise SessionRefused(f"Error: {error}") from error


def exit_called(path: object, error: HookExited) -> SessionRefused:
    """A sourced file has called ``exit``: that is the session's exit code."""
    return SessionRefused(with_output(f"Error: {path} called exit {error.status}", error), error.status or 0)


def with_output(what: str, error: HookExited | ShellDied | HookTimeout) -> str:
    """An error with all that the script had printed until then."""
    output = (error.stdout + error.stderr).rstrip("\n")
    return f"{what}\n{output}" if output else what


def _text(found: Variable | None) -> str:
    """What ``$NAME`` gives: of an array its first element."""
    return found.items.get("0", "") if found is not None else ""


def _seconds(text: str) -> float:
    if not text:
        return RETRY_DELAY
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 86_400:
        raise SessionRefused(f"Error: RETRY_DELAY must be a number of seconds, not {text!r}")
    return seconds
