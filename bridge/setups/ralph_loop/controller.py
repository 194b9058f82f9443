"""The controller that is stood in for: its help texts, and what is left to it, ``update`` and ``sandbox``."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.errors import SessionRefused
from bridge.files import ANYWHERE, read_bytes, usable
from bridge.process.secrets import without_secrets
from bridge.setups import standin
from bridge.setups.ralph_loop.arguments import MODES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bridge.setups.model import Setup

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


def run_original(setup: Setup, words: Sequence[str], *, in_place: bool) -> tuple[int, str]:
    """Run the original with these words, on the terminal, and return its status and what there is to say.

    Args:
        setup: where it lies.
        words: its arguments.
        in_place: run it under its own name: an update compares the file of that name with what it had installed,
            and must not find a stand-in there. Then the stand-in is back, unless there is a new controller now.

    Raises:
        SessionRefused: there is no original.
        bridge.errors.ProjectUnusable: a file can't be read or written.
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
