"""Options and subcommands, as ``--help`` texts list them, and command lines compared with them. Pure.

Read are the layouts of the argument parsers that the coding CLIs use: commander (claude, cline), clap (codex,
copilot), yargs (opencode), argparse (aider), cobra, and what people write by hand in their manner. A text without
anything of that kind yields no options, which means "unknown".
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.base.clis import find_cli
from bridge.base.records import dataclass
from bridge.base.resources import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    HelpOf = Callable[[tuple[str, ...]], "Help | None"]

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
    """What stands behind an option, and the values that it accepts; none are listed when the text doesn't say."""

    takes: Takes = "nothing"
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Help:
    """Options by each of their names, dashes included; subcommands, by themselves and by their aliases."""

    options: Mapping[str, Option] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)


def plain(text: str) -> str:
    return _ESCAPES.sub("", text)


def read_help(text: str, program: str = "") -> Help:
    """Read a whole help text; `program` is the name that yargs repeats in front of each subcommand."""
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


_FREE = Option()
_NO_OPTION = "is not an option of"
_ALWAYS = ("--help", "-h", "--version")
"""Options of every program, whether it lists them or not."""


class OptionError(NamedTuple):
    """An option that a command, such as ``codex exec``, doesn't accept: "OPTION REASON COMMAND" is the sentence."""

    option: str
    command: str
    reason: str
    hint: str = ""

    @property
    def is_unknown(self) -> bool:
        """Whether it is the option itself that the command doesn't know, and not its value."""
        return self.reason == _NO_OPTION


class Taken(NamedTuple):
    """An option of a command line, and the words that the CLI takes for its values.

    option: as its help has it; None when it doesn't know it. command, help: the command that it belongs to.
    """

    name: str
    option: Option | None
    values: list[str]
    command: tuple[str, ...]
    help: Help


def options_taken(argv: Sequence[str], help_of: HelpOf) -> list[Taken] | None:
    """The options of a command line as the CLI reads them, up to ``--``; None when there is no help for that.

    argv: the program's name and its arguments.
    help_of: the help of a command given as a path: ``("codex", "exec")``; None when it can't be read.
    """
    path: tuple[str, ...] = (argv[0],)
    help_ = help_of(path)
    if help_ is None or not help_.options:
        return None
    found: list[Taken] = []
    words = list(argv[1:])
    positional = False
    while words and (word := words.pop(0)) != "--":
        if word.startswith("-") and word != "-":
            name, option, value = _find_option(word, help_)
            values = [] if option is None else [value] if value is not None else _take_values(option, words)
            found.append(Taken(name, option, values, path, help_))
        elif not positional and word in help_.commands:
            path = (*path, help_.commands[word])
            deeper = help_of(path)
            if deeper is None or not deeper.options:
                break  # nothing is known about what follows
            help_ = deeper
        else:
            positional = True
    return found


def option_errors(argv: Sequence[str], help_of: HelpOf) -> list[OptionError] | None:
    """The options that the CLI doesn't know there, and values that it doesn't accept; see :func:`options_taken`."""
    found = options_taken(argv, help_of)
    return None if found is None else [error for each in found for error in _errors(each)]


def _errors(taken: Taken) -> list[OptionError]:
    name, option, values, path, help_ = taken
    if option is None:
        return _unknown(name, path, help_)
    return [
        OptionError(name, " ".join(path), f"does not accept {each!r} in", f"it takes {', '.join(option.choices)}")
        for each in values
        if option.choices and each not in option.choices
    ]


def _find_option(word: str, help_: Help) -> tuple[str, Option | None, str | None]:
    """Give the option that a word names, and the value that is joined to it, if there is one.

    ``--name=value``, ``-xVALUE`` and ``-abx`` (several without values in one word); of the latter an unknown one
    is named alone.
    """
    options = help_.options
    name, equals, value = word.partition("=")
    if name in options or word.startswith("--"):
        return name, options.get(name) or (_FREE if name in _ALWAYS else None), value if equals else None
    for at, letter in enumerate(word[1:], 2):
        short = f"-{letter}"
        option = options.get(short) or (_FREE if short in _ALWAYS else None)
        if option is None:
            return (short if at > 2 else word), None, None
        if option.takes != "nothing":
            return short, option, word[at:].removeprefix("=") or None
    return word[:2], _FREE, None


def _take_values(option: Option, words: list[str]) -> list[str]:
    match option.takes:
        case "value":
            return [words.pop(0)] if words else []
        case "optional":
            return [words.pop(0)] if words and not words[0].startswith("-") else []
        case "several":
            taken = []
            while words and not words[0].startswith("-"):
                taken.append(words.pop(0))
            return taken
        case _:
            return []


def _unknown(name: str, path: tuple[str, ...], help_: Help) -> list[OptionError]:
    if (cli := find_cli(path[0])) is not None and name in cli.unlisted:
        return []
    if command := help_.commands.get(name.lstrip("-")):
        return [OptionError(name, " ".join(path), _NO_OPTION, f"it is a command: {path[0]} ... {command}")]
    close = nearest(name, help_.options, 0.7)
    return [OptionError(name, " ".join(path), _NO_OPTION, f"did you mean {close}?" if close else "")]
