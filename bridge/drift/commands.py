"""What a script runs its CLI with: it is loaded, and asked for the command lines of each kind of iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.agent import Agent
from bridge.contract.scripts import kind_of_file
from bridge.drift.command_lines import commands_in_text, is_launcher, program_in
from bridge.driver import Driver
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bridge.shell import Shell

    Kind = Literal["driver", "agent"]

UNKNOWN_SESSION = "0b9f3f0a-2d35-4c5e-9b0f-6f1f7d0d4c11"
"""An id such as CLIs give, of a session that nobody knows."""

_PATIENCE = 20.0


class ScriptCommands(NamedTuple):
    """The program that a script runs, its lowest version, and command lines by what is special about each."""

    kind: Kind
    cli: str
    min_version: str | None
    commands: Mapping[str, Sequence[str]]


def commands_of(path: Path, *, env: Mapping[str, str], folder: Path) -> ScriptCommands:
    """Ask a script what it runs; `folder` is where a prompt may be written.

    Raises:
        bridge.errors.BridgeError: it can't be loaded, or a hook failed.
    """
    if kind_of_file(path) == "agent":
        with Agent.load(path, env=env, cwd=folder, timeout=_PATIENCE) as agent:
            arguments = agent.shell.get("AGENT_ARGS", "")
            words = arguments.split() if isinstance(arguments, str) else list(arguments or ())
            commands = _in_text(path, agent.cli, agent.shell)
            if words and [agent.cli, *words] not in commands.values():
                commands["AGENT_ARGS"] = [agent.cli, *words]
            return ScriptCommands("agent", agent.cli, None, commands)
    prompt = folder / "prompt.md"
    prompt.write_text("Do the next task.\n", encoding="utf-8")
    with Driver.load(path, env=env, cwd=folder, timeout=_PATIENCE) as driver:
        built = _built(driver, str(prompt))
        cli = driver.cli_binary()
        if is_launcher(cli):
            cli = next((own[0] for argv in built.values() if (own := program_in(argv, ""))), cli)
        commands = {**built, **_in_text(path, cli, driver.shell)}
        return ScriptCommands("driver", cli, driver.min_version(), commands)


def _in_text(path: Path, cli: str, shell: Shell) -> dict[str, list[str]]:
    from bridge.verify.facts import facts_of  # it takes a parser, which most commands do without

    def value_of(name: str) -> str | Sequence[str] | None:
        value = shell.get(name) if name.isidentifier() else None
        return value if isinstance(value, str | list | tuple) else None

    return commands_in_text(facts_of(path.read_bytes()), cli, value_of)


def _built(driver: Driver, prompt: str) -> dict[str, list[str]]:
    """Build a command for each thing that an iteration may need; the same command under one name only."""
    built: dict[str, list[str]] = {}

    def build(name: str, *, context: str = "Loop #1.", session: str = "") -> None:
        argv = driver.build_command(prompt, context, session)
        for each, words in ((name, argv), (f"{name}, live", _live(driver))):
            if words and words not in built.values():
                built[each] = words

    build("new session")
    build("without context", context="")
    if driver.supports_sessions():
        driver.set("CLAUDE_USE_CONTINUE", "true")
        build("resumed", session=UNKNOWN_SESSION)
    if driver.supports_tool_allowlist():
        driver.set("CLAUDE_ALLOWED_TOOLS", "Read, Bash(git add, git commit)")
        build("with allowed tools")
        driver.set("CLAUDE_ALLOWED_TOOLS", "")
    for choice in ("json", "text"):
        driver.set("CLAUDE_OUTPUT_FORMAT", choice)
        build(f"output {choice}")
    return built


def _live(driver: Driver) -> list[str]:
    try:
        return driver.prepare_live_command() if driver.supports_live_output() else []
    except BridgeError:
        return []
