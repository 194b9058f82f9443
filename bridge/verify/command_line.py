"""A command line as a CLI reads it: which words are options, which their values, which text. Pure.

Nobody tells how a CLI that isn't here reads its arguments. That a word is an option's value shows in commands that
differ in one thing only; for the rest there are the names of options, and what is known of some CLIs.
"""

from __future__ import annotations

import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.clis import find_cli

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bridge.scripts.help_text import Taken

_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_WITH_VALUE = re.compile(r"--?[A-Za-z][\w-]*(?:=.*)?", re.DOTALL)
_ONE = re.compile(r"--(?:format|sandbox|log-level|colou?r|mode|agent)$|-[omsc]$")
_LATE = re.compile(r"--[a-z][\w-]*(?:=\S*)?|-[A-Za-z]")
_NEEDS_VALUE = re.compile(
    r"--(?:output-format|input-format|model|session-id|permission-mode|approval-mode|max-turns|prompt|prompt-file"
    r"|message|message-file|instructions|system-prompt|append-system-prompt|profile)"
)
_SWITCH = re.compile(
    r"--(?:no-|skip|dangerously|allow-all|trust|auto|full|force|yes|yolo|json|stream|print|quiet|silent|verbose"
    r"|debug|non-?interactive|headless|fork|new|keep|ephemeral|once|exec|raw|plain|batch|ci\b|last)"
)
"""Options that take no value, by how their names begin."""
_OF_A_SESSION = re.compile(
    r"res(?:um|tor)|sess|continu|thread|conv|chat|task|hist|checkpoint|attach|uuid|run-?id|(?:^|[-_])id\b",
    re.IGNORECASE,
)


class Swallowed(NamedTuple):
    """An option, and a word that it takes for a value of its own."""

    option: str
    word: str


def is_option(word: str) -> bool:
    """Whether it looks like an option without a value."""
    return _OPTION.fullmatch(word) is not None


def may_be_option(word: str) -> bool:
    """Whether it looks like an option, with its value behind ``=`` or not."""
    return _WITH_VALUE.fullmatch(word) is not None


def is_switch(word: str) -> bool:
    """Whether it is an option whose name says that it takes no value."""
    return _SWITCH.match(word) is not None


def beyond(more: Sequence[str], base: Sequence[str]) -> list[str]:
    """What `more` has beyond `base`, counting each."""
    rest = list(base)
    found = []
    for word in more:
        if word in rest:
            rest.remove(word)
        else:
            found.append(word)
    return found


def shell_name(words: Sequence[str]) -> str | None:
    """An option that a shell takes for its $0, as it stands behind ``-c CODE``, and that the code never reads."""
    for at in range(len(words) - 3):
        shell, flag, code, zero = words[at : at + 4]
        if os.path.basename(shell) in ("bash", "sh", "dash", "zsh") and re.fullmatch(r"-[a-z]*c", flag):
            return zero if is_option(zero) and not re.search(r"\$\{?0", code) else None
    return None


def wants_terminal(words: Sequence[str]) -> bool:
    """Whether docker is told to make a terminal of a stdin that is none: it refuses that."""
    if os.path.basename(words[0]) != "docker" or not {"run", "exec"} & set(words[1:3]):
        return False
    flags = list(words[1 + next(at for at, word in enumerate(words) if word in ("run", "exec")) :])
    end = next((at for at, word in enumerate(flags) if not word.startswith("-") and not _valued(flags, at)), None)
    short = "".join(word[1:] for word in flags[:end] if re.fullmatch(r"-[dit]+", word))
    given = {*short, *({"--interactive": "i", "--tty": "t"}.get(word, "") for word in flags[:end])}
    return given >= {"i", "t"}


def _valued(flags: Sequence[str], at: int) -> bool:
    """Whether the word is the value of an option of docker in front of it."""
    before = flags[at - 1] if at else ""
    return before.startswith("-") and "=" not in before and not _OF_DOCKER.fullmatch(before)


_OF_DOCKER = re.compile(r"-[ditPq]+|--(?:rm|init|interactive|tty|detach|privileged|read-only|quiet|publish-all)")


def lost_value(words: Sequence[str], fuller: Sequence[str], value: str) -> str | None:
    """The option that has `value` in `fuller`, and in `words` nothing, or an empty word, in the place of it."""
    for at in range(1, len(fuller)):
        option = fuller[at - 1]
        if value not in fuller[at] or _WITH_VALUE.fullmatch(fuller[at]) or not is_option(option):
            continue
        for word, following in pairwise([*words, ""]):
            if word == option and (not following or following in fuller[at + 1 :]):
                return option
    return None


def without_value(words: Sequence[str]) -> Swallowed | None:
    """An option whose name says that it takes a value, in front of another one."""
    for option, following in pairwise([*words, "--"]):
        if _NEEDS_VALUE.fullmatch(option) and re.match(r"--([a-z]|$)|-[A-Za-z]$", following):
            return Swallowed(option, following)
    return None


def late_option(words: Sequence[str], texts: Collection[str], program: str) -> str | None:
    """An option behind ``--``, when the text that ends the command is there as well.

    `program` is the CLI's name: behind the ``--`` of another one may stand a whole command line.
    """
    if "--" not in words:
        return None
    text = _first(words[list(words).index("--") + 1 :], texts)
    if text is None:
        return None
    ends = [at for at, word in enumerate(words[: list(words).index(text)]) if word == "--"]
    if not ends:
        return None
    behind = list(words[ends[-1] + 1 :])
    if text != behind[0] and not (
        behind[0].startswith("-") and os.path.basename(words[0]) == os.path.basename(program)
    ):
        return None
    return next((word for word in behind if _LATE.fullmatch(word) or _is_value_of_late(word, texts)), None)


def _is_value_of_late(word: str, texts: Collection[str]) -> bool:
    """``--prompt=TEXT``."""
    option, _, value = word.partition("=")
    return option.startswith("--") and is_option(option) and any(value.startswith(text) for text in texts)


def bare_id(words: Sequence[str], base: Sequence[str], session: str) -> str | None:
    """The word in front of a session id that is no value of an option, nor of a command such as ``resume``."""
    if session not in words:
        return None
    at = list(words).index(session)
    before, new = words[at - 1], beyond(words, base)
    end = list(words).index("--") if "--" in words[:at] else 0
    if end and (
        words[end + 1] == session or re.search(r"\s", words[end + 1])
    ):  # text, no other program's command line
        named = [word for word in words[1:end] if not is_option(word)]
        return None if any(_names_session(word) for word in named) else before
    if _names_session(before) or re.fullmatch(r"-\w", before):
        return None
    if is_option(before) and before in new and not _SWITCH.match(before):
        return None
    return before


def _names_session(word: str) -> bool:
    return len(word) <= 40 and not re.search(r"\s", word) and _OF_A_SESSION.search(word) is not None


def swallowed(words: Sequence[str], texts: Collection[str], items: Collection[str]) -> Swallowed | None:
    """A text that an option takes for one more of its values.

    An option that is followed by two of `items`, the entries of a list, takes all words up to the next option;
    of known CLIs' options that is known.
    """
    cli = find_cli(words[0])
    several = cli.several if cli else ()
    for at, option in enumerate(words):
        if not is_option(option):
            continue
        run = _run(words, at)
        if option not in several and sum(word in items for word in run[:2]) < 2:
            continue
        if (word := _first(run, texts)) is not None:
            return Swallowed(option, word)
    return None


def swallowed_by(taken: Sequence[Taken], texts: Collection[str]) -> Swallowed | None:
    """The same, of a CLI whose help tells what its options take; also an option that takes the next one."""
    for name, option, values, *_ in taken:
        if option is None or not values:
            continue
        if option.takes == "value" and is_option(values[0]):
            return Swallowed(name, values[0])
        if option.takes == "several" and (word := _first(values[1:], texts)) is not None:
            return Swallowed(name, word)
    return None


def is_doubtful(words: Sequence[str], texts: Collection[str]) -> bool:
    """Whether only the CLI's help can tell how some option here is read."""
    for at, option in enumerate(words[:-1]):
        if (
            not is_option(option)
            or _NEEDS_VALUE.fullmatch(option)
            or _ONE.match(option)
            or _SWITCH.match(option)
            or _names_session(option)
        ):
            continue
        run = _run(words, at)
        if (not run and option.startswith("--")) or _first(run[1:], texts) is not None:
            return True
    return False


def _run(words: Sequence[str], at: int) -> list[str]:
    """The words behind an option, up to the next one."""
    behind = list(words[at + 1 :])
    end = next((i for i, word in enumerate(behind) if word == "--" or _WITH_VALUE.fullmatch(word)), len(behind))
    return behind[:end]


def _first(words: Sequence[str], texts: Collection[str]) -> str | None:
    return next((word for word in words if any(text in word for text in texts)), None)
