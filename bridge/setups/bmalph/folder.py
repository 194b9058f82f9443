"""Where the loop's folder lies: ``.ralph`` in the project, or what RALPH_DIR says."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Folder", "locate"]


@dataclass(frozen=True, slots=True)
class Folder:
    """The loop's folder of one project.

    Attributes:
        project: the project's folder, absolute; everything runs in it.
        path: the loop's folder, absolute.
        shown: the loop's folder as scripts and people see it: ``.ralph``, or an absolute path.
    """

    project: Path
    path: Path
    shown: str = ".ralph"

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @property
    def logs(self) -> Path:
        """The folder for logs."""
        return self.path / "logs"

    @property
    def drivers(self) -> tuple[Path, Path]:
        """Where the project's own drivers lie, in the order of the search (the second: the contract's)."""
        return self.path / "drivers", self.project / "ralph" / "drivers"

    def name_of(self, path: Path) -> str:
        """`path` as people in the project would write it."""
        for base, prefix in ((self.path, self.shown), (self.project, "")):
            if path.is_relative_to(base):
                return str(PurePosixPath(prefix, path.relative_to(base)))
        return str(path)


def locate(project: str | os.PathLike[str] = ".", env: Mapping[str, str] | None = None) -> Folder:
    """Find the loop's folder; it need not exist.

    Args:
        project: the project's folder.
        env: the environment that RALPH_DIR is read from; None for this process's own.

    Raises:
        ConfigurationError: RALPH_DIR is neither ``.ralph`` nor empty nor an absolute path, or holds ``..``
            (a relative one would depend on where each script stands).
    """
    base = Path(os.path.abspath(project))
    given = (os.environ if env is None else env).get("RALPH_DIR", "")
    if given in ("", ".ralph"):
        return Folder(base, base / ".ralph")
    if ".." in PurePosixPath(given).parts or not given.startswith("/") or "\n" in given:
        raise ConfigurationError(
            f"RALPH_DIR is {given!r} in the environment: expected .ralph, or an absolute path without '..'\n"
            "  next: unset RALPH_DIR, or give the folder's absolute path"
        )
    return Folder(base, Path(os.path.normpath(given)), given)
