"""The controller that is stood in for: its command line, its help texts, and what is left to it."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE, read_bytes, usable
from bridge.base.process.secrets import without_secrets
from bridge.errors import SessionRefused
from bridge.loop.setups import standin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bridge.loop.setups.setup_kind import Setup

LOOP_MODES = ("plan", "build", "align-specs", "prompt")
MODES = (*LOOP_MODES, "update", "sandbox", "help")


@dataclass(frozen=True, slots=True)
class RalphRequest:
    mode: str  # one of `MODES`
    topic: str = ""  # for ``help``; empty for the index
    prompt_file: str = ""  # for ``prompt``; empty when none was given
    process: bool = False  # ``--process`` stood somewhere
    iterations: str = ""  # the word that says how many, as it stands; empty when none does


@dataclass(frozen=True, slots=True)
class Refusal:
    """Nothing to run: exit `status`, after `message` (stderr) and the usage on the stream named ``usage``."""

    status: int
    message: str = ""
    usage: str = ""


def parse(words: Sequence[str]) -> RalphRequest | Refusal:
    """Read a command line as the controller does.

    Scripts and habits rely on its oddities: mode words count wherever they stand and the last one wins, any further
    word replaces the number of iterations, and nothing is checked until the number is needed.

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
    if number := _NUMBER.fullmatch(text):
        groups = {"hex": 16, "octal": 8, "decimal": 10, "digits": int(number["base"] or 10)}
        digits, base = next((number[name], base) for name, base in groups.items() if number[name])
        with suppress(ValueError):  # a base below 2 or above 36, or a digit that it doesn't have
            return int(number["sign"] + digits, base)
    raise SessionRefused(f"Error: {what} must be a whole number, not {text!r}")


# -- its help texts ---------------------------------------------------------------------------------

_INDEX = ("index", "usage", "help", "main", "overview", "general", "ralph")

_USAGE = """\
Usage: ralph plan [N]                plan from the specifications
       ralph plan --process [N]      plan from the process specifications
       ralph build [N]               build to the plan, one task per iteration
       ralph align-specs [N]         bring the specifications in line with what was built
       ralph prompt FILE [N]         run a prompt of your own
       ralph update                  update the setup's own files
       ralph sandbox setup|up|stop|reset|shell|status|name ...
       ralph help [topic]
       ralph -h | --help

N is the largest number of iterations (config: DEFAULT_MAX_ITERATIONS).
"""


def usage(home: Path) -> str:
    """The general usage, which names every mode: the setup's own text if it does, else ours.

    A setup's index of help topics is a text of another kind, and mostly all that there is.
    """
    texts = _texts(home)
    found = (texts[name] for name in _INDEX if name in texts)
    return next((text for text in found if all(word in text for word in (*MODES, "--process"))), _USAGE)


def help_text(home: Path, topic: str) -> tuple[str, str]:
    """The text for a topic (empty: the index), and a complaint when there is no such topic."""
    texts = _texts(home)
    if topic in texts:
        return texts[topic], ""
    index = next((texts[name] for name in _INDEX if name in texts), _USAGE)
    # Our usage has a line on each mode, so where the setup has no texts they are no unknown topics.
    known = not topic or (topic in MODES and not texts)
    return index, "" if known else f"Unknown help topic: {topic}"


def _texts(home: Path) -> dict[str, str]:
    found = {}
    with suppress(OSError):
        for path in (home / "lib" / "help").glob("*.txt"):
            found[path.stem] = read_bytes(path).decode("utf-8", "surrogateescape")
    return found


# -- what only the original can do ------------------------------------------------------------------


def run_original(setup: Setup, words: Sequence[str], *, in_place: bool) -> tuple[int, str]:
    """Run the original with these words, on the terminal, and return its status and what there is to say.

    With `in_place` under its own name: an update compares the file of that name with what it had installed, and
    must not find a stand-in there. Then the stand-in is back, unless there is a new controller now.

    Raises:
        SessionRefused: there is no original.
    """
    controller, original = setup.controller, standin.kept(setup.controller)
    if standin.state_of(controller) is standin.StandInState.ORIGINAL:
        return _run(controller, setup, words), ""
    if not original.is_file():
        raise SessionRefused(f"Error: the original controller {original} is gone; only it can do this")
    if not in_place:
        return _run(original, setup, words), ""
    with usable("the controller"):
        stand_in, mode = read_bytes(controller, root=ANYWHERE), controller.stat().st_mode
        data = read_bytes(original, root=ANYWHERE)
        standin.put(controller, data, original.stat().st_mode)
    try:
        status = _run(controller, setup, words)
    finally:
        with usable("the controller"):
            updated = not controller.is_file() or read_bytes(controller, root=ANYWHERE) != data
            if not updated:
                standin.put(controller, stand_in, mode)
    if not updated:
        return status, ""
    return status, (
        f"{controller} was replaced by the update: ralph-bridge no longer stands in for it\n"
        f"  next: `ralph-bridge adopt` in {setup.project} to stand in for the new one"
    )


def original_text(controller: Path) -> bytes:
    """The text of the setup's own controller, adopted or not; empty when it can't be read."""
    original = standin.kept(controller)
    with suppress(OSError):
        return read_bytes(original if original.is_file() else controller, root=ANYWHERE)
    return b""


def _run(script: Path, setup: Setup, words: Sequence[str]) -> int:
    env = without_secrets(os.environ)
    completed = subprocess.run(["bash", str(script), *words], cwd=setup.project, env=env, check=False)
    return completed.returncode if completed.returncode >= 0 else 128 - completed.returncode
