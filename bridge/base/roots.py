"""Folders that no link leads out of: a path below one is walked by descriptors, component by component.

A link that leads out is refused, one that stays inside is followed. See :func:`confine`. The door to this is
:mod:`bridge.base.files`, which opens, replaces and deletes files by it.
"""

from __future__ import annotations

import errno
import os
import shlex
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bridge.errors import ProjectUnusable

if TYPE_CHECKING:
    from collections.abc import Iterator

AnyPath = str | os.PathLike[str]

TRIES = 20
"""Attempts at what somebody else may undo at this very moment."""
_HOPS = 40
# macOS has no O_PATH.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

ANYWHERE = "/"
"""The root of files that a person has named, and of those that lie outside of projects: links lead anywhere, but
not out of projects whose turns run in boxes (see :func:`close`)."""

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
def located(
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
    for _ in range(TRIES):
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
