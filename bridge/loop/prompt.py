"""Which prompt."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.files import usable

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["find_prompt", "has_prompt", "require_words"]

_ENOUGH = 65_536
_PLACES = (".ralph/PROMPT.md", "PROMPT.md")


def find_prompt(project: Path, option: str | None) -> str:
    """Return the prompt file as the driver gets to see it: relative to the project where it lies in it.

    Raises:
        ConfigurationError: there is none (says which were looked for), or it is empty.
    """
    candidates = [option] if option else _PLACES
    for candidate in candidates:
        if os.path.isfile(project / candidate):
            require_words(project / candidate, candidate)
            return candidate
    if option and (project / option).is_dir():
        raise ConfigurationError(f"the prompt {option} is a directory\n  next: name a file with --prompt")
    looked = " and ".join(str(project / candidate) for candidate in candidates)
    raise ConfigurationError(f"no prompt file: looked for {looked}\n  next: write one, or name one with --prompt")


def has_prompt(project: Path) -> bool:
    """Whether there is a file where `find_prompt` looks, whatever is in it."""
    return any(os.path.isfile(project / candidate) for candidate in _PLACES)


def require_words(path: Path, name: str) -> None:
    """Refuse a prompt that is empty or blank: every CLI does, some after minutes (drift D15).

    Args:
        path: the prompt file.
        name: as people know it.

    Raises:
        ConfigurationError: it has no words.
    """
    with usable("the prompt file"), open(path, "rb") as file:
        while data := file.read(_ENOUGH):
            if data.strip():
                return
    raise ConfigurationError(f"the prompt {name} is empty; no CLI runs on that\n  next: write what is to be done")
