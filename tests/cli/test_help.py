"""What every command says of itself, at the widths that terminals have."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import click
import pytest

from bridge.cli._terminal import fold
from bridge.cli.app import COMMANDS, SECTIONS, cli

if TYPE_CHECKING:
    from collections.abc import Iterator


def walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from walk(found, f"{path} {name}")


EVERY = dict(walk(cli, "ralph-bridge"))


@cache
def page(path: str, width: int) -> str:
    command = EVERY[path]
    context = command.context_class(
        command, info_name=path, help_option_names=["-h", "--help"], terminal_width=width, max_content_width=width
    )
    return command.get_help(context)


def test_no_line_is_too_long() -> None:
    lines = [(path, width, line) for path in EVERY for width in (60, 80) for line in page(path, width).splitlines()]
    assert [(path, line) for path, width, line in lines if len(line) > width] == []


def test_nothing_is_cut_off_and_nothing_is_markup() -> None:
    lines = [(path, line) for path in EVERY for line in page(path, 80).partition("\n\n")[2].splitlines()]
    assert len(lines) > 500
    assert [each for each in lines if each[1].endswith("...") or re.search("``|RANGE", each[1])] == []


def test_what_goes_on_in_the_next_line_hangs() -> None:
    """An option's text begins in one column, and goes on there; nothing else stands at the left but titles."""
    for path in EVERY:
        options = page(path, 80).partition("\nOptions:\n")[2].partition("\n\n")[0].splitlines()
        columns = {len(line) - len(line.lstrip()) for line in options if not line.startswith("  -")} or {0}
        assert len(columns) == 1, path
        [column] = columns
        for line in options:
            name = re.match(r"  (-\S.*?)(  |$)", line)
            fits = name is None or not column or name.end() == len(line) or len(name[1]) <= column - 4
            assert fits, (path, line)


def test_every_command_stands_in_one_section() -> None:
    names = [name for commands in SECTIONS.values() for name in commands]
    assert sorted(names) == sorted({*names}) == sorted(COMMANDS)
    text = page("ralph-bridge", 80)
    assert [line[:-1] for line in text.splitlines() if line[:1].isalpha() and line.endswith(":")] == [
        "Options", *SECTIONS
    ]  # fmt: skip
    starts = {line.index(COMMANDS[name][1][:9]) for name in names for line in text.splitlines()
              if line.startswith(f"  {name} ")}  # fmt: skip
    assert len(starts) == 1


FOLDED = {
    "as it is": "as it is",
    "a sentence that is longer than a terminal of forty": "a sentence that is longer than a\n  terminal of forty",
    "    next: do this and that and then something else": (
        "    next: do this and that and then\n          something else"
    ),
    "\x1b[31m✗\x1b[0m a check that failed (and why it has failed)": (
        "\x1b[31m✗\x1b[0m a check that failed (and why it has\n  failed)"
    ),
    "  absent  name   what comes of that in any loop": (
        "  absent  name   what comes of that in\n                 any loop"
    ),
    # A command is to be copied; a path can't be broken.
    "  next: printf '%s' some words and more of them >> a": "  next: printf '%s' some words and more of them >> a",
    "next: /a/path/that/is/longer/than/any/terminal/of/40": "next: /a/path/that/is/longer/than/any/terminal/of/40",
    "x: /a/path/that/is/longer/than/any/terminal/of/40 b": "x: /a/path/that/is/longer/than/any/terminal/of/40\n  b",
}


@pytest.mark.parametrize("line", FOLDED)
def test_a_line_for_people_goes_on_where_it_began(line: str) -> None:
    assert fold(line, 40) == FOLDED[line]


def test_exit_codes_are_a_list() -> None:
    assert page("ralph-bridge", 80).partition("Exit codes:\n")[2].splitlines()[:6] == [
        "    0            success",
        "    1            a violation, or a loop that ended incomplete",
        "    2            usage or configuration",
        "    3            a bug in ralph-bridge",
        "    4            the environment is not ready",
        "    130 and 143  ended by a signal",
    ]
