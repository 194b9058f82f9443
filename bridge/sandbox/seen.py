"""What lay at a path, so that it can be compared later, and put back."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.files import make_folder, read_bytes, symlink, usable, write_atomic

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGE = 1024 * 1024
_MANY = 1000


@dataclass(frozen=True, slots=True)
class Seen:
    """What lay at a path: '' (nothing), ``file``, ``folder``, ``link``, or ``other``.

    Attributes:
        data: contents of a file, target of a link; None: not taken in.
        files: those of a folder, by their paths in it, with their modes; None: not all of them were taken in.
        alone: no other name leads to the same file.
    """

    what: str = ""
    identity: tuple[int, int] = field(default=(0, 0), compare=False)
    mode: int = field(default=0, compare=False)
    data: bytes | None = None
    files: Mapping[str, tuple[bytes, int]] | None = None
    alone: bool = field(default=True, compare=False)


def look(path: str, *, most: int = _LARGE, without: str = "") -> Seen:
    """Take in what lies at a path; of files that are larger than `most`, of folders that hold more than that or
    too many files, and of a folder `without`, only that."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return Seen()
    identity, mode = (found.st_dev, found.st_ino), stat.S_IMODE(found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        return Seen("link", identity, data=os.fsencode(os.readlink(path)))
    if stat.S_ISREG(found.st_mode):
        data = read_bytes(path) if found.st_size <= most else None
        return Seen("file", identity, mode, data, alone=found.st_nlink == 1)
    if not stat.S_ISDIR(found.st_mode):
        return Seen("other", identity, mode)
    if not most or f"{without}/".startswith(f"{path}/"):
        return Seen("folder", identity, mode)
    files: dict[str, tuple[bytes, int]] = {}
    for folder, _, names in os.walk(path):
        for full in (os.path.join(folder, each) for each in names):
            inner = look(full, most=most)
            most -= len(inner.data or b"")
            if len(files) == _MANY or (inner.what == "file" and inner.data is None):
                return Seen("folder", identity, mode)
            if inner.what == "file":
                files[os.path.relpath(full, path)] = (inner.data or b"", inner.mode)
    return Seen("folder", identity, mode, files=files)


def unchanged(path: str, was: Seen, without: str) -> bool:
    """Whether what lies there is what lay there, or has been changed by nobody in a box."""
    now = look(path, most=0)
    if was.what != now.what:
        return False
    if was.what in ("file", "folder") and was.identity == now.identity and now.alone:
        return True  # its mount was there all the time: whoever has changed it was not in the box
    if was.what in ("file", "folder"):
        return (was.data, was.files) != (None, None) and was == look(path, without=without)
    return was == now


def set_aside(path: str, kept: str) -> str:
    """Move what lies there, a link itself; give where it is now, '' where there was nothing."""
    if not os.path.lexists(path):
        return ""
    with usable(path):
        make_folder(os.path.dirname(kept))
        try:
            os.rename(path, kept)
        except OSError:  # another file system
            shutil.move(path, kept)
    return kept


def put_back(path: str, was: Seen) -> None:
    """Make what lay there again, where nothing does now."""
    if was.what:
        make_folder(os.path.dirname(path))
    if was.what == "file":
        write_atomic(path, was.data or b"", mode=was.mode)
    elif was.what == "link":
        symlink(os.fsdecode(was.data or b""), path)
    elif was.what == "folder":
        make_folder(path)
        for name, (data, mode) in (was.files or {}).items():
            make_folder(os.path.dirname(os.path.join(path, name)))
            write_atomic(os.path.join(path, name), data, mode=mode)
