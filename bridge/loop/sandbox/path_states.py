"""What lay at a path, so that it can be compared later, and put back; also by another process."""

from __future__ import annotations

import base64
import errno
import hashlib
import os
import stat
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from bridge.base.files import make_folder, open_file, read_bytes, symlink, usable, write_atomic
from bridge.base.records import dataclass
from bridge.loop.sandbox.tree import remove, walked

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGE = 1024 * 1024
_MANY = 1000


@dataclass(frozen=True, slots=True)
class Seen:
    """What lay at a path: '' (nothing), ``file``, ``folder``, ``link``, or ``other``.

    Attributes:
        mode: of a file, its permissions.
        digest: of a file's contents, with its size; that alone where it was enough to tell it from an earlier one.
            Of a link, where it leads.
        files: what lies in a folder, at any depth, by the paths in it; None: it was not looked into.
        data: contents of a file, to be put back; None: too much to be kept.
        alone: no other name leads to the same file.
    """

    what: str = ""
    identity: tuple[int, int] = field(default=(0, 0), compare=False)
    mode: int = 0
    digest: str = ""
    files: Mapping[str, Seen] | None = None
    data: bytes | None = field(default=None, compare=False)
    alone: bool = field(default=True, compare=False)

    @property
    def kept(self) -> bool:
        """Whether all of it can be put back."""
        if self.what == "folder":
            return self.files is not None and all(each.kept for each in self.files.values())
        return self.what in ("", "link") or self.data is not None

    def document(self) -> dict[str, Any]:
        """Give it ready for JSON; :func:`restored` reads it."""
        files = None if self.files is None else {name: each.document() for name, each in self.files.items()}
        data = None if self.data is None else base64.b64encode(self.data).decode("ascii")
        return {"what": self.what, "identity": self.identity, "mode": self.mode, "digest": self.digest,
                "files": files, "data": data}  # fmt: skip


def restored(document: Mapping[str, Any]) -> Seen:
    files, data = document["files"], document["data"]
    device, number = document["identity"]
    return Seen(
        document["what"],
        (device, number),
        document["mode"],
        document["digest"],
        None if files is None else {name: restored(each) for name, each in files.items()},
        None if data is None else base64.b64decode(data),
    )


def look(path: str, *, most: int = _LARGE, into: bool = True, whole: bool = False, was: Seen | None = None) -> Seen:
    """Take in what lies at a path.

    Args:
        most: bytes that are kept, of a file, or of all in a folder together.
        into: whether a folder is looked into.
        whole: also what is too much to be kept is read: a file that is too large, a folder in which too much lies.
        was: what lay there earlier: a file of another size than then isn't read.

    Raises:
        OSError: it can't be read. ProjectUnusable: likewise.
    """
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return Seen()
    identity = (found.st_dev, found.st_ino)
    if stat.S_ISLNK(found.st_mode):
        return Seen("link", identity, digest=os.readlink(path))
    if stat.S_ISREG(found.st_mode):
        return _file(path, found, most, whole=whole, was=was)
    if not stat.S_ISDIR(found.st_mode):
        return Seen("other", identity)
    if not into:
        return Seen("folder", identity)
    files: dict[str, Seen] = {}
    waiting, left = [""], most
    while waiting:
        inside = waiting.pop()
        with os.scandir(os.path.join(path, inside)) as entries:
            names = sorted(os.path.join(inside, entry.name) for entry in entries)
        for name in names:
            keep = left if len(files) < _MANY else 0
            before = None if was is None else (was.files or {}).get(name, Seen())
            files[name] = inner = look(os.path.join(path, name), most=keep, into=False, whole=whole, was=before)
            left -= len(inner.data or b"")
            if not whole and inner.what == "file" and inner.data is None and was is None:
                return Seen("folder", identity)
            if inner.what == "folder":
                waiting.append(name)
    return Seen("folder", identity, files=files)


def _file(path: str, found: os.stat_result, most: int, *, whole: bool, was: Seen | None) -> Seen:
    seen = Seen("file", (found.st_dev, found.st_ino), stat.S_IMODE(found.st_mode), alone=found.st_nlink == 1)
    if was is not None and was.digest.partition(" ")[0] != str(found.st_size):
        return replace(seen, digest=f"{found.st_size} ")
    try:
        if found.st_size <= most:
            data = read_bytes(path, root=os.path.dirname(path))
            return replace(seen, digest=_digest(data), data=data)
        if whole:
            digest = hashlib.sha256()
            with open_file(path, root=os.path.dirname(path)) as file:
                while data := file.read(_LARGE):
                    digest.update(data)
            return replace(seen, digest=f"{found.st_size} {digest.hexdigest()}")
    except PermissionError:  # closed to its user
        pass
    return replace(seen, digest=f"{found.st_size} {found.st_ino} {found.st_ctime_ns}")


def written(data: bytes, was: Seen) -> Seen:
    """What lies where the host has written these contents in the place of what `was` there."""
    return Seen("file", mode=was.mode if was.what == "file" else 0o644, digest=_digest(data), data=data)


def _digest(data: bytes) -> str:
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}"


def set_aside(path: str, kept: str) -> str:
    """Move what lies there, a link itself; give where it is now, '' where there was nothing."""
    if not os.path.lexists(path):
        return ""
    with usable(path):
        make_folder(os.path.dirname(kept))
        try:
            os.rename(path, kept)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _copy_all(path, kept)
            if os.path.isdir(path) and not os.path.islink(path):
                remove(path)
            else:
                os.unlink(path)
    return kept


def _copy_all(path: str, kept: str) -> None:
    """Copy what lies there to another file system: folders, files and links; of a pipe there is nothing to keep."""
    _copy(path, kept)
    for folder, entries in walked(path):
        for each in entries:
            _copy(each.path, f"{kept}{folder[len(path) :]}/{each.name}")


def _copy(path: str, kept: str) -> None:
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(path), kept)
    elif stat.S_ISDIR(found.st_mode):
        os.chmod(path, 0o700)
        os.mkdir(kept, 0o700)
    elif stat.S_ISREG(found.st_mode):
        if not found.st_mode & stat.S_IRUSR:
            os.chmod(path, 0o600)
        source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(source, "rb") as file, open(kept, "xb") as copy:
            at = 0
            while at < found.st_size:
                try:
                    at = os.lseek(source, at, os.SEEK_DATA)
                except OSError:  # holes to its end: such a file has any size
                    break
                end = os.lseek(source, at, os.SEEK_HOLE)
                file.seek(at)
                copy.seek(at)
                while at < end and (data := file.read(min(_LARGE, end - at))):
                    copy.write(data)
                    at += len(data)
            copy.truncate(found.st_size)
        os.chmod(kept, stat.S_IMODE(found.st_mode) & 0o777)


def put_back(path: str, was: Seen) -> None:
    """Make what lay there again, where nothing does now."""
    if was.what:
        make_folder(os.path.dirname(path))
    if was.what == "file":
        write_atomic(path, was.data or b"", mode=was.mode)
    elif was.what == "link":
        symlink(was.digest, path)
    elif was.what == "folder":
        make_folder(path)
        for name, each in (was.files or {}).items():
            put_back(os.path.join(path, name), each)
