"""Where a turn's prompt comes from: a file, read anew for each turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.base.files import read_bytes, usable
from bridge.base.roots import ANYWHERE
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.setups.prompted.job import Prompt


def file_prompt(path: Path, name: str) -> Prompt:
    """Of a file; a ConfigurationError says at once that it is empty or isn't there."""

    def of_turn(_turn: int) -> bytes:
        return _with_words(_content(path, name), name)

    of_turn(1)
    return of_turn


def _content(path: Path, name: str) -> bytes:
    with usable(f"the prompt {name}"):
        try:
            data = read_bytes(path, root=ANYWHERE)
        except FileNotFoundError:
            raise ConfigurationError(
                f"no prompt file: looked for {path}\n  next: write it, or name one with --prompt"
            ) from None
        except IsADirectoryError:
            raise ConfigurationError(
                f"the prompt {name} is a directory\n  next: name a file with --prompt"
            ) from None
    return data


def _with_words(data: bytes, name: str) -> bytes:
    """Give a prompt back; one without words is refused: every CLI refuses it, some after minutes."""
    if not data.strip():
        raise ConfigurationError(
            f"the prompt {name} is empty; no CLI runs on that\n  next: write what is to be done"
        )
    return data
