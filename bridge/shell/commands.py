"""Commands for scripts to find where PATH has none of their name."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Commands = Mapping[str, Callable[[], Sequence[str]]]


def provide(commands: Commands, path: str, folder: str) -> frozenset[str]:
    """Put a launcher into `folder` for each command that `path` has none of; which ones that were.

    Args:
        commands: by name, what gives the program and its first arguments; nothing, when there is none.
        path: of the scripts, as the environment has it. `folder` belongs behind everything else on it.
        folder: made when it is needed.
    """
    import shlex

    made = set()
    for name, command in commands.items():
        if shutil.which(name, path=path) is None and (words := command()):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            launcher = f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'.encode("utf-8", "surrogateescape")
            with open(f"{folder}/{name}", "wb", opener=_program) as file:
                file.write(launcher)
            made.add(name)
    return frozenset(made)


def _program(path: str, flags: int) -> int:
    return os.open(path, flags, 0o700)
