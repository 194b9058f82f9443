"""What travels to whoever works on a task, here or where none of the host's files are, and what comes back."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base.files import make_folder, read_bytes, symlink, write_atomic
from bridge.base.records import dataclass
from bridge.errors import ConfigurationError
from bridge.loop.swarm.folder import asked_to_stop
from bridge.loop.swarm.project import folder_name
from bridge.loop.swarm.work_trees import Saved, common_folder, repository, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bridge.base.git.repository import Repository

_VALUE = r"""["']?[ \t]*[:=][ \t]*["']?(?!\$|["'\s]|\d+["']?\s*$)\S"""
_SECRET_NAME = re.compile(
    r"(?i)(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|_KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$"
)
_SECRET_LINE = re.compile(
    rf"(?im)^[^#\n]*?(\w*(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|_KEY|TOKEN|SECRET|PASSWORD|PASSWD)){_VALUE}"
)
_LOCAL = ("settings.local.json",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """All that is to be known for one attempt at one task. It travels as JSON or as a pickle.

    Attributes:
        run_folder: of the swarm's record. folder: of the task's.
        attempt: from 1.
        source: the project that files are copied from. top: of the user's work tree.
        kind, home: of the project, see :class:`~bridge.loop.swarm.project.SwarmProject`.
        tree: the top of the work tree. project: the project's folder in it.
        branch: the task's. base: the commit that it begins with. kept: name for what lies beside the branch.
        lock: the file that all swarms lock to make a work tree.
        setup: files of the setup to copy, from the top. wanted: ignored files, likewise.
        write: files to write, from the project's folder, with their text.
        copied: what was copied by now, with digests.
        options: of `Loop.open`. env: variables for the worker.
        timeout: seconds; None: any number.
        host: the process that wants it.
        run: the swarm's name.
        hub: the repository that the work is pushed to; ''.
        elsewhere: the worker sees none of the host's files.
    """

    run_folder: str
    folder: str
    task: str
    attempt: int
    source: str
    top: str
    kind: str
    home: str
    tree: str
    project: str
    branch: str
    base: str
    kept: str
    lock: str
    setup: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    write: dict[str, str] = field(default_factory=dict)
    copied: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    timeout: float | None = None
    host: tuple[int, str, str] = (0, "", "")
    run: str = ""
    hub: str = ""
    elsewhere: bool = False

    @property
    def events(self) -> Path:
        return Path(self.folder) / "events.jsonl"

    @property
    def prefix(self) -> str:
        """The project's folder from the top: '' or ``sub/folder/``."""
        inside = os.path.relpath(self.project, self.tree)
        return "" if inside == "." else f"{inside}/"

    @property
    def asked_to_stop(self) -> str:
        return asked_to_stop(Path(self.run_folder))

    def repository(self) -> Repository:
        return repository(Path(self.source))

    def begun_twice(self) -> Result:
        return Result("lost", "begun twice", f"attempt {self.attempt} was begun before, and nobody saw its end")

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Order:
        values = dict(found)
        for name in ("setup", "wanted", "host"):
            values[name] = tuple(values[name])
        return cls(**values)


class Result(NamedTuple):
    """What came of an attempt.

    Attributes:
        verdict: ``complete``, or an outcome as in :class:`~bridge.loop.swarm.swarm_record.TaskRecord`.
        copied: what was copied into its work tree.
        where: the machine and the folder of its work tree, when that isn't here.
    """

    verdict: str
    reason: str = ""
    detail: str = ""
    saved: Saved = Saved()
    copied: dict[str, str] = {}  # noqa: RUF012 - nobody writes into it
    where: str = ""


# -- elsewhere ---------------------------------------------------------------------------------------


class File(NamedTuple):
    """A file that git doesn't have: its mode, and what is in it (of a link: where it leads)."""

    mode: int
    data: bytes

    @classmethod
    def read(cls, path: Path) -> File | None:
        """None when it is neither a file nor a link, or can't be read."""
        try:
            seen = path.lstat()
            if stat.S_ISLNK(seen.st_mode):
                return cls(seen.st_mode, os.fsencode(os.readlink(path)))
            return cls(seen.st_mode, read_bytes(path, -1)) if stat.S_ISREG(seen.st_mode) else None
        except OSError:
            return None

    def write(self, path: Path) -> None:
        make_folder(path.parent)
        if stat.S_ISLNK(self.mode):
            symlink(os.fsdecode(self.data), path)
        else:
            write_atomic(path, self.data, mode=self.mode & 0o777)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One attempt, for a worker elsewhere.

    Attributes:
        order: as the host has it, without what is the host's alone; its paths are the host's.
        project: the project's name in folders.
        tip: the commit to go on from: the order's base, or what an earlier attempt came to.
        files: of the setup, that git doesn't have; by their path from the top.
        withheld: files of the setup that seem to hold a secret: their names alone.
        names: settings whose values are secret: a worker has its own, in its environment.
        scripts: the driver's or the agent's, where git doesn't have it: its name and what is in it.
        exclude: patterns of ``.git/info/exclude``.
        identity: who commits, name and address.
        dask: whether Dask carries the events and what is asked.
    """

    order: Order
    project: str
    tip: str
    files: dict[str, File]
    withheld: tuple[str, ...]
    names: tuple[str, ...]
    scripts: dict[str, tuple[str, File]]
    exclude: str
    identity: tuple[str, str]
    dask: bool


class Delivery(NamedTuple):
    """What comes back of an attempt.

    Attributes:
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


def pack(order: Order, git: Repository, *, dask: bool) -> Parcel:
    """What of the host's order may travel.

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
                options[kind] = os.path.relpath(inside, order.prefix or ".")
            else:
                scripts[kind] = _script(script)
    exclude = common_folder(git) / "info/exclude"
    return Parcel(
        order=replace(order, options=options, copied={}),
        project=folder_name(Path(order.source)),
        tip=resolve(git, f"refs/heads/{order.branch}") or order.base,
        files=files,
        withheld=tuple(withheld),
        names=secret,
        scripts=scripts,
        exclude=read_bytes(exclude).decode("utf-8", "surrogateescape") if exclude.is_file() else "",
        identity=(git.run("config", "user.name").text, git.run("config", "user.email").text),
        dask=dask,
    )


def _script(path: str) -> tuple[str, File]:
    found = File.read(Path(os.path.realpath(path)))
    if found is None:
        raise ConfigurationError(f"{path} can't be read")
    if _SECRET_LINE.search(found.data.decode("utf-8", "replace")):
        raise ConfigurationError(
            f"{path} seems to hold a secret, and would travel to every worker\n  next: have it read its environment"
        )
    return os.path.basename(path), found


def missing(names: Iterable[str], folder: Path) -> list[str]:
    return [name for name in names if not os.path.lexists(folder / name)]
