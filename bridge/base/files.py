"""The one door to the files of a project: what an agent puts in the way leads nobody out of it.

An agent writes where the loop's state, logs and settings lie, while the host is at work. So each file is opened
from the project's folder on, component by component, by descriptors: a link that leads out is refused, one that
stays inside is followed, and only regular files are read, replaced, truncated or appended to. See :func:`confine`.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast

from bridge.base.patterns import lazy
from bridge.errors import ProjectUnusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")
AnyPath = str | os.PathLike[str]

_TRIES = 20
_HOPS = 40
_MOST = 256 * 1024 * 1024
"""Bytes of a file that is read whole: one that a stranger has made may have holes, and any size."""
# macOS has no O_PATH.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_WRITES = os.O_WRONLY | os.O_RDWR

ANYWHERE = "/"
"""The root of files that a person has named, and of those that lie outside of projects: links lead anywhere, but
not out of projects whose turns run in boxes (see :func:`close`)."""

LEFTOVER = lazy(r"\..+\.(?:[a-z0-9_]{8}|[0-9a-f]{12})\.tmp")
"""Names of what :func:`write_atomic` leaves when it is killed."""

_observers: list[Callable[[str, bytes | None], None]] = []
_roots: dict[str, str] = {}
_bounds: dict[str, str] = {}
_closed: set[str] = set()


def confine(folder: AnyPath) -> None:
    """Make a folder a root: a path below it, as the functions here take it, leads out of it by no link.

    The innermost root of a path counts; the root of any other path is the folder that it lies in. In a git work
    tree links may lead to all of that: a part of a large repository may share a folder with the others.

    Args:
        folder: a project, or a work tree. Links that lead to it are followed now, once.
    """
    given = os.path.abspath(folder)
    real = os.path.realpath(given)
    if _roots.get(given) != real:
        _roots[given] = _roots[real] = real
        _bounds[real] = _work_tree(real)


def close(folder: AnyPath) -> None:
    """Have nothing that lies in a project be read through a link out of it, prompts and plans neither.

    An agent in a box could have made the link, and what it leads to would be told to it.
    """
    confine(folder)
    _closed.update((os.path.abspath(folder), os.path.realpath(folder)))


def root_of_output(path: AnyPath) -> str | None:
    """What no link may lead out of when a report is written: the working folder, where the path lies in it by name.

    In a checkout of a stranger's, the name of a report may be a link.
    """
    here = os.getcwd()
    return here if f"{os.path.abspath(path)}/".startswith(f"{here}/") else None


def script_root(path: AnyPath) -> tuple[str, str | None]:
    """Return the path of a script that a person names, and the root that no link at its end leads out of.

    That is the project's, where it is known (None); else the git work tree around the script; without one the
    folder above its own, where ``drivers/`` lies with the rest, but for one that holds the user's home.
    """
    given = os.path.abspath(path)
    if _root_of(given) in _roots:
        return given, None
    folder, name = os.path.realpath(os.path.dirname(given)), os.path.basename(given)
    tree = _work_tree(folder)
    alone = tree == folder and not os.path.lexists(os.path.join(folder, ".git"))
    if alone and not _holds_home(above := os.path.dirname(folder)):
        tree = above
    return os.path.join(folder, name), tree


def _work_tree(folder: str) -> str:
    """The top of the git work tree around a folder, but for one that holds the user's home; else the folder."""
    top = folder
    while not os.path.lexists(os.path.join(top, ".git")) and top != os.path.dirname(top):
        top = os.path.dirname(top)
    return folder if _holds_home(top) else top


def _holds_home(folder: str) -> bool:
    home = os.path.realpath(os.path.expanduser("~"))
    return f"{home}/".startswith(f"{folder.rstrip('/')}/")


def _root_of(path: str) -> str:
    folder = own = os.path.dirname(path)
    while folder not in _roots and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    while folder not in _roots and not os.path.isdir(own):
        own = os.path.dirname(own)
    return folder if folder in _roots else own


def stays_inside(path: AnyPath, *, root: AnyPath | None = None) -> bool:
    """Whether no link on the way to a path, which need not exist, leads out of its root. See :func:`confine`."""
    top = os.path.abspath(root) if root is not None else _root_of(os.path.abspath(path))
    real = _roots.get(top) or os.path.realpath(top)
    return not _leads_out(os.path.realpath(path), _bounds.get(real, real).rstrip("/") + "/", f"{path}/.git/")


@contextmanager
def _located(
    path: AnyPath, *, root: AnyPath | None = None, follow: bool = True, make: bool = False
) -> Iterator[tuple[int, str]]:
    """Give the folder that a file lies in, as a descriptor, and its name there, which is no link when `follow`.

    Args:
        path: it need not exist; its folder does, unless `make`.
        root: what no link may lead out of; None: see :func:`confine`.
        follow: whether a link at its end is followed.
        make: make the folders that are missing.
    """
    given = os.path.abspath(path)
    if root == ANYWHERE and any(given.startswith(f"{each}/") for each in _closed):
        root = None
    top = os.path.abspath(root) if root is not None else _root_of(given)
    shown = given.removesuffix("/:")
    real = _roots.get(top) or os.path.realpath(top)
    bound = _bounds.get(real, real)
    parts = [part for part in given[len(top) :].split("/") if part]
    folder = -1
    try:
        for _ in range(_HOPS):
            folder, left = _walk(real, parts, shown, bound, follow=follow, make=make)
            if not left:
                break
            real, parts = bound, left
        else:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        yield folder, parts[-1]
    except ProjectUnusable:
        raise
    except OSError as error:
        error.filename, error.filename2 = os.fspath(path).removesuffix("/:"), None  # not the last component alone
        raise
    finally:
        if folder >= 0:
            os.close(folder)


def _walk(
    real: str, parts: list[str], given: str, bound: str, *, follow: bool, make: bool
) -> tuple[int, list[str]]:
    """Go as far as there is no link: a descriptor, and no parts; or -1, and the way round it from `bound` on."""
    folder = os.open(real, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for number, name in enumerate(parts):
            last = number == len(parts) - 1
            target = ""
            if not last:
                inner = _step(folder, name, make=make)
                if inner >= 0:
                    os.close(folder)
                    folder = inner
                    continue
            if not last or follow:
                with suppress(OSError):
                    target = os.readlink(name, dir_fd=folder)
            if target:
                link = os.path.join(real, *parts[: number + 1])
                leads = os.path.realpath(os.path.join(os.path.dirname(link), target))
                inside = bound.rstrip("/") + "/"
                if wrong := _leads_out(leads, inside, given):
                    raise ProjectUnusable(_refusal(given, link, f"{wrong} {bound}, to {leads}"))
                os.close(folder)
                folder = -1
                return -1, [part for part in leads[len(inside) :].split("/") if part] + (
                    parts[number + 1 :] or ["."] * (leads == bound)
                )
            if not last:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return folder, []
    except BaseException:
        if folder >= 0:
            os.close(folder)
        raise


def _leads_out(leads: str, inside: str, given: str) -> str:
    """What is wrong with where a link leads; ''."""
    if not f"{leads}/".startswith(inside):
        return "leads out of"
    parts = leads[len(inside) :].split("/")
    # Git's own files are no part of its work tree: there are sandboxes whose agents may not write there.
    return "leads into git's own files in" if ".git" in parts and "/.git/" not in given else ""


def _refusal(given: str, link: str, why: str) -> str:
    what = f"{given} is not used: {link}" if link != given else f"{given} is not used: it"
    return (
        f"{what} is a symbolic link that {why}"
        f"\n  next: remove the link (rm {shlex.quote(link)}), or put what it leads to in its place"
    )


def _step(folder: int, name: str, *, make: bool) -> int:
    """Open a folder in a folder; -1: it is a link, or no folder."""
    for _ in range(_TRIES):
        try:
            return os.open(name, _FOLDER, dir_fd=folder)
        except FileNotFoundError:
            if not make:
                raise
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            return -1
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


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
        ProjectUnusable: a link leads out of the root (see :func:`confine`), or it is no regular file.
        OSError: the system refuses.
    """
    wanted = (flags & ~os.O_TRUNC) | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    for _ in range(_TRIES):
        with _located(path, root=root, follow=not flags & os.O_EXCL) as (folder, name):
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
        ProjectUnusable: a link leads out of the root (see :func:`confine`), or there is no regular file.
        OSError: the folder does not exist, is not writable, or the disk is full. Nothing is left behind.
    """
    content = to_bytes(data) if isinstance(data, str) else data
    with _located(path, root=root, follow=follow) as (folder, name):
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
    with suppress(OSError), _located(os.path.join(scratch, temporary), root=root) as (aside, _):
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
        with _located(path, root=root, follow=False) as (folder, name):
            os.mkdir(name, dir_fd=folder)
        return
    with _located(os.path.join(path, ":"), root=root, make=True):
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
    with suppress(*[FileNotFoundError] * missing), _located(path, follow=False) as (folder, name):
        os.unlink(name, dir_fd=folder)
        _observe(path, None)


def delete_folder(path: AnyPath, *, contents: bool = False) -> None:
    """Delete a folder; with `contents`, all that is in it as well."""
    with _located(path, follow=False) as (folder, name):
        if contents:
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.rmdir(name, dir_fd=folder)


def move(old: AnyPath, new: AnyPath) -> None:
    """Rename a file, or a link itself, in place of another one. See :func:`descriptor`."""
    with (
        _located(old, follow=False) as (from_folder, name),
        _located(new, follow=False) as (folder, new_name),
    ):
        if (found := _seen(folder, new_name)) is not None and not stat.S_ISLNK(found.st_mode):
            _regular(found, new)
        os.replace(name, new_name, src_dir_fd=from_folder, dst_dir_fd=folder)
        _observe(old, None)


def link(old: AnyPath, new: AnyPath) -> None:
    """Give a regular file a second name that is free. See :func:`descriptor`."""
    with (
        _located(old) as (from_folder, name),
        _located(new, follow=False) as (folder, new_name),
    ):
        if (found := _seen(from_folder, name)) is not None:
            _regular(found, old)
        os.link(name, new_name, src_dir_fd=from_folder, dst_dir_fd=folder, follow_symlinks=False)


def symlink(target: str, path: AnyPath) -> None:
    """Make a symbolic link, whatever it leads to, under a name that is free. See :func:`descriptor`."""
    with _located(path, follow=False) as (folder, name):
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
    for _ in range(_TRIES):
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
        raise ProjectUnusable(
            f"{what} can't be used: {error.strerror or error}{where}\n  next: check its permissions and the disk"
        ) from error
