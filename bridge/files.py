"""Files: written so that others may read them meanwhile, and what refuses to be read or written."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bridge.errors import ProjectUnusable

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["usable", "write_atomic"]


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
    descriptor, temporary = _scratch(folder, name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), _mode(target))
            os.fsync(file.fileno())
            if not os.fstat(file.fileno()).st_nlink:
                # Only with a descriptor does Python have the link followed; an absolute path needs none.
                os.link(f"/proc/self/fd/{file.fileno()}", temporary, src_dir_fd=file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _scratch(folder: str, name: str) -> tuple[int, str]:
    """A file to write into, and the name that it has, or gets for the moment before it is renamed.

    Where the system can, it has none while it is written: an agent's ``git add -A`` fails at a file that it has
    seen in a folder and that is gone when it opens it.
    """
    with suppress(OSError, AttributeError):
        descriptor = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        if os.path.exists(f"/proc/self/fd/{descriptor}"):
            return descriptor, os.path.join(folder, f".{name}.{os.urandom(6).hex()}.tmp")
        os.close(descriptor)
    return tempfile.mkstemp(prefix=f".{name}.", suffix=".tmp", dir=folder)


def _mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        # mkstemp makes files private; what a plain open() would have given is asked of the umask,
        # which can only be read by setting it.
        mask = os.umask(0o077)
        os.umask(mask)
        return 0o666 & ~mask


@contextmanager
def usable(what: str) -> Iterator[None]:
    """Turn the system's refusal to read or write `what` into an error that names it.

    Raises:
        ProjectUnusable: the block raised an OSError.
    """
    try:
        yield
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        raise ProjectUnusable(
            f"{what} can't be used: {error.strerror or error}{where}\n  next: check its permissions and the disk"
        ) from error
