"""Which prompt."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.files import usable

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["find_prompt"]


def find_prompt(project: Path, option: str | None) -> str:
    """Return the prompt file as the driver gets to see it: relative to the project where it lies in it.

    Raises:
        ConfigurationError: there is none; says which were looked for.
    """
    candidates = [option] if option else [".ralph/PROMPT.md", "PROMPT.md"]
    for candidate in candidates:
        if os.path.isfile(project / candidate):
            with usable("the prompt file"), open(project / candidate, "rb"):
                return candidate
    if option and (project / option).is_dir():
        raise ConfigurationError(f"the prompt {option} is a directory\n  next: name a file with --prompt")
    looked = " and ".join(str(project / candidate) for candidate in candidates)
    raise ConfigurationError(f"no prompt file: looked for {looked}\n  next: write one, or name one with --prompt")
