"""A script, and the command lines that it runs its CLI with."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge import resources
from bridge.agent import Agent
from bridge.agent import find as find_agent
from bridge.drift.commands import commands_of
from bridge.drift.invoked import invoked
from bridge.drift.launchers import is_launcher, program_in
from bridge.driver import Driver
from bridge.driver import find as find_driver
from bridge.errors import BridgeError, ScriptNotFound, UnknownDriver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.shell import Shell

__all__ = ["Held", "held", "kind_of", "locate"]

_PATIENCE = 20.0
_AGENT = re.compile(rb"^[ \t]*(?:function[ \t]+)?agent_invoke[ \t]*(?:\([ \t]*\))?[ \t]*\{?", re.MULTILINE)


class Held(NamedTuple):
    """A script, and what it runs.

    Attributes:
        kind: driver or agent.
        cli: the program.
        least: the lowest version that will do, or None.
        commands: command lines, by what is special about each.
    """

    kind: str
    cli: str
    least: str | None
    commands: Mapping[str, Sequence[str]]


def locate(script: str, folders: Sequence[str | os.PathLike[str]] = ()) -> Path:
    """Find a script: a path, or the name of a driver or else of an agent.

    Raises:
        ScriptNotFound, UnknownDriver: there is none.
    """
    if not resources.is_name(script):
        path = Path(os.path.abspath(script))
        if path.is_dir():
            raise ScriptNotFound(f"{script} is a folder\n  next: name the scripts in it, such as {script}/*.sh")
        if not path.is_file():
            raise ScriptNotFound(
                f"there is no script {script}\n  next: give the path of a driver or agent, or a name"
            )
        return path
    try:
        return find_driver(script, folders)
    except UnknownDriver:
        try:
            return find_agent(script, folders)
        except BridgeError:
            pass
        raise


def kind_of(path: Path) -> str:
    """Say whether a script is an ``agent`` or a ``driver``, by what it defines."""
    try:
        return "agent" if _AGENT.search(path.read_bytes()) else "driver"
    except OSError:
        return "driver"


def held(path: Path, *, env: Mapping[str, str], folder: Path) -> Held:
    """Ask a script what it runs.

    Args:
        path: the script.
        env: environment of its shell.
        folder: where a prompt may be written.

    Raises:
        bridge.errors.BridgeError: it can't be loaded, or a hook failed.
    """
    if kind_of(path) == "agent":
        with Agent.load(path, env=env, cwd=folder, timeout=_PATIENCE) as agent:
            arguments = agent.shell.get("AGENT_ARGS", "")
            words = arguments.split() if isinstance(arguments, str) else list(arguments or ())
            commands = _in_the_text(path, agent.cli, agent.shell)
            if words and [agent.cli, *words] not in commands.values():
                commands["AGENT_ARGS"] = [agent.cli, *words]
            return Held("agent", agent.cli, None, commands)
    prompt = folder / "prompt.md"
    prompt.write_text("Do the next task.\n", encoding="utf-8")
    with Driver.load(path, env=env, cwd=folder, timeout=_PATIENCE) as driver:
        built = commands_of(driver, str(prompt))
        cli = driver.cli_binary()
        if is_launcher(cli):
            cli = next((own[0] for argv in built.values() if (own := program_in(argv, ""))), cli)
        return Held("driver", cli, driver.min_version(), {**built, **_in_the_text(path, cli, driver.shell)})


def _in_the_text(path: Path, cli: str, shell: Shell) -> dict[str, list[str]]:
    from bridge.verify.facts import facts_of  # it takes a parser, which most commands do without

    def value_of(name: str) -> str | Sequence[str] | None:
        value = shell.get(name) if name.isidentifier() else None
        return value if isinstance(value, str | list | tuple) else None

    return invoked(facts_of(path.read_bytes()), cli, value_of)
