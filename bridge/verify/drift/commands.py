"""What a script runs its CLI with: as its hooks build it, in its text, behind what only starts others."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.base.clis import program_of_package
from bridge.errors import BridgeError
from bridge.scripts.agent import Agent
from bridge.scripts.contract.scripts import kind_of_file
from bridge.scripts.driver import Driver
from bridge.scripts.provider import Provider

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bridge.shell import Shell
    from bridge.verify.facts import Facts

    Kind = Literal["driver", "agent", "provider"]
    Value = str | Sequence[str] | None
    ValueOf = Callable[[str], Value]


UNKNOWN_SESSION = "0b9f3f0a-2d35-4c5e-9b0f-6f1f7d0d4c11"
"""An id such as CLIs give, of a session that nobody knows."""

_PATIENCE = 20.0


class ScriptCommands(NamedTuple):
    """The program that a script runs, and command lines by what is special about each; those in its text."""

    kind: Kind
    cli: str
    min_version: str | None
    commands: Mapping[str, Sequence[str]]
    in_text: frozenset[str]


def commands_of(path: Path, *, env: Mapping[str, str], folder: Path) -> ScriptCommands:
    """What a script runs; a prompt is written to `folder`. `BridgeError`: it can't be loaded, or a hook failed."""
    if (kind := kind_of_file(path)) == "agent":
        with Agent.load(path, env=env, cwd=folder, timeout=_PATIENCE) as agent:
            arguments = agent.shell.get("AGENT_ARGS", "")
            words = arguments.split() if isinstance(arguments, str) else list(arguments or ())
            in_text = _in_text(path, agent.cli, agent.shell)
            known = not words or [agent.cli, *words] in in_text.values()
            commands = in_text if known else in_text | {"AGENT_ARGS": [agent.cli, *words]}
            return ScriptCommands("agent", agent.cli, None, commands, frozenset(in_text))
    prompt = folder / "prompt.md"
    prompt.write_text("Do the next task.\n", encoding="utf-8")
    if kind == "provider":
        with Provider.load(path, env=env, cwd=folder, timeout=_PATIENCE) as adapter:
            built = _built(adapter, str(prompt))
            cli = next((argv[0].split()[-1] for argv in built.values()), "")
            return ScriptCommands("provider", cli, None, built, frozenset())
    with Driver.load(path, env=env, cwd=folder, timeout=_PATIENCE) as driver:
        built = _built(driver, str(prompt))
        cli = driver.cli_binary()
        if is_launcher(cli):
            cli = next((own[0] for argv in built.values() if (own := program_in(argv, ""))), cli)
        in_text = _in_text(path, cli, driver.shell)
        return ScriptCommands("driver", cli, driver.min_version(), built | in_text, frozenset(in_text))


def _in_text(path: Path, cli: str, shell: Shell) -> dict[str, list[str]]:
    from bridge.verify.facts import facts_of  # it takes a parser, which most commands do without

    def value_of(name: str) -> str | Sequence[str] | None:
        value = shell.get(name) if name.isidentifier() else None
        return value if isinstance(value, str | list | tuple) else None

    return commands_in_text(facts_of(path.read_bytes()), cli, value_of)


def _built(driver: Driver | Provider, prompt: str) -> dict[str, list[str]]:
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
    if isinstance(driver, Driver) and driver.supports_tool_allowlist():
        driver.set("CLAUDE_ALLOWED_TOOLS", "Read, Bash(git add, git commit)")
        build("with allowed tools")
        driver.set("CLAUDE_ALLOWED_TOOLS", "")
    for choice in ("json", "text"):
        driver.set("CLAUDE_OUTPUT_FORMAT", choice)
        build(f"output {choice}")
    return built


def _live(driver: Driver | Provider) -> list[str]:
    try:
        return driver.prepare_live_command() if driver.supports_live_output() else []
    except BridgeError:
        return []


# -- behind programs that only start another one ---------------------------------------------------------------


class _Launcher(NamedTuple):
    """Options that take the next word, and how many operands stand before the program that is started."""

    valued: frozenset[str] = frozenset()
    operands: int = 0


_NPX = _Launcher(frozenset({"-p", "--package", "--cache", "--registry", "--userconfig"}))
_TIMEOUT = _Launcher(frozenset({"-k", "--kill-after", "-s", "--signal"}), 1)
_LAUNCHERS = dict.fromkeys(("caffeinate", "command", "nohup", "setsid", "time"), _Launcher()) | {
    "env": _Launcher(frozenset({"-u", "--unset", "-C", "--chdir"})),
    "exec": _Launcher(frozenset({"-a"})),
    "ionice": _Launcher(frozenset({"-c", "--class", "-n", "--classdata"})),
    "nice": _Launcher(frozenset({"-n", "--adjustment"})),
    "stdbuf": _Launcher(frozenset({"-i", "--input", "-o", "--output", "-e", "--error"})),
    "timeout": _TIMEOUT,
    "gtimeout": _TIMEOUT,
    "npx": _NPX,
    "bunx": _NPX,
}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def is_launcher(name: str) -> bool:
    return os.path.basename(name) in _LAUNCHERS


def program_in(argv: Sequence[str], cli: str) -> list[str] | None:
    """Give the part of a command line that is the CLI's own, its name first; '' is whatever the launchers start.

    None: the CLI is not found in it, as within ``bash -c "..."``.

    >>> program_in(["timeout", "-k", "5", "600", "env", "A=1", "claude", "-p", "x"], "claude")
    ['claude', '-p', 'x']
    """
    words = list(argv)
    while words and is_launcher(words[0]):
        words = _started_by(words)
    if words:
        words[0] = program_of_package(words[0])
    if not cli:
        return words or None
    name = os.path.basename(cli)
    at = next((at for at, word in enumerate(words) if os.path.basename(word) == name), None)
    return None if at is None else [name, *words[at + 1 :]]


def _started_by(words: list[str]) -> list[str]:
    name = os.path.basename(words[0])
    launcher, at = _LAUNCHERS[name], 1
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if not word.startswith("-") and not (name == "env" and _ASSIGNMENT.match(word)):
            break
        at += 2 if word in launcher.valued else 1
    rest = words[at + launcher.operands :]
    if launcher is _NPX and rest:
        rest[0] = re.sub(r"(?<=.)@[^/@]*$", "", rest[0])  # a version
    return rest


# -- in a script's text --------------------------------------------------------------------------------------

_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-[^{}]*)?\}|(\w+))")
_ARRAY = re.compile(r'"?\$\{(\w+)\[[@*]\](?:\+[^{}]*)?\}"?')
_ARGUMENTS = re.compile(r"\$[@*]|\$\{[^{}]*[@*][^{}]*\}")
_EXPANSION = re.compile(r"\$\{[^{}]*\}|\$\([^()]*\)|`[^`]*`|\$\w+")
_UNKNOWN = "x"


def commands_in_text(facts: Facts, cli: str, value_of: ValueOf) -> dict[str, list[str]]:
    """The command lines in a text by where they stand; `value_of` gives globals. An unknown word ends one."""
    found: dict[str, list[str]] = {}
    for function in (*facts.functions, facts.top):
        for command in function.commands:
            argv = program_in(_expanded(command.words, value_of), "") or [""]
            if os.path.basename(argv[0]) != os.path.basename(cli) or len(argv) == 1 or argv in found.values():
                continue
            where = f"{function.name}, line {command.line}" if function.name else f"line {command.line}"
            found[where] = argv
    return found


def _expanded(sources: Sequence[str], value_of: ValueOf) -> list[str]:
    words: list[str] = []
    for source in sources:
        each = _expand(source, value_of)
        if each is None:
            break
        words += each
    return words


def _expand(source: str, value_of: ValueOf) -> list[str] | None:
    """The words that one of the text becomes; None when only running it would tell."""
    if whole := _ARRAY.fullmatch(source):
        return _listed(value_of(whole[1]))
    if (name := _VARIABLE.fullmatch(source)) or (name := _VARIABLE.fullmatch(source[1:-1])):
        value = value_of(name[1] or name[2])
        if source.startswith('"'):
            return [value] if isinstance(value, str) else [_UNKNOWN]
        return value.split() if isinstance(value, str) else None
    if _ARGUMENTS.search(source):
        return None
    if "$" in source or "`" in source:
        if '"' not in source:
            return None if not source.startswith("'") else [source[1:-1]]
        source = _EXPANSION.sub(_UNKNOWN, source)
    try:
        return shlex.split(source)
    except ValueError:
        return None


def _listed(value: Value) -> list[str] | None:
    return None if value is None or isinstance(value, str) else list(value)
