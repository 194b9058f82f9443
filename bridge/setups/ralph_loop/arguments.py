"""The controller's own command line. Pure: words in, a request or a refusal out.

Scripts and habits rely on its oddities: mode words count wherever they stand and the last one wins, any further
word replaces the number of iterations, and nothing is checked until the number is needed.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridge.errors import SessionRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOP_MODES = ("plan", "build", "align-specs", "prompt")
MODES = (*LOOP_MODES, "update", "sandbox", "help")


@dataclass(frozen=True, slots=True)
class RalphRequest:
    """What is asked for.

    Attributes:
        mode: one of `MODES`.
        topic: for ``help``; empty for the index.
        prompt_file: for ``prompt``; empty when none was given.
        process: ``--process`` stood somewhere.
        iterations: the word that says how many, as it stands; empty when none does.
    """

    mode: str
    topic: str = ""
    prompt_file: str = ""
    process: bool = False
    iterations: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Nothing to run: exit `status`, after `message` (stderr) and the usage on the stream named ``usage``."""

    status: int
    message: str = ""
    usage: str = ""


def parse(words: Sequence[str]) -> RalphRequest | Refusal:
    """Read a command line as the controller does.

    >>> parse(["plan", "3", "build"])
    RalphRequest(mode='build', topic='', prompt_file='', process=False, iterations='3')
    >>> parse(["frobnicate"])
    Refusal(status=1, message='Error: unknown argument: frobnicate', usage='stderr')
    """
    request = RalphRequest("", process="--process" in words)
    for word in (each for each in words if each != "--process"):
        if word in ("-h", "--help"):
            return Refusal(0, usage="stdout")
        if request.mode == "help":
            request = replace(request, topic=word)
        elif word in MODES:
            request = replace(request, mode=word)
        elif not request.mode:
            return Refusal(1, f"Error: unknown argument: {word}", "stderr")
        elif request.mode == "prompt" and not request.prompt_file:
            request = replace(request, prompt_file=word)
        elif request.mode != "sandbox":  # its sub-commands are the original's business
            request = replace(request, iterations=word)
    if not request.mode:
        return Refusal(1, usage="stdout")
    if request.process and request.mode != "plan":
        return Refusal(1, "Error: --process is only valid with plan mode")
    return request


# What bash's arithmetic takes for a number, without its expressions: 010 is eight, 0x10 sixteen, 2#11 three.
_NUMBER = re.compile(
    r"[ \t\n]*(?P<sign>[+-]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|(?P<octal>0[0-7]*)|(?P<decimal>[1-9][0-9]*)"
    r"|(?P<base>[1-9][0-9]?)#(?P<digits>[0-9a-zA-Z]+))[ \t\n]*"
)


def integer(text: str, what: str) -> int:
    """Read a number as bash's arithmetic would.

    >>> integer("-5", "iterations"), integer("010", "iterations")
    (-5, 8)

    Raises:
        SessionRefused: it is none. The controller would die of that, too, in the middle of its loop.
    """
    with suppress(ValueError):
        if number := _NUMBER.fullmatch(text):
            digits, base = _digits(number)
            return int(number["sign"] + digits, base)
    raise SessionRefused(f"Error: {what} must be a whole number, not {text!r}")


def _digits(number: re.Match[str]) -> tuple[str, int]:
    if number["hex"]:
        return number["hex"], 16
    if number["octal"]:
        return number["octal"], 8
    if number["decimal"]:
        return number["decimal"], 10
    return number["digits"], int(number["base"])
