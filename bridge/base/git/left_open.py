"""What an agent, or a program that was ended, leaves open in git's folder or in that of a box: a lock, a rebase."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE, delete, read_bytes
from bridge.base.json_files import read_object
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOCKS = ("index.lock", "HEAD.lock", "packed-refs.lock", "config.lock")
_OPEN = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisect",
}
_LONGEST = 4096
RECORD = "record.json"
"""The file in the state of a box that says what the host had, and what is under way."""


def git_dir(project: Path) -> Path:
    """Where git keeps the state of the work tree that `project` lies in.

    A folder without HEAD is none of git's, which looks for the next one above: sandboxes of CLIs put empty ones
    where nothing may be made, such as ``/tmp/.git``.
    """
    places = (project, *project.absolute().parents)
    top = next(
        (each for each in places if (each / ".git").is_file() or os.path.lexists(each / ".git/HEAD")), project
    )
    path = top / ".git"
    with suppress(OSError, BridgeError):
        if path.is_file():
            told = read_bytes(path, _LONGEST, root=ANYWHERE).decode("utf-8", "surrogateescape")
            return top / told.removeprefix("gitdir:").strip()
    return path


def unfinished(project: Path) -> tuple[str, ...]:
    """What is in the middle there, such as ``a rebase``; commits go elsewhere, or nowhere, until it is ended."""
    folder = git_dir(project)
    return tuple(dict.fromkeys(what for name, what in _OPEN.items() if (folder / name).exists()))


def is_detached(project: Path) -> bool:
    """Whether a commit is checked out there and no branch: what is committed is on none."""
    with suppress(OSError, BridgeError):
        return not read_bytes(git_dir(project) / "HEAD", _LONGEST, root=ANYWHERE).startswith(b"ref:")
    return False


def locks(git_dir: Path) -> list[Path]:
    """The locks that keep git from committing there: of the index, of HEAD, of its branch, of all branches.

    Args:
        git_dir: the ``.git`` folder, or that of a work tree.
    """
    shared, branch = git_dir, ""
    with suppress(OSError, BridgeError):
        branch = _line(git_dir / "HEAD").removeprefix("ref:").strip()
    with suppress(OSError, BridgeError):
        shared = git_dir / _line(git_dir / "commondir")
    found = [folder / name for name in _LOCKS for folder in dict.fromkeys((git_dir, shared))]
    if branch.startswith("refs/heads/") and ".." not in branch:
        found.append(shared / f"{branch}.lock")
    return [each for each in found if os.path.lexists(each)]


def _line(path: Path) -> str:
    return read_bytes(path, _LONGEST, root=ANYWHERE).decode("utf-8", "surrogateescape").strip()


def remove_stale_locks(git_dir: Path, since: float) -> list[str]:
    """Remove the locks that were made since then and that nobody holds; give their names below `git_dir`.

    Args:
        git_dir: the ``.git`` folder, or that of a work tree.
        since: seconds since the epoch; an older lock is somebody else's.
    """
    removed = []
    for path in locks(git_dir):
        with suppress(OSError, BridgeError):
            if os.lstat(path).st_mtime >= since - 1.0 and not _is_held(path, git_dir):
                delete(path)
                removed.append(os.path.relpath(path, git_dir))
    return removed


def _is_held(path: Path, git_dir: Path) -> bool:
    """Whether a process has a file open, or is a git that works here; where nobody can tell: yes."""
    try:
        here, folder = path.stat(), git_dir.resolve()
        processes = [each for each in os.listdir("/proc") if each.isdecimal()]
    except OSError:
        return True
    for process in processes:
        with suppress(OSError):
            if os.path.basename(os.readlink(f"/proc/{process}/exe")) == "git":
                cwd = Path(os.readlink(f"/proc/{process}/cwd"))
                if cwd == folder or folder.parent in (cwd, *cwd.parents):
                    return True
            for each in os.listdir(f"/proc/{process}/fd"):
                with suppress(OSError):
                    seen = os.stat(f"/proc/{process}/fd/{each}")
                    if (seen.st_dev, seen.st_ino) == (here.st_dev, here.st_ino):
                        return True
    return False


def state_of(own: str, env: Mapping[str, str]) -> Path:
    """Where the state of the boxes of a git folder `own` lies, in the home of whoever has this environment."""
    given = env.get("XDG_STATE_HOME", "")
    base = (
        given if given.startswith("/") else os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local/state")
    )
    name = hashlib.sha256(os.fsencode(os.path.realpath(own))).hexdigest()[:16]
    return Path(os.path.realpath(base), "ralph-bridge", "git", name)


def under_way(own: str, env: Mapping[str, str]) -> str:
    """Name what goes on in the boxes of a git folder alone, such as ``rebase-merge``; ''."""
    found = read_object(state_of(own, env) / RECORD) or {}
    return str(found.get("under_way") or "")
