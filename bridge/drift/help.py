"""What a ``--help`` text says about options and subcommands. Pure.

Read are the layouts of the argument parsers that the coding CLIs use: commander (claude, cline), clap (codex,
copilot) and yargs (opencode). A text of any other layout yields no options, which means "can't tell".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Help", "Option", "read_help"]

Takes = Literal["nothing", "value", "optional", "several"]

_NAME = r"--?[A-Za-z0-9][\w-]*"
_OPTION = re.compile(
    rf"^ {{1,12}}({_NAME}(?:(?:, | \| |\|){_NAME})*)"
    r"(?:[ =](<[^>]*>(?:\.\.\.)?|\[[^\]]*\](?:\.\.\.)?))?(?=\s{2,}|\s*$)(.*)$"
)
_COMMAND = re.compile(r"^ {2,4}(?:[a-z][\w-]* )?([a-z][\w|-]*)(?= {2,}| [\[<]|\s*$)(.*)$")
_SECTION = re.compile(r"^(\S.*):\s*$")
_ALIASES = re.compile(r"\[aliases: ([^\]]+)\]")
_CHOICES = re.compile(r"\(choices: ([^)]+)\)|\[choices: ([^\]]+)\]|\[possible values: ([^\]]+)\]")
_YARGS: dict[str, Takes] = {"string": "value", "number": "value", "count": "nothing", "array": "several"}
_YARGS_TYPE = re.compile(r"\[(string|number|count|array|boolean)\]")


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        takes: what stands behind it.
        choices: the values that it accepts; empty when the text doesn't say.
    """

    takes: Takes = "nothing"
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Help:
    """One text.

    Attributes:
        options: by each of their names, dashes included.
        commands: subcommands and their aliases; an alias maps to its command.
    """

    options: Mapping[str, Option] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)


def read_help(text: str, program: str = "") -> Help:
    """Read a text.

    Args:
        text: all of it.
        program: the program's name, which yargs repeats in front of each subcommand.
    """
    options: dict[str, Option] = {}
    commands: dict[str, str] = {}
    section = ""
    block: list[str] = []
    names: list[str] = []
    value = ""

    def finish() -> None:
        for name in names:
            options[name] = _option(value, " ".join(block))

    for line in text.splitlines():
        if heading := _SECTION.match(line):
            section = heading[1].lower()
        if found := _OPTION.match(line):
            finish()
            names, value, block = re.findall(_NAME, found[1]), found[2] or "", [found[3]]
            continue
        block.append(line.strip())
        if section.startswith("commands") and (command := _command(line, program)):
            name, rest = command
            first, *others = name.split("|")
            aliases = _ALIASES.search(rest)
            for each in (first, *others, *(aliases[1].replace(",", " ").split() if aliases else ())):
                commands.setdefault(each, first)
    finish()
    return Help(options, commands)


def _command(line: str, program: str) -> tuple[str, str] | None:
    if program and line.strip().startswith(program + " "):
        line = line.replace(program + " ", "", 1)
    found = _COMMAND.match(line)
    return (found[1], found[2]) if found else None


def _option(value: str, block: str) -> Option:
    listed = _CHOICES.search(block)
    choices: tuple[str, ...] = ()
    if listed:
        raw = next(filter(None, listed.groups()))
        choices = tuple(each.strip().strip("\"'") for each in raw.split(",") if each.strip().strip("\"'"))
    if value:
        if "..." in value:
            return Option("several", choices)
        return Option("value" if value.startswith("<") else "optional", choices)
    if kinds := _YARGS_TYPE.findall(block):
        return Option(_YARGS.get(kinds[0], "nothing"), choices)
    return Option("nothing", choices)
