"""What git passes over: asked of git, and written into the project's ``.gitignore``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE, make_folder, read_bytes, usable, write_atomic
from bridge.base.git.repository import Repository, as_pattern
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from bridge.base.git.repository import Files

FILE, EXCLUDE = ".gitignore", "exclude"


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


def keep_out(project: Path, folder: Path, files: Files, env: Mapping[str, str] | None = None) -> str:
    """See to it that nobody's ``git add -A`` takes up a loop's own state.

    A folder in which nothing else lies gets a ``.gitignore`` of its own; where the state lies among files of the
    user's, or may come to, the repository's own ``info/exclude`` gets lines for it, which are never committed.

    Args:
        project: the project's folder.
        folder: of the loop's state.
        files: which files are the loop's own.
        env: the environment for git; None: this process's own.

    Returns:
        What people should know, or ''.
    """
    inside = os.path.relpath(folder, project)
    if inside.startswith(".."):
        return ""
    samples = [os.path.normpath(f"{inside}/{name}") for name in (".ralph_bridge.json", "logs/turns.jsonl")]
    if not (left := unignored(project, samples, env)):
        return ""
    try:
        with usable(folder):
            alone = inside != "." and not files.shared and not os.path.lexists(folder / FILE)
            if alone and _all_own(folder, project, files):
                write_atomic(folder / FILE, "*\n")
                return ""
        prefix = "" if inside == "." else f"/{inside}"
        usual = (f"{prefix}/logs/", f"{prefix}/.ralph_bridge*")
        _exclude(project, [*usual, *(f"/{each}" for each in files.own)], env)
    except (BridgeError, OSError) as error:
        why = str(error).partition("\n")[0]
        return f"git doesn't pass over the loop's state ({left[0]}): {why}; next: ralph-bridge doctor --fix"
    return ""


def _all_own(folder: Path, project: Path, files: Files) -> bool:
    """Whether a folder holds nothing but the loop's own files."""
    found = [
        os.path.relpath(os.path.join(top, name), project) for top, _, names in os.walk(folder) for name in names
    ]
    return all(map(files.is_own, found))


def _exclude(project: Path, patterns: Iterable[str], env: Mapping[str, str] | None) -> None:
    repository = Repository(project, env=env)
    asked = repository.run("rev-parse", "--show-prefix", "--git-path", f"info/{EXCLUDE}").out
    top, _, place = asked.decode("utf-8", "surrogateescape").partition("\n")
    path = project / place.removesuffix("\n")
    if top:
        patterns = [f"/{as_pattern(top.rstrip('/'))}{each}" for each in patterns]
    make_folder(path.parent, root=ANYWHERE)
    _add_lines(path, patterns, root=path.parent)


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
    return _add_lines(project / FILE, patterns)


def _add_lines(path: Path, patterns: Iterable[str], *, root: Path | None = None) -> list[str]:
    with usable(f"{path}"):
        try:
            old = read_bytes(path, root=root)
        except FileNotFoundError:
            old = b""
        there = {line.rstrip(b"\r\n") for line in old.splitlines(keepends=True)}
        lines = [line for line in dict.fromkeys(patterns) if line.encode("utf-8", "surrogateescape") not in there]
        if lines:
            end = b"\r\n" if b"\r\n" in old else b"\n"
            gap = b"" if not old or old.endswith(b"\n") else end
            more = b"".join(line.encode("utf-8", "surrogateescape") + end for line in lines)
            write_atomic(path, old + gap + more, root=root)
    return lines
