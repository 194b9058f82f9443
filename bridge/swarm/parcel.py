"""What travels to a worker that sees none of the host's files, and what comes back."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge._version import __version__
from bridge.errors import ConfigurationError
from bridge.files import make_folder, read_bytes, symlink, write_atomic
from bridge.swarm.project import folder_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.git.repository import Repository
    from bridge.swarm.supervisor import Order, Result

_VALUE = r"""["']?[ \t]*[:=][ \t]*["']?(?!\$|["'\s]|\d+["']?\s*$)\S"""
_SECRET_NAME = re.compile(
    r"(?i)(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|_KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$"
)
_SECRET_LINE = re.compile(
    rf"(?im)^[^#\n]*?(\w*(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|_KEY|TOKEN|SECRET|PASSWORD|PASSWD)){_VALUE}"
)
_LOCAL = ("settings.local.json",)


class File(NamedTuple):
    """A file that git doesn't have: its mode, and what is in it (of a link: where it leads)."""

    mode: int
    data: bytes

    @classmethod
    def read(cls, path: Path) -> File | None:
        """Read it; None when it is neither a file nor a link, or can't be read."""
        try:
            seen = path.lstat()
            if stat.S_ISLNK(seen.st_mode):
                return cls(seen.st_mode, os.fsencode(os.readlink(path)))
            return cls(seen.st_mode, read_bytes(path, -1)) if stat.S_ISREG(seen.st_mode) else None
        except OSError:
            return None

    def write(self, path: Path) -> None:
        """Write it, and its folder."""
        make_folder(path.parent)
        if stat.S_ISLNK(self.mode):
            symlink(os.fsdecode(self.data), path)
        else:
            write_atomic(path, self.data, mode=self.mode & 0o777)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One attempt, for a worker elsewhere.

    Attributes:
        order: as the host has it; its paths are the host's.
        project: the project's name in folders.
        tip: the commit to go on from: the order's base, or what an earlier attempt came to.
        files: of the setup, that git doesn't have; by their path from the top.
        withheld: files of the setup that seem to hold a secret: their names alone.
        names: settings whose values are secret: a worker has its own, in its environment.
        scripts: the driver's or the agent's, where git doesn't have it: its name and what is in it.
        exclude: patterns of ``.git/info/exclude``.
        identity: who commits, name and address.
        dask: whether Dask carries the events and what is asked.
        version: of ralph-bridge.
    """

    order: Order
    project: str
    tip: str
    files: dict[str, File]
    withheld: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    scripts: dict[str, tuple[str, File]]
    exclude: str = ""
    identity: tuple[str, str] = ("", "")
    dask: bool = False
    version: str = __version__


class Delivery(NamedTuple):
    """What comes back of an attempt.

    Attributes:
        result: what came of it.
        refs: branches, with the commit of each, which the hub has.
        where: the machine and the folder that the attempt is in.
        events: all that the loop has told.
        log: the end of what it printed beside.
    """

    result: Result
    refs: dict[str, str]
    where: str
    events: bytes
    log: bytes


class Contents(NamedTuple):
    """What of an order may travel; fields as in `Parcel`, the order without what is the host's alone."""

    order: Order
    files: dict[str, File]
    withheld: tuple[str, ...]
    names: tuple[str, ...]
    scripts: dict[str, tuple[str, File]]


def contents(order: Order, git: Repository) -> Contents:
    """Say what of an order may travel.

    Args:
        order: the host's.
        git: the host's repository.

    Raises:
        ConfigurationError: a script that was asked for can't be read, or seems to hold a secret.
    """
    files: dict[str, File] = {}
    withheld = []
    for name in order.setup:
        found = File.read(Path(order.top) / name)
        if found is None:
            continue
        if name.endswith(_LOCAL) or _SECRET_LINE.search(found.data.decode("utf-8", "replace")):
            withheld.append(name)
        else:
            files[name] = found
    options = dict(order.options)
    settings = dict(options.get("settings") or {})
    secret = tuple(name for name in settings if _SECRET_NAME.search(name))
    if settings:
        options["settings"] = {name: value for name, value in settings.items() if name not in secret}
    scripts = {}
    for kind in ("driver", "agent"):
        if os.path.isabs(script := str(options.get(kind) or "")):
            inside = os.path.relpath(os.path.realpath(script), os.path.realpath(order.top))
            if git.run("cat-file", "-e", f"{order.base}:{inside}").ok:
                options[kind] = os.path.relpath(inside, os.path.relpath(order.project, order.tree))
            else:
                scripts[kind] = _script(script)
    sent = replace(order, options=options, copied={})
    return Contents(sent, files, tuple(withheld), secret, scripts)


def _script(path: str) -> tuple[str, File]:
    found = File.read(Path(os.path.realpath(path)))
    if found is None:
        raise ConfigurationError(f"{path} can't be read")
    if _SECRET_LINE.search(found.data.decode("utf-8", "replace")):
        raise ConfigurationError(
            f"{path} seems to hold a secret, and would travel to every worker\n  next: have it read its environment"
        )
    return os.path.basename(path), found


def project_name(order: Order) -> str:
    """Give the project's name in folders."""
    return folder_name(Path(order.source))


def missing(names: Iterable[str], folder: Path) -> list[str]:
    """Name the files that a folder doesn't have."""
    return [name for name in names if not os.path.lexists(folder / name)]
