"""What a ``--help`` text says about options and subcommands. Pure.

Read are the layouts of the argument parsers that the coding CLIs use: commander (claude, cline), clap (codex,
copilot), yargs (opencode), argparse (aider), cobra, and what people write by hand in their manner. A text without
anything of that kind yields no options, which means "can't tell".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Help", "Option", "plain", "read_help"]

Takes = Literal["nothing", "value", "optional", "several"]

_NAME = r"--?(?:\[no-\])?[A-Za-z0-9?][\w.-]*"
_GROUP = r"(?:<[^>]*>|\[[^\]]*\]|\{[^}]*\})(?:\.\.\.)?"
# A value without brackets: MODEL, or a type such as `string`; one word, or a sentence would be taken for it.
_WORD = r"[A-Za-z][\w|:.-]*"
_VALUE = rf"(?:(?:[ =]?{_GROUP})|[ =]{_WORD})(?: {_GROUP})?"
_SPEC = rf"{_NAME}(?:{_VALUE})?"
_OPTION = re.compile(rf"^(?: {{1,12}}|\t)({_SPEC}(?:(?:, ?| ?\| ?| / ){_SPEC})*)(?=\s{{2,}}|\t|:\s|\s*$)(.*)$")
_SPECS = re.compile(rf"(?:^|(?<=[ ,|/]))({_NAME})({_VALUE})?")
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))|.\x08")
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


def plain(text: str) -> str:
    """Take colours, links and overstrikes out of a text."""
    return _ESCAPES.sub("", text)


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
        option = _option(value.strip(), " ".join(block))
        for name in names:
            options[name] = option
            if "[boolean]" in block[0] and name.startswith("--"):  # yargs takes --no-NAME for each
                options.setdefault(f"--no-{name[2:]}", option)

    for line in plain(text).splitlines():
        if heading := _SECTION.match(line):
            section = heading[1].lower()
        if found := _OPTION.match(line):
            finish()
            specs = _SPECS.findall(found[1])
            names = [each for name, _ in specs for each in _both(name)]
            value, block = max((each for _, each in specs), key=len), [found[2]]
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


def _both(name: str) -> tuple[str, ...]:
    """``--[no-]wrap`` is two options."""
    return (name.replace("[no-]", ""), name.replace("[no-]", "no-")) if "[no-]" in name else (name,)


def _option(value: str, block: str) -> Option:
    listed = _CHOICES.search(block)
    choices: tuple[str, ...] = ()
    if listed:
        raw = next(filter(None, listed.groups()))
        choices = tuple(each.strip().strip("\"'") for each in raw.split(",") if each.strip().strip("\"'"))
    if value:
        if inline := re.search(r"\{([^}]*)\}", value):
            choices = choices or tuple(each.strip() for each in inline[1].split(","))
        if "..." in value:
            return Option("several", choices)
        return Option("optional" if value.startswith("[") else "value", choices)
    if kinds := _YARGS_TYPE.findall(block):
        return Option(_YARGS.get(kinds[0], "nothing"), choices)
    return Option("nothing", choices)
