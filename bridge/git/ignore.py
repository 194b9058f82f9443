"""What git passes over: asked of git, and written into the project's ``.gitignore``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.files import read_bytes, usable, write_atomic
from bridge.git.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

FILE = ".gitignore"


def unignored(project: Path, names: Sequence[str], env: Mapping[str, str] | None = None) -> list[str] | None:
    """Name those files that git would not ignore; they need not exist.

    Args:
        project: the project's folder.
        names: files, relative to it.
        env: the environment for git; None for this process's own.

    Returns:
        None when git can't be asked: there is none, or no repository.
    """
    asked = Repository(project, env=env).run("check-ignore", "--no-index", "--", *names)
    if asked.status not in (0, 1):
        return None
    found = asked.out.decode("utf-8", "surrogateescape").splitlines()
    return [name for name in names if name not in found]


def ignore(project: Path, patterns: Iterable[str]) -> list[str]:
    """Add patterns to ``.gitignore``, behind what stands there; lines end as the file's do, none comes twice.

    Args:
        project: the folder of that file, which is made where it is missing.
        patterns: lines of it.

    Returns:
        The lines that were added.

    Raises:
        ProjectUnusable: the file can't be read or written.
    """
    path = project / FILE
    with usable(f"{path}"):
        try:
            old = read_bytes(path)
        except FileNotFoundError:
            old = b""
        there = {line.rstrip(b"\r\n") for line in old.splitlines(keepends=True)}
        lines = [line for line in dict.fromkeys(patterns) if line.encode("utf-8", "surrogateescape") not in there]
        if lines:
            end = b"\r\n" if b"\r\n" in old else b"\n"
            gap = b"" if not old or old.endswith(b"\n") else end
            more = b"".join(line.encode("utf-8", "surrogateescape") + end for line in lines)
            write_atomic(path, old + gap + more)
    return lines
