"""The original controller: what it says, and what is left to it: ``update`` and ``sandbox``."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.errors import SessionRefused
from bridge.loop.state import usable
from bridge.setups import standin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bridge.setups.model import Setup

__all__ = ["original_text", "run_original"]


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
    if standin.state_of(controller) is standin.State.ORIGINAL:
        return _run(controller, setup, words), ""
    if not original.is_file():
        raise SessionRefused(f"Error: the original controller {original} is gone; only it can do this")
    if not in_place:
        return _run(original, setup, words), ""
    with usable("the controller"):
        stand_in, mode = controller.read_bytes(), controller.stat().st_mode
        data = original.read_bytes()
        standin.put(controller, data, original.stat().st_mode)
    try:
        status = _run(controller, setup, words)
    finally:
        with usable("the controller"):
            updated = not controller.is_file() or controller.read_bytes() != data
            if not updated:
                standin.put(controller, stand_in, mode)
    if not updated:
        return status, ""
    return status, (
        f"{controller} was replaced by the update: ralph-bridge does not stand in for it any more\n"
        f"  next: `ralph-bridge adopt` in {setup.project} to stand in for the new one"
    )


def original_text(controller: Path) -> bytes:
    """What the setup's own controller says, adopted or not; empty when it can't be read."""
    original = standin.kept(controller)
    with suppress(OSError):
        return (original if original.is_file() else controller).read_bytes()
    return b""


def _run(script: Path, setup: Setup, words: Sequence[str]) -> int:
    done = subprocess.run(["bash", str(script), *words], cwd=setup.project, check=False)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode
