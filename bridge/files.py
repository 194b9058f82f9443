"""Files: written so that others may read them meanwhile, and what refuses to be read or written."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from bridge.errors import ProjectUnusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")

_TRIES = 20

LEFTOVER = re.compile(r"\..+\.(?:[a-z0-9_]{8}|[0-9a-f]{12})\.tmp")
"""Names of what :func:`write_atomic` leaves when it is killed."""


def write_atomic(
    path: str | os.PathLike[str], data: bytes | str, *, scratch: str | os.PathLike[str] | None = None
) -> None:
    """Put `data` at `path` so that a reader sees the old contents or the new, never a part.

    A target that is a symbolic link stays one; an existing file keeps its permissions.

    data: text is written as UTF-8, with surrogateescape.
    scratch: folder for the name that the temporary file has for a moment, such as one that git ignores. It
        lies beside the target without it, or where that is no folder of the same file system: only a rename
        within one is atomic.

    Raises:
        OSError: the folder does not exist, is not writable, or the disk is full. Nothing is left behind.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    content = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    descriptor, temporary, named = _scratch(folder, name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), _mode(target))
            os.fsync(file.fileno())
            if not named:
                temporary = _link(file.fileno(), temporary, scratch)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def append_durably(path: str | os.PathLike[str], data: bytes) -> None:
    """Add `data` to the end of a file, which is made if need be; all of it or, where the system refuses, nothing.

    Raises:
        OSError: as above.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        before = os.fstat(descriptor).st_size
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        except OSError:
            with suppress(OSError):
                os.ftruncate(descriptor, before)
            raise
    finally:
        os.close(descriptor)


def _link(descriptor: int, beside: str, scratch: str | os.PathLike[str] | None) -> str:
    """Give a file without a name its name: in `scratch` where that can be, else `beside` the target."""
    # Only with a descriptor does Python have the link followed; an absolute path needs none.
    source = f"/proc/self/fd/{descriptor}"
    if scratch is not None:
        aside = os.path.join(os.path.realpath(scratch), os.path.basename(beside))
        with suppress(OSError):
            os.link(source, aside, src_dir_fd=descriptor)
            return aside
    os.link(source, beside, src_dir_fd=descriptor)
    return beside


def _scratch(folder: str, name: str) -> tuple[int, str, bool]:
    """A file to write into, its name, and whether it has it already or gets it for the moment before it is renamed.

    Where the system can, it has none while it is written: an agent's ``git add -A`` fails at a file that it has
    seen in a folder and that is gone when it opens it.
    """
    with suppress(OSError, AttributeError):
        descriptor = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        if os.path.exists(f"/proc/self/fd/{descriptor}"):
            return descriptor, os.path.join(folder, f".{name}.{os.urandom(6).hex()}.tmp"), False
        os.close(descriptor)
    return *tempfile.mkstemp(prefix=f".{name}.", suffix=".tmp", dir=folder), True


def _mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        # mkstemp makes files private; what a plain open() would have given is asked of the umask,
        # which can only be read by setting it.
        mask = os.umask(0o077)
        os.umask(mask)
        return 0o666 & ~mask


def in_folder(folder: Path, act: Callable[[], T]) -> T:
    """Do what needs a folder, which is made if need be: a tool may be tidying it away at this very moment.

    Raises:
        OSError: the system refuses.
    """
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):
            folder.mkdir(parents=True, exist_ok=True)
            return act()
    return act()


def leads_to(path: str | os.PathLike[str], descriptor: int) -> bool:
    """Whether a name still is that of a file that is open."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    return False


@contextmanager
def usable(what: str | Path) -> Iterator[None]:
    """Turn the system's refusal to read or write `what` (a file, or a noun for one) into an error that names it.

    Raises:
        ProjectUnusable: the block raised an OSError.
    """
    try:
        yield
    except ProjectUnusable:
        raise
    except OSError as error:
        where = f": {error.filename}" if error.filename and str(error.filename) != str(what) else ""
        raise ProjectUnusable(
            f"{what} can't be used: {error.strerror or error}{where}\n  next: check its permissions and the disk"
        ) from error
