"""Files that a command is told to write, such as by ``-o FILE``."""

from __future__ import annotations

import os

from bridge.base.files import root_of_output, usable, write_atomic
from bridge.errors import ConfigurationError


def check_target(option: str, file: str) -> str:
    """Give the name of such a file back, before there is any work that could be lost.

    Raises:
        ConfigurationError: it names a folder, or lies in none.
    """
    folder = os.path.dirname(file) or "."
    if not os.path.isdir(folder):
        made = " is no folder" if os.path.lexists(folder) else ""
        why = f"{folder}{made}" if made else f"there is no folder {folder}"
        raise ConfigurationError(f"{option}: {why}\n  next: make it, or name another file")
    if not file or os.path.isdir(file):
        what = f"{file} is a folder" if file else "it is empty"
        raise ConfigurationError(f"{option}: {what}; expected a file to write\n  next: name a file")
    return file


def write_output(option: str, file: str, text: str) -> None:
    """Write it, in place of what was there.

    Raises:
        ConfigurationError: as for `check_target`.
        ProjectUnusable: the system refuses.
    """
    check_target(option, file)
    with usable(file):
        write_atomic(file, text, root=root_of_output(file))
