"""Calls of coding CLIs behind other commands and in strings, of a shell, of a program in Python or node. Pure.

What a string is for nobody knows: taken for a call is only what says itself that it answers and ends.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.clis import find_cli
from bridge.loop.setups.script.calls import form_of
from bridge.loop.setups.script.past_path import cli_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MENTIONS = frozenset(
    {
        *(
            "echo",
            "printf",
            "cat",
            "grep",
            "sed",
            "awk",
            "log",
            "info",
            "warn",
            "error",
            "say",
            "die",
            "fail",
            "usage",
        ),
        *("which", "type", "hash", "command", "whereis", "man", "alias", "ps", "pgrep", "pkill", "killall", "jq"),
        *(
            "brew",
            "npm",
            "pnpm",
            "yarn",
            "bun",
            "pip",
            "pip3",
            "pipx",
            "apt",
            "apt-get",
            "git",
            "gh",
            "test",
            "[",
            "[[",
        ),
    }
)
"""Commands whose words are text, names of packages or of processes."""
_ELSEWHERE = frozenset(
    {"docker", "podman", "nerdctl", "kubectl", "ssh", "sbx", "limactl", "lima", "vagrant", "orb"}
)
"""Commands whose words run on another machine, or in a container."""
_WORD = r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s\"'|;&<>()`]+"
_LITERAL = r"([\"'`])((?:\\.|(?!\1).)*)\1"
_ITEM = re.compile(rf"\s*(?:[fbru]{{0,2}}{_LITERAL}|[^,\"'`]+)\s*(?:,\s*\[?|$)", re.DOTALL)
_MOST = 4000


class Spoken(NamedTuple):
    """A call in a string: where it begins there, which program, and its words; None: only a run could tell."""

    at: int
    program: str
    words: tuple[str | None, ...]
    text: str


def behind(words: Sequence[str]) -> Spoken | None:
    """Read a command whose first word is another program, or a function of the script's: ``retry 3 claude -p``.

    Args:
        words: as they stand in the script.

    >>> behind(["run_with_timeout", "300", "claude", "-p", '"$PROMPT"'])[1:3]
    ('claude', ('-p', None))
    >>> behind(["echo", "claude", "-p", "x"]), behind(["need", "claude"])
    (None, None)
    """
    first = os.path.basename(words[0].strip("\"'")) if words else ""
    if first in _MENTIONS or first in _ELSEWHERE:
        return None
    for number, word in enumerate(words[1:], 1):
        bare = word.strip("\"'")
        if find_cli(bare) is not None and (found := _call(number, bare, words[number + 1 :])) is not None:
            return found
    return None


def in_command(words: Sequence[str]) -> Iterator[Spoken]:
    """Read what a command is given as a string to run: ``bash -c "claude -p ..."``, ``tmux new-session "..."``.

    >>> [each[1:3] for each in in_command(["bash", "-c", "\\"cat p.md | claude -p --model $M\\""])]
    [('claude', ('-p', '--model', None))]
    """
    first = os.path.basename(words[0].strip("\"'")) if words else ""
    if first in _MENTIONS or first in _ELSEWHERE:
        return
    for word in words[1:]:
        if word[:1] in "\"'" and " " in word:
            yield from in_shell(word[1:-1])


def in_shell(text: str) -> Iterator[Spoken]:
    """Read a text that a shell would run.

    >>> [each[1:3] for each in in_shell("timeout 9 claude -p 'go on' > x; echo claude -p; codex --version")]
    [('claude', ('-p', 'go on'))]
    """
    for part in re.finditer(rf"(?:{_WORD}|[^\S\n])+", text):
        words = re.findall(_WORD, part[0])
        if words and os.path.basename(words[0]) not in _MENTIONS | _ELSEWHERE:
            names = (number for number, word in enumerate(words) if find_cli(word.strip("\"'")) is not None)
            found = (_call(part.start(), words[number].strip("\"'"), words[number + 1 :]) for number in names)
            if (first := next(filter(None, found), None)) is not None:
                yield first


def in_program(text: str) -> Iterator[Spoken]:
    """Read the literals of a program in Python, node or another such language: a list of words, or a command.

    >>> [each[1:3] for each in in_program('run(["claude", "-p", prompt, "--model", "opus"], check=True)')]
    [('claude', ('-p', None, '--model', 'opus'))]
    >>> [each[1:3] for each in in_program("spawn('opencode', ['run', text])\\nexec(`codex exec ${task}`)")]
    [('opencode', ('run', None)), ('codex', ('exec', None))]
    >>> [*in_program('which("claude")  # "claude", then -p')]
    []
    """
    names = "|".join(sorted(map(re.escape, cli_names()), key=len, reverse=True))
    for found in re.finditer(
        rf"([\"'`])((?:[\w./~-]*/)?(?:{names}))(?:\1\s*,\s*\[?|(\s(?:\\.|(?!\1)[^\n])*)\1)", text
    ):
        if found[3] is not None:
            calls = in_shell(found[2] + found[3].replace("{", "$"))
        else:
            end = text.find("]", found.end())
            given = text[found.end() : min(end, found.end() + _MOST)] if end > 0 else ""
            items = [f"'{item[2]}'" if item[2] and "{" not in item[2] else "$" for item in _ITEM.finditer(given)]
            calls = filter(None, [_call(0, found[2], items)])
        for each in calls:
            yield each._replace(at=found.start(), text=text[found.start() :].partition("\n")[0])


def in_recipes(text: str) -> Iterator[Spoken]:
    """Read the recipes of a makefile, or of a justfile."""
    yield from in_shell(re.sub(r"(?m)^([ \t]+)[@-]+", r"\1 ", text))


def assigned(text: str) -> Iterator[Spoken]:
    """Read what a shell script assigns to variables: strings and arrays.

    >>> [each[1:3] for each in assigned('RUN=(codex exec "${FLAGS[@]}"); BY[c]="claude -p --model opus"')]
    [('codex', ('exec', None)), ('claude', ('-p', '--model', 'opus'))]
    """
    value = r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|\(((?:[^()\"']|\"(?:[^\"\\]|\\.)*\"|'[^']*')*)\)"
    text = re.sub(r"(?m)^[ \t]*#.*$", lambda line: " " * len(line[0]), text)  # what is said stays where it stands
    for found in re.finditer(rf"\b\w+(?:\[[^\]\n]*\])?\+?=(?:{value})", text):
        words = next(filter(None, found.groups()), "")
        yield from (each._replace(at=found.start()) for each in in_shell(words.replace("\n", " ")))


def _call(at: int, name: str, words: Sequence[str]) -> Spoken | None:
    """A call, if its words say that it answers and ends; ``$`` in one: only a run could tell what it is."""
    cli = find_cli(name)
    assert cli is not None
    known = [None if re.search(r"[$`]", each) and each[:1] != "'" else each.strip("\"'") for each in words]
    argv = [cli.programs[0], *("\N{HORIZONTAL ELLIPSIS}" if each is None else each for each in known)]
    if form_of(argv, terminal=True) is None:
        return None
    return Spoken(at, cli.programs[0], tuple(known), " ".join((name, *words)))
