"""The one door to the files of a project: what an agent puts in the way leads nobody out of it.

An agent writes where the loop's state, logs and settings lie, while the host is at work. So each file is opened
from the project's folder on by :mod:`bridge.base.roots`, and only regular files are read, replaced, truncated or
appended to.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast

from bridge.base.patterns import lazy
from bridge.base.roots import ANYWHERE as ANYWHERE
from bridge.base.roots import TRIES, AnyPath, located
from bridge.base.roots import close as close
from bridge.base.roots import confine as confine
from bridge.base.roots import root_of_output as root_of_output
from bridge.base.roots import script_root as script_root
from bridge.base.roots import stays_inside as stays_inside
from bridge.errors import ProjectUnusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")

_MOST = 256 * 1024 * 1024
"""Bytes of a file that is read whole: one that a stranger has made may have holes, and any size."""
_WRITES = os.O_WRONLY | os.O_RDWR

LEFTOVER = lazy(r"\..+\.(?:[a-z0-9_]{8}|[0-9a-f]{12})\.tmp")
"""Names of what :func:`write_atomic` leaves when it is killed."""

_observers: list[Callable[[str, bytes | None], None]] = []


def _regular(found: os.stat_result, path: AnyPath) -> None:
    """Refuse what is no regular file; a FIFO would hold us for ever, a device is no place for state."""
    kinds = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(found.st_mode):
        kind = kinds.get(stat.S_IFMT(found.st_mode), "a device")
        raise ProjectUnusable(
            f"{os.fspath(path)} is {kind}, where a regular file belongs\n  next: move it away, or delete it"
        )


def _seen(folder: int, name: str) -> os.stat_result | None:
    with suppress(FileNotFoundError):
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    return None


def descriptor(path: AnyPath, flags: int, mode: int = 0o666, *, root: AnyPath | None = None) -> int:
    """Open a regular file as :func:`os.open` does.

    What is to be written to in place, and has another name as well, becomes a file of its own first: that other one
    may be any file of the user.

    Raises:
        ProjectUnusable: a link leads out of the root (see :mod:`bridge.base.roots`), or it is no regular file.
        OSError: the system refuses.
    """
    wanted = (flags & ~os.O_TRUNC) | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    for _ in range(TRIES):
        with located(path, root=root, follow=not flags & os.O_EXCL) as (folder, name):
            if (found := _seen(folder, name)) is not None and not flags & os.O_EXCL:
                if stat.S_ISLNK(found.st_mode):
                    continue  # put there at this very moment
                _regular(found, path)
            try:
                opened = os.open(name, wanted, mode, dir_fd=folder)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENXIO):
                    continue
                raise
            try:
                found = os.fstat(opened)
                _regular(found, path)
                if found.st_nlink < 2 or not flags & _WRITES:
                    if flags & os.O_TRUNC:
                        os.ftruncate(opened, 0)
                    return opened
                if flags & os.O_TRUNC:
                    os.unlink(name, dir_fd=folder)
                else:
                    _part_from_others(folder, name, found.st_mode)
            except BaseException:
                os.close(opened)
                raise
            os.close(opened)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))


def _part_from_others(folder: int, name: str, mode: int) -> None:
    """Give a file that has several names a copy of its own under this one."""
    source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    temporary = _temporary(name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(source, "rb") as old, os.fdopen(os.open(temporary, flags, 0o600, dir_fd=folder), "wb") as new:
        shutil.copyfileobj(old, new)
        os.fchmod(new.fileno(), mode & 0o777)
    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def open_file(path: AnyPath, mode: str = "rb", *, buffering: int = -1, root: AnyPath | None = None) -> BinaryIO:
    """Open a regular file as :func:`open` does, in a binary mode. See :func:`descriptor`."""

    def opener(name: str, flags: int) -> int:
        return descriptor(name, flags, root=root)

    return cast("BinaryIO", open(path, mode, buffering, opener=opener))


def beside(opened: int) -> int:
    """Open an open regular file once more, to read and to write anywhere in it, whatever its name is by now."""
    name = f"/proc/self/fd/{opened}"
    # On macOS an offset counts for a descriptor that appends, too.
    return os.open(name, os.O_RDWR | os.O_CLOEXEC) if os.path.exists(name) else os.dup(opened)


def read_bytes(path: AnyPath, most: int | None = None, *, root: AnyPath | None = None) -> bytes:
    """Read a regular file: `most` bytes at most; -1: all of it; None: all, but not of one larger than a loop's."""
    with open_file(path, root=root) as file:
        if most is None and (size := os.fstat(file.fileno()).st_size) > _MOST:
            raise ProjectUnusable(
                f"{os.fspath(path)} has {size} bytes: at most {_MOST} are read\n  next: see what is in it"
            )
        return file.read(-1 if most is None else most)


LONGEST_LINE = 8 * 1024 * 1024
"""Bytes of a line of a record, far more than we write; an agent may write there, too."""


def read_lines(file: BinaryIO) -> Iterator[bytes | None]:
    """Give the lines of a file with their ends; None for one longer than any of ours, never held as a whole."""
    while line := file.readline(LONGEST_LINE):
        if len(line) < LONGEST_LINE or line.endswith(b"\n"):
            yield line
            continue
        while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)
        yield None


_HALVES = lazy("[\\ud800-\\udc7f\\udd00-\\udfff]")


def to_bytes(text: str) -> bytes:
    """Give text as UTF-8, with surrogateescape; halves of characters, which JSON can name, become U+FFFD."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _HALVES.sub("\ufffd", text).encode("utf-8", "surrogateescape")


def write_atomic(
    path: AnyPath,
    data: bytes | str,
    *,
    scratch: AnyPath | None = None,
    mode: int | None = None,
    follow: bool = True,
    root: AnyPath | None = None,
) -> None:
    """Put `data` at `path` so that a reader sees the old contents or the new, never a part.

    A target that is a symbolic link stays one; an existing file keeps its permissions.

    data: text is written as :func:`to_bytes` gives it.
    scratch: folder for the name that the temporary file has for a moment, such as one that git ignores. It
        lies beside the target without it, or where that is no folder of the same file system: only a rename
        within one is atomic.
    mode: its permissions; None: those that it has, or what the umask gives.
    follow: without, a link is replaced itself.

    Raises:
        ProjectUnusable: a link leads out of the root (see :mod:`bridge.base.roots`), or there is no regular file.
        OSError: the folder does not exist, is not writable, or the disk is full. Nothing is left behind.
    """
    content = to_bytes(data) if isinstance(data, str) else data
    with located(path, root=root, follow=follow) as (folder, name):
        if (found := _seen(folder, name)) is not None and not stat.S_ISLNK(found.st_mode):
            _regular(found, path)
        temporary = _temporary(name)
        opened, named = _scratch(folder, temporary)
        try:
            with os.fdopen(opened, "wb") as file:
                file.write(content)
                file.flush()
                os.fchmod(file.fileno(), _mode(found) if mode is None else mode)
                os.fsync(file.fileno())
                if not named and _moved_by(scratch, file.fileno(), temporary, folder, name, root):
                    _observe(path, content)
                    return
                if not named:
                    _link(file.fileno(), temporary, folder)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            _observe(path, content)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise


@contextmanager
def observed(see: Callable[[str, bytes | None], None]) -> Iterator[None]:
    """Have `see` called with the path, without links in its folder, and the contents of each file that
    :func:`write_atomic` replaces while the block runs; None: it is deleted, or moved away."""
    _observers.append(see)
    try:
        yield
    finally:
        _observers.remove(see)


def _observe(path: AnyPath, data: bytes | None) -> None:
    for see in _observers:
        folder, name = os.path.split(os.path.abspath(path))
        see(os.path.join(os.path.realpath(folder), name), data)


def _moved_by(
    scratch: AnyPath | None, opened: int, temporary: str, folder: int, name: str, root: AnyPath | None
) -> bool:
    """Give a file without a name its name in `scratch` and move it from there; False where that can't be."""
    if scratch is None:
        return False
    with suppress(OSError), located(os.path.join(scratch, temporary), root=root) as (aside, _):
        _link(opened, temporary, aside)
        try:
            os.replace(temporary, name, src_dir_fd=aside, dst_dir_fd=folder)
            return True
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=aside)
    return False


def append_durably(path: AnyPath, data: bytes) -> None:
    """Add `data` to the end of a file, which is made if need be; all of it or, where the system refuses, nothing.

    Raises:
        OSError: as above.
    """
    opened = descriptor(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        before = os.fstat(opened).st_size
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(opened, left) :]
            os.fsync(opened)
        except OSError:
            with suppress(OSError):
                os.ftruncate(opened, before)
            raise
    finally:
        os.close(opened)


def make_folder(path: AnyPath, *, new: bool = False, root: AnyPath | None = None) -> None:
    """Make a folder and those above it, where they are missing; `new`: that one alone. See :func:`descriptor`."""
    if new:
        with located(path, root=root, follow=False) as (folder, name):
            os.mkdir(name, dir_fd=folder)
        return
    with located(os.path.join(path, ":"), root=root, make=True):
        pass


def make_private(folder: AnyPath) -> None:
    """Make a folder of the user's own and those above it, where they are missing, for nobody else."""
    missing = [path := os.path.abspath(folder)]
    while not os.path.lexists(path := os.path.dirname(path)):
        missing.append(path)
    for each in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(each, 0o700)


def keep_private(folder: AnyPath) -> None:
    """Let nobody but its owner into a folder, which is no link."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchmod(opened, 0o700)
    finally:
        os.close(opened)


def delete(path: AnyPath, *, missing: bool = True) -> None:
    """Delete a file, or a link and not what it leads to; one that is missing only counts without `missing`."""
    with suppress(*[FileNotFoundError] * missing), located(path, follow=False) as (folder, name):
        os.unlink(name, dir_fd=folder)
        _observe(path, None)


def delete_folder(path: AnyPath, *, contents: bool = False) -> None:
    """Delete a folder; with `contents`, all that is in it as well."""
    with located(path, follow=False) as (folder, name):
        if contents:
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.rmdir(name, dir_fd=folder)


def move(old: AnyPath, new: AnyPath) -> None:
    """Rename a file, or a link itself, in place of another one. See :func:`descriptor`."""
    with (
        located(old, follow=False) as (from_folder, name),
        located(new, follow=False) as (folder, new_name),
    ):
        if (found := _seen(folder, new_name)) is not None and not stat.S_ISLNK(found.st_mode):
            _regular(found, new)
        os.replace(name, new_name, src_dir_fd=from_folder, dst_dir_fd=folder)
        _observe(old, None)


def link(old: AnyPath, new: AnyPath) -> None:
    """Give a regular file a second name that is free. See :func:`descriptor`."""
    with (
        located(old) as (from_folder, name),
        located(new, follow=False) as (folder, new_name),
    ):
        if (found := _seen(from_folder, name)) is not None:
            _regular(found, old)
        os.link(name, new_name, src_dir_fd=from_folder, dst_dir_fd=folder, follow_symlinks=False)


def symlink(target: str, path: AnyPath) -> None:
    """Make a symbolic link, whatever it leads to, under a name that is free. See :func:`descriptor`."""
    with located(path, follow=False) as (folder, name):
        os.symlink(target, name, dir_fd=folder)


def copy_file(old: AnyPath, new: AnyPath) -> None:
    """Copy a file with its mode and times, or a link itself, to a name that is free. See :func:`descriptor`."""
    if os.path.islink(old):
        symlink(os.readlink(old), new)
        return
    with open_file(old) as source, open_file(new, "xb") as target:
        shutil.copyfileobj(source, target)
        os.fchmod(target.fileno(), os.fstat(source.fileno()).st_mode & 0o777)
        copy_times(source, target)


def copy_times(source: BinaryIO, target: BinaryIO) -> None:
    """Give an open file, to which all is written, the times of another one."""
    target.flush()
    seen = os.fstat(source.fileno())
    os.utime(target.fileno(), ns=(seen.st_atime_ns, seen.st_mtime_ns))


def _link(opened: int, name: str, folder: int) -> None:
    """Give a file without a name its name. Only with a descriptor does Python have the link in /proc followed."""
    os.link(f"/proc/self/fd/{opened}", name, src_dir_fd=opened, dst_dir_fd=folder)


def _temporary(name: str) -> str:
    return f".{name}.{os.urandom(6).hex()}.tmp"


def _scratch(folder: int, name: str) -> tuple[int, bool]:
    """A file to write into, and whether it has its name already or gets it for the moment before it is renamed.

    Where the system can, it has none while it is written: an agent's ``git add -A`` fails at a file that it has
    seen in a folder and that is gone when it opens it.
    """
    with suppress(OSError, AttributeError):
        opened = os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=folder)
        if os.path.exists(f"/proc/self/fd/{opened}"):
            return opened, False
        os.close(opened)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, 0o600, dir_fd=folder), True


def _mode(found: os.stat_result | None) -> int:
    if found is not None and stat.S_ISREG(found.st_mode):
        return found.st_mode & 0o777
    # What a plain open() would have given is asked of the umask, which can only be read by setting it.
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def in_folder(folder: Path, act: Callable[[], T]) -> T:
    """Do what needs a folder, which is made if need be: a tool may be tidying it away at this very moment."""
    for _ in range(TRIES):
        with suppress(FileNotFoundError):
            make_folder(folder)
            return act()
    return act()


def leads_to(path: str | os.PathLike[str], descriptor: int) -> bool:
    """Whether a name still is that of a file that is open."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    return False


@contextmanager
def lenient() -> Iterator[None]:
    """Pass over what can't be read, but not over a refusal (ProjectUnusable), of which somebody has to know."""
    try:
        yield
    except ProjectUnusable:
        raise
    except OSError:
        pass


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
        step = "check its permissions and the disk"
        if isinstance(error, FileNotFoundError) and (gone := _gone_folder(error.filename)):
            step = f"{gone} isn't there any more: bring it back, or begin where it is now"
        raise ProjectUnusable(f"{what} can't be used: {error.strerror or error}{where}\n  next: {step}") from error


def _gone_folder(name: object) -> str:
    """The topmost folder on the way to a file that isn't there; '': all are, or nobody can tell."""
    gone = ""
    if isinstance(name, str) and os.path.isabs(name):
        while not os.path.lexists(name := os.path.dirname(name)):
            gone = name
    return gone
