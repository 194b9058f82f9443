"""The folder for temporary files beside boxes: in it lie the pipes by which this process talks to its own programs.

A pipe that has a name can be written to by whoever sees it, also where all else is read-only.
"""

from __future__ import annotations

import os
import stat
import tempfile
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.loop.sandbox.mounts import inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OTHERS = ("/tmp", "/var/tmp")  # noqa: S108


def keep_apart(project: str | os.PathLike[str]) -> None:
    """Have this process put what is temporary neither into a project nor into a folder around it, but for one that
    all users share: TMPDIR may say so."""
    top, usual = os.path.realpath(project), os.path.realpath(tempfile.gettempdir())
    around = inside(top, [usual]) and not os.stat(usual).st_mode & stat.S_ISVTX
    if around or inside(usual, [top]):
        others = [each for each in _OTHERS if os.access(each, os.W_OK | os.X_OK) and not inside(each, [top])]
        tempfile.tempdir = next(iter(others), usual)


def shown(paths: Sequence[str]) -> Iterator[str]:
    """The folder, if it lies in one of these, which are in a box: there it is to be hidden.

    Raises:
        ConfigurationError: it holds one of them, so that it can't be.
    """
    folder = os.path.realpath(tempfile.gettempdir())
    if not inside(folder, paths):
        return
    if (held := next((each for each in paths if inside(each, [folder])), None)) is not None:
        raise ConfigurationError(
            f"sandbox: temporary files lie in {folder}, which can't be hidden from a box that is to have {held}\n"
            "  next: set TMPDIR to a folder of its own, outside of the project"
        )
    yield folder
