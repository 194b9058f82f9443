"""How a CLI that isn't here would read a command line: options, values, texts."""

from __future__ import annotations

import pytest

from bridge.scripts.help_text import Help, Option, options_taken
from bridge.verify.command_line import (
    bare_id,
    beyond,
    is_doubtful,
    is_option,
    late_option,
    lost_value,
    swallowed,
    swallowed_by,
    without_value,
)

TEXT = "Do the next open task"
ID = "6f1c2a9e"


@pytest.mark.parametrize("word", ["-p", "--print", "-verbose", "--output-format", "--no_color"])
def test_options(word: str) -> None:
    assert is_option(word)


@pytest.mark.parametrize("word", ["", "-", "--", "-1", "--x=y", "--a b", "- [ ] a task", "text", "---"])
def test_no_options(word: str) -> None:
    assert not is_option(word)


def test_what_is_there_beyond_is_counted() -> None:
    assert beyond(["a", "-r", "a", ID], ["a", "b"]) == ["-r", "a", ID]


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["cli", "--model", "-p", TEXT], "--model"),
        (["cli", "-p", TEXT, "--model"], "--model"),
        (["cli", "--model", "", "-p", TEXT], "--model"),
        (["cli", "-p", TEXT], None),
        (["cli", "--model", "fast", "-p", TEXT], None),
    ],
)
def test_an_option_that_lost_its_value(words: list[str], option: str | None) -> None:
    assert lost_value(words, ["cli", "--model", "great", "-p", TEXT], "great") == option


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["cli", "--output-format", "--verbose", TEXT], ("--output-format", "--verbose")),
        (["cli", "--model", "-p", TEXT], ("--model", "-p")),
        (["cli", TEXT, "--session-id"], ("--session-id", "--")),
        (["cli", "--output-format", "json"], None),
        (["cli", "--prompt", "- [ ] a task"], None),
        (["cli", "--verbose", "--print"], None),
    ],
)
def test_an_option_that_has_another_one_for_its_value(words: list[str], found: tuple[str, str] | None) -> None:
    assert without_value(words) == found


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["cli", "--", TEXT, "--json"], "--json"),
        (["cli", "--", "--resume", ID, TEXT], "--resume"),
        (["cli", "--", TEXT, f"--session={ID}"], f"--session={ID}"),
        (["cli", "--json", "--", TEXT], None),
        (["cli", "--", "-- a text that begins so"], None),
        (["npx", "pkg", "--", "cli", "-p", TEXT], None),  # a whole command line of another program
        (["cli", TEXT, "--json"], None),
    ],
)
def test_an_option_behind_the_end_of_options(words: list[str], option: str | None) -> None:
    assert late_option(words, [TEXT], "cli") == option


@pytest.mark.parametrize(
    ("words", "before"),
    [
        (["cli", "-p", TEXT, ID], TEXT),
        (["cli", "--json", ID, TEXT], "--json"),
        (["cli", "exec", ID, TEXT], "exec"),
        (["cli", "resume", ID, TEXT], None),
        (["cli", "exec", "resume", ID, TEXT], None),
        (["cli", "--session", ID, TEXT], None),
        (["cli", "--pick-up", ID, TEXT], None),
        (["cli", "-s", ID, TEXT], None),
        (["cli", f"--session={ID}", TEXT], None),
        (["cli", "-p", TEXT], None),
    ],
)
def test_an_id_without_an_option(words: list[str], before: str | None) -> None:
    assert bare_id(words, ["cli", "--json", "exec", "-p", TEXT], ID) == before


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["claude", "-p", "--allowedTools", "Read", "Write", TEXT], ("--allowedTools", TEXT)),
        (["claude", "--allowedTools", "Read", "-p", TEXT], None),
        (["claude", "--allowedTools", "Read", "--", TEXT], None),
        (["cli", "--tools", "Read", "Write", TEXT], ("--tools", TEXT)),
        (["cli", "--tool", "Read", "--tool", "Write", TEXT], None),
        (["cli", "--tools", "Read,Write", TEXT], None),
    ],
)
def test_a_text_that_an_option_swallows(words: list[str], found: tuple[str, str] | None) -> None:
    assert swallowed(words, [TEXT], ["Read", "Write"]) == found


HELP = Help({"--dirs": Option("several"), "--model": Option("value"), "--json": Option()})


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["cli", "--dirs", "src", TEXT], ("--dirs", TEXT)),
        (["cli", "--dirs", TEXT], None),
        (["cli", "--model", "--json", TEXT], ("--model", "--json")),
        (["cli", "--model", "fast", TEXT], None),
        (["cli", "--json", TEXT], None),
    ],
)
def test_a_text_that_an_option_swallows_as_the_help_has_it(words: list[str], found: tuple[str, str] | None) -> None:
    taken = options_taken(words, lambda path: HELP if path == ("cli",) else None)
    assert taken is not None
    assert swallowed_by(taken, [TEXT]) == found


@pytest.mark.parametrize(
    ("words", "doubtful"),
    [
        (["cli", "--with", "x", TEXT], True),
        (["cli", "--color", TEXT], False),
        (["cli", "--fancy", "--json", TEXT], True),
        (["cli", "--json", TEXT], False),
        (["cli", "--resume", ID, TEXT], False),
        (["cli", "-p", TEXT], False),
    ],
)
def test_what_only_the_help_could_tell(words: list[str], doubtful: bool) -> None:
    assert is_doubtful(words, [TEXT]) is doubtful
