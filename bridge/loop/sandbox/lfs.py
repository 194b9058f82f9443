"""Objects of git-lfs that a turn has made: contents under their own hash, by which they are judged."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from contextlib import suppress

from bridge.loop.sandbox.mounts import inside

_OBJECT = re.compile(r"[0-9a-f]{64}")
_PIECE = 1024 * 1024


def taken(private: str, common: str) -> bool:
    """Copy those that the host doesn't have into its git folder; say whether each was what its name says.

    Args:
        private: the private git folder, `common` the host's.
    """
    source, target, whole = f"{private}/lfs/objects", f"{common}/lfs/objects", True
    if os.path.realpath(source) != os.path.realpath(private) + "/lfs/objects" or not os.path.isdir(source):
        return True
    if not inside(os.path.realpath(target), [os.path.realpath(common)]):
        return False
    for _, _, names, opened in os.fwalk(source, follow_symlinks=False):
        for name in filter(_OBJECT.fullmatch, names):
            path = os.path.join(target, name[:2], name[2:4], name)
            if not os.path.lexists(path):
                whole = _copied(name, opened, path) and whole
    return whole


def _copied(name: str, folder: int, path: str) -> bool:
    digest, part = hashlib.sha256(), f"{path}.part"
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(os.open(name, flags, dir_fd=folder), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return False
            with open(part, "wb") as copy:
                while data := file.read(_PIECE):
                    digest.update(data)
                    copy.write(data)
        if digest.hexdigest() == name:
            os.rename(part, path)
            return True
    except OSError:
        pass
    with suppress(OSError):
        os.unlink(part)
    return False
