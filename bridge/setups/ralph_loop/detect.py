"""Is there a ralph-loop setup? Its files show it; a folder called ``.ralph`` alone proves nothing.

Four systems own such a folder. This one has, at the project's root or in ``.ralph/``: the controller ``ralph``, a
``config`` that sets AGENT, and ``agents/*.sh`` of which one defines ``agent_invoke``.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge.files import ANYWHERE, read_bytes
from bridge.setups.model import Setup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "ralph-loop"
_AGENT = re.compile(rb"^[ \t]*(?:export[ \t]+|declare[ \t]+-x[ \t]+)?AGENT=", re.MULTILINE)
_INVOKE = re.compile(rb"^[ \t]*(?:function[ \t]+)?agent_invoke\b", re.MULTILINE)


def detect(folder: Path) -> Setup | None:
    """Recognise the setup of the project `folder`, symbolic links such as ``./ralph -> .ralph/ralph`` resolved."""
    for controller in _controllers(folder):
        if not _lacks(controller.parent):
            return at(folder, controller)
    return None


def missing(folder: Path) -> tuple[str, ...]:
    """What of the signature is missing where it comes nearest, a sentence each; empty when nothing is."""
    answers = [
        tuple(f"{_shown(folder, controller.parent / name)} {lack}" for name, lack in _lacks(controller.parent))
        for controller in _controllers(folder)
    ]
    places = f"{folder / 'ralph'} nor {folder / '.ralph' / 'ralph'}"
    return min(answers, key=len, default=(f"there is no controller, neither {places}",))


def home_of(folder: Path) -> Path | None:
    """The nearest there is to a home: a controller's folder with any other part of the signature beside it."""
    for controller in _controllers(folder):
        if len(_lacks(controller.parent)) < 2:
            return controller
    return None


def at(project: Path, controller: Path) -> Setup:
    """The setup whose controller is this file, whatever else is there: its own checks will tell."""
    home = controller.parent
    parts = [controller, home / "config", *_agents(home)]
    if (filter_script := home / "lib" / "plan-filter.sh").is_file():
        parts.append(filter_script)
    return Setup(NAME, project, home, controller, tuple(_shown(project, part) for part in parts if part.exists()))


def _controllers(folder: Path) -> Iterator[Path]:
    for path in (folder / "ralph", folder / ".ralph" / "ralph"):
        if path.is_file():
            yield path.resolve()


def _lacks(home: Path) -> list[tuple[str, str]]:
    lacks = []
    if not (home / "config").is_file():
        lacks.append(("config", "is missing"))
    elif not _AGENT.search(_read(home / "config")):
        lacks.append(("config", "sets no AGENT="))
    if not any(_agents(home)):
        there = (home / "agents").is_dir()
        lacks.append(("agents/*.sh", "defines no agent_invoke" if there else "is missing"))
    return lacks


def _agents(home: Path) -> Iterator[Path]:
    for script in sorted((home / "agents").glob("*.sh")):
        if _INVOKE.search(_read(script)):
            yield script


def _read(path: Path) -> bytes:
    with suppress(OSError):
        return read_bytes(path, root=ANYWHERE)
    return b""


def _shown(folder: Path, path: Path) -> str:
    real = os.path.realpath(folder)
    return os.path.relpath(path, real) if path.is_relative_to(real) else str(path)
