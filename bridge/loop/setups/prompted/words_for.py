"""What a script of a known kind is started with, by what is asked of a run, as its text has it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.clis import cli_of_script
from bridge.errors import ConfigurationError
from bridge.loop.setups.projects import require_words
from bridge.loop.setups.prompted.files import own_script
from bridge.loop.setups.script.arguments import takes_number
from bridge.loop.setups.script.which import LoopScript
from bridge.loop.turn.tool import first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Setup

_NOTES = re.compile(r"(?<![\w.-])\w[\w.-]*\.md\b")
_TOOL = re.compile(r"(?<![\w-])--tool(?=[|)=])")


def most_calls(most: int | None, setup: Setup, text: str) -> int | None:
    """How many calls a script makes at most that is told so many iterations, as its text shows; None: any."""
    if most is None or not takes_number(text):
        return most
    turns = LoopScript(own_script(setup.controller), setup.project).turns
    looped = Counter(each.program for each in turns if each.looped)  # of several CLIs, one is chosen
    return most * max(looped.values(), default=1) + sum(not each.looped for each in turns)


def program_of(setup: Setup) -> str:
    """Give the CLI that its script calls first, as far as its text shows; else claude."""
    script = LoopScript(own_script(setup.controller), setup.project)
    return next((each.program for each in script.turns), "claude")


def tool_words(options: RunOptions, setup: Setup, text: str, usual: str) -> tuple[tuple[str, ...], RunOptions]:
    """Give the words with which a script that knows ``--tool`` calls the CLI that is asked for, and what is asked
    beside that; `usual`: whose prompt other CLIs get."""
    named = options.named("driver") or options.named("agent")
    if named is None or not _TOOL.search(text):
        return (), options
    script = LoopScript(own_script(setup.controller), setup.project)
    programs = [*dict.fromkeys(each.program for each in script.turns)]
    cli = cli_of_script(named)
    if cli is not None and cli.programs[0] in programs and not options.settings:
        return ("--tool", cli.programs[0]), replace(options, driver=None, agent=None)
    return ("--tool", usual) if usual in programs else (), options


def require_prompts(
    names: Sequence[str], folder: Path, shown: Callable[[str], str], text: str, *, begin: str = ""
) -> list[str]:
    """See that the prompt files are there that a script names and doesn't write; say what is wrong with some.

    `begin`: how their names begin, where the rest is in a variable.

    Raises:
        ConfigurationError: none of them is there, or all are empty.
    """
    needed = [each for each in names if (begin or each) in text and not _is_written(begin or each, text)]
    there = [each for each in needed if (folder / each).is_file()]
    others = (name for name in _NOTES.findall(text) if name not in names)
    if needed and not there and not any((folder / name).is_file() for name in others):
        raise ConfigurationError(
            f"no prompt: looked for {' and '.join(map(shown, needed))}\n"
            "  next: write one, or name one with --prompt"
        )
    problems = []
    for each in there:
        try:
            require_words(folder / each, shown(each))
        except ConfigurationError as error:
            problems.append(error)
    if problems and len(problems) == len(there):
        raise problems[0]
    gone = [f"there is no {shown(each)}, which its script names" for each in needed if each not in there]
    return [*gone, *(first_line(each) for each in problems)]


def _is_written(name: str, text: str) -> bool:
    return re.search(rf"(?:>|\b(?:cp|mv|tee|touch)\b)[^\n;|&]*{re.escape(name)}", text) is not None
