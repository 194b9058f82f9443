"""What a call of a coding CLI asks for, by its words: is it a turn, and where is its prompt? Pure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.clis import find_cli, known_clis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.base.clis import Calls, Cli

_ASKS = ("--version", "--help", "-h", "-V")
BOXES = {"docker": ("sandbox", "run"), "sbx": ("run",)}
"""Programs that run a CLI in a sandbox of theirs, likewise."""
RUNNERS = {"npx": (), "bunx": (), "pnpx": (), "pnpm": ("dlx",), "yarn": ("dlx",), "bun": ("x",), **BOXES}
"""Programs that fetch a package and run it, with what stands in front of its name."""
_RUNNER_VALUES = ("-p", "--package", "-c", "--call", "--cache", "--registry", "--prefix", "--loglevel")


class Form(NamedTuple):
    """A call that answers and ends.

    Attributes:
        cli: of which CLI.
        at: where its own words begin: behind its name.
        prompt: where the word with the prompt is; None: there is none, it is read from stdin.
        before: how many characters of that word stand in front of the prompt: ``--prompt=``.
        file: the prompt is in a file, or nobody can tell where it is: nothing is to be added to it.
    """

    cli: Cli
    at: int
    prompt: int | None = None
    before: int = 0
    file: bool = False


def form_of(argv: Sequence[str], *, terminal: bool) -> Form | None:
    """Read a call; None: it is no turn.

    Args:
        argv: its words, the program's first.
        terminal: its stdout is one.

    >>> form_of(["claude", "-p", "--model", "opus", "go on"], terminal=True)[1:]
    (1, 4, 0, False)
    >>> form_of(["npx", "-y", "@anthropic-ai/claude-code@2", "-p"], terminal=True)[1:]
    (3, None, 0, False)
    >>> form_of(["claude", "mcp", "list"], terminal=False), form_of(["codex", "--version"], terminal=False)
    (None, None)
    """
    cli, at = program_of(argv)
    if cli is None or cli.calls is None:
        return None
    return _parsed(cli, cli.calls, argv, at, terminal=terminal)


def program_of(argv: Sequence[str]) -> tuple[Cli | None, int]:
    """Give the CLI that a call starts, and where its own words begin; None: it is none that we know."""
    name = os.path.basename(argv[0])
    if name not in RUNNERS:
        return find_cli(name), 1
    words = [*argv]
    at = 1
    for word in RUNNERS[name]:
        if words[at : at + 1] != [word]:
            return None, 0
        at += 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _RUNNER_VALUES else 1
    if at >= len(words):
        return None, 0
    cli = _packaged(words[at])
    if name in BOXES:  # the folder may follow, then words of the CLI's own
        cli = cli or _packaged(words[at].partition("-")[0])  # `sbx run claude-NAME`
        at = words.index("--", at) if "--" in words[at:] else at + (words[at + 1 : at + 2] == ["."])
    return cli, at + 1


def _packaged(word: str) -> Cli | None:
    """The CLI of a package, its version aside."""
    name = word[:1] + word[1:].partition("@")[0]
    return next((cli for cli in known_clis().values() if name in (*cli.packages, *cli.programs)), None)


class _Words(NamedTuple):
    """The words of a call, sorted.

    Attributes:
        positionals: where those are that are no option and no option's value.
        prompt: where one is, and what stands in front of it, if an option has it; None: none has.
        headless: an option says that it answers and ends. asks: one of those that only ask something. file: one
            whose value is a file with the prompt.
    """

    positionals: list[int]
    prompt: tuple[int, int] | None
    headless: bool
    asks: bool
    file: bool


def _parsed(cli: Cli, calls: Calls, argv: Sequence[str], at: int, *, terminal: bool) -> Form | None:
    found = _sorted(cli, calls, argv, at)
    positionals, prompt = found.positionals, found.prompt
    command = argv[positionals[0]] if positionals else ""
    own = command in calls.headless
    if found.asks or command in calls.commands or not (found.headless or own or (calls.piped and not terminal)):
        return None
    if own:
        positionals = positionals[1:]
    if positionals and argv[positionals[0]] in calls.resumes:
        positionals = positionals[1:] if "--last" in argv else positionals[2:]
    if prompt is None and positionals and argv[positionals[0]] != "-":
        prompt = (positionals[0], 0)
    where, before = prompt or (None, 0)
    return Form(cli, at, where, before, found.file)


def _sorted(cli: Cli, calls: Calls, argv: Sequence[str], at: int) -> _Words:
    positionals: list[int] = []
    prompt, number, end = None, at, argv.index("--", at) if "--" in argv[at:] else len(argv)
    options: set[str] = set()
    while number < end:
        word = argv[number]
        number += 1
        if not word.startswith("-") or word == "-":
            positionals.append(number - 1)
            continue
        name, equals, _ = word.partition("=")
        options |= {name, *(f"-{each}" for each in word[1:] if _clustered(word, cli))}
        if name not in calls.prompt:
            number = number if equals else _behind_values(cli, calls, argv, name, number)
        elif equals:
            prompt = (number - 1, len(name) + 1)
        elif number < end and not _is_option(argv[number]):
            prompt, number = (number, 0), number + 1
    return _Words(
        [*positionals, *range(end + 1, len(argv))],
        prompt,
        not options.isdisjoint(calls.headless),
        not options.isdisjoint(_ASKS),
        not options.isdisjoint(calls.files),
    )


def _is_option(word: str) -> bool:
    """Whether a word is an option, and no prompt that begins with a dash, such as a list."""
    return word.startswith("-") and word != "-" and not any(each.isspace() for each in word)


def _clustered(word: str, cli: Cli) -> bool:
    """Whether it is several short options in one: ``-cp``."""
    return len(word) > 2 and all(f"-{each}" in cli.switches for each in word[1:])


def _behind_values(cli: Cli, calls: Calls, argv: Sequence[str], name: str, number: int) -> int:
    """The place behind an option's values."""
    switch = (
        name in cli.switches or _clustered(name, cli) if cli.switches else name not in (*calls.values, *calls.files)
    )
    if switch:
        return number
    number += number < len(argv)
    while name in cli.several and number < len(argv) and not argv[number].startswith("-"):
        number += 1
    return number
