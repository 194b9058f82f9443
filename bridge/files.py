"""Files that others read while we write them."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress

__all__ = ["write_atomic"]


def write_atomic(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Put `data` at `path` so that a reader sees the old contents or the new, never a part.

    The temporary file lies beside the target, because only a rename within one file system is atomic.
    A target that is a symbolic link stays one; an existing file keeps its permissions.

    Raises:
        OSError: the folder does not exist, is not writable, or the disk is full. Nothing is left behind.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    content = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), _mode(target))
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        # mkstemp makes files private; what a plain open() would have given is asked of the umask,
        # which can only be read by setting it.
        mask = os.umask(0o077)
        os.umask(mask)
        return 0o666 & ~mask
