"""A command in a box: what runs on this machine for it, what it needs beside, and what is to be done behind it."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import stat
import sys
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE, make_private, read_bytes, stays_inside, usable
from bridge.base.process.ask import ask
from bridge.base.process.leftovers import MARK
from bridge.errors import BridgeError
from bridge.loop.sandbox import bwrap, cgroup, containers, srt
from bridge.loop.sandbox.admitted import tree_of
from bridge.loop.sandbox.box_policy import Policy
from bridge.loop.sandbox.mounts import proven
from bridge.loop.sandbox.tree import remove

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from bridge.loop.sandbox.box_policy import Provider
    from bridge.loop.sandbox.containers import Client

_PATIENCE = 20.0
_MOST = 4096
_MOST_IGNORED = 1024 * 1024
_LONGEST = 25
"""Bytes of a folder for temporary files: a socket's path has 108 in all, and srt's has 81 behind it."""


@dataclass(frozen=True, slots=True)
class Boxed:
    """A command in a box.

    Attributes:
        argv: what runs on this machine, and `env` its environment.
        inside: the environment in the box.
        missing: folders that aren't there, and are made before it runs. blank: files, which are made empty.
        folder: a private one that is there while it runs, with `files` in it by name; '': none is needed.
        cleanup: commands that end what is left of it, for when nobody could.
        ghosts: empty files and folders that its provider may leave behind.
        group: its control group, with `processes` that there may be in it; '': none.
        policy: what it lets in.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    inside: Mapping[str, str]

    missing: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    folder: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    cleanup: tuple[tuple[str, ...], ...] = ()
    ghosts: tuple[str, ...] = ()
    group: str = ""
    processes: int = 0
    policy: Policy = field(default_factory=lambda: Policy(cwd="/", home="/"))
    around: AbstractContextManager[None] | None = None

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Have its folder while it runs; behind it, nothing of it is left.

        Raises:
            bridge.errors.BridgeError: a folder can't be made.
        """
        made(self.missing)
        for each in self.blank:
            made([os.path.dirname(each)])
            with usable(f"the file {each}"), suppress(FileExistsError):
                os.close(os.open(each, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        proven(self.policy)  # as late as can be: what was looked at may have been replaced
        with ExitStack() as behind:
            if self.around is not None:
                behind.enter_context(self.around)
            if self.folder:
                with usable(f"the folder {self.folder}"):
                    os.mkdir(self.folder, 0o700)  # not one that somebody else has put there
                    behind.callback(remove, self.folder)
                    for name in (srt.TEMPORARY, srt.SOCKETS):
                        os.mkdir(os.path.join(self.folder, name), 0o700)
                    for name, text in self.files.items():
                        with open(os.path.join(self.folder, name), "xb") as file:
                            file.write(os.fsencode(text))
            behind.callback(_remove_empty, self.ghosts)
            if self.group:
                behind.enter_context(cgroup.standing(self.group, self.processes))
            for command in self.cleanup:
                behind.callback(ask, command, cwd="/", env=self.env, patience=_PATIENCE)
            yield


def made(folders: Iterable[str]) -> None:
    """Have these folders, private ones of the user's own.

    Raises:
        bridge.errors.BridgeError: one can't be made.
    """
    for each in folders:
        with usable(f"the folder {each}"):
            make_private(each)


def boxed(provider: Provider, policy: Policy, argv: Sequence[str], env: Mapping[str, str]) -> Boxed:
    """Put a command into a box; `env` is this process's, whose PATH leads to no program that a box may write to.

    Raises:
        bridge.errors.ConfigurationError: the provider can't do what the policy wants.
    """
    token = secrets.token_hex(6)
    if provider == "docker" or provider == "podman":
        user, name = _user(provider, env), containers.name_of(policy.cwd, token)
        made = containers.command(policy, argv, client=provider, name=name, user=user)
        inside = {name: value for name, value in policy.env.items() if name != "PATH" or not policy.image}
        # The mark is on what runs inside: on the client it would be taken for something that a turn has left.
        outside = {name: value for name, value in inside.items() if name not in (MARK, "PATH")}
        around = {**outside, **containers.client_environment(env)}
        made[0] = _program(made[0], env)
        return Boxed(tuple(made), around, inside, cleanup=(containers.removal(provider, name),), policy=policy)
    if provider == "srt":
        folder, linux = _private(policy.cwd, policy.home, token), sys.platform == "linux"
        program = shutil.which("srt", path=env.get("PATH"))
        own = [tree_of(os.path.realpath(program), policy.home)] if program else []
        files = srt.files(policy, argv, folder=folder, top=_top(), own=own, linux=linux)
        inside = srt.environment(policy, folder)
        absentees = [each for each in srt.PLACEHOLDERS if not os.path.lexists(os.path.join(policy.cwd, each))]
        files[srt.GHOSTS] = "\n".join(absentees)  # for whoever comes when this process was killed
        files[srt.IGNORED] = srt.ignored(_text(policy.ignored), absentees)
        ghosts = tuple(os.path.join(policy.cwd, each) for each in absentees)
        around = {**inside, "PATH": env.get("PATH", os.defpath)}
        if linux:
            around["TMPDIR"] = os.path.join(folder, srt.SOCKETS)  # of its own, which it leaves there
        command = srt.command(folder, linux=linux)
        command[0] = _program(command[0], env)
        found = Boxed(tuple(command), around, inside, folder=folder, files=files, ghosts=ghosts, policy=policy)
    else:
        made = bwrap.command(policy, argv, _program("env", env), _program("bwrap", env))
        found = Boxed(tuple(made), policy.env, policy.env, policy=policy)
    # Of root, the kernel bounds only what is in a control group.
    group = cgroup.place(containers.name_of(policy.cwd, token)) if policy.processes and not os.geteuid() else ""
    if not group:
        return found
    within = cgroup.joined(group, found.argv)
    within[0] = _program(within[0], env)
    return replace(found, argv=tuple(within), group=group, processes=policy.processes or 0)


def clear(project: str, home: str) -> int:
    """Remove what killed loops of a project, whose lock is held, have left of srt; return how many turns' it was.
    Empty control groups go, too.

    That is the private folder of a turn, with its prompt, and empty files in the project.
    """
    for each in cgroup.left(containers.name_of(project)):
        with suppress(OSError):
            os.rmdir(each)
    found = glob.glob(f"{glob.escape(_private(project, home))}*")
    known = [(each, os.lstat(each)) for each in found]
    own = [each for each, status in known if status.st_uid == os.getuid() and stat.S_ISDIR(status.st_mode)]
    for folder in own:
        with suppress(BridgeError, OSError):
            names = read_bytes(os.path.join(folder, srt.GHOSTS), _MOST, root=folder).decode("ascii", "replace")
            _remove_empty([os.path.join(project, each) for each in srt.PLACEHOLDERS if each in names.split("\n")])
        remove(folder)
    return len(own)


def _private(project: str, home: str, token: str = "") -> str:
    """The folder of a turn in a project; without a token, how the paths of all of them begin."""
    return os.path.join(_temporary(home), containers.name_of(project, token))


def _program(name: str, env: Mapping[str, str]) -> str:
    """The path of a program; where there is none, one at which nothing is started."""
    return shutil.which(name, path=env.get("PATH", os.defpath)) or f"/usr/bin/{name}"


def _text(path: str) -> str:
    with suppress(OSError):
        return read_bytes(path, _MOST_IGNORED, root=ANYWHERE).decode("utf-8", "surrogateescape")
    return ""


def _temporary(home: str) -> str:
    """Where srt's sockets can be had, and be seen: not below the home, which it hides."""
    folder = os.path.realpath(tempfile.gettempdir())
    fits = len(os.fsencode(folder)) <= _LONGEST and not f"{folder}/".startswith(f"{home}/")
    return folder if fits else "/tmp"  # noqa: S108 (in a folder of our own there)


def _remove_empty(paths: Sequence[str]) -> None:
    for path in paths:
        with suppress(OSError):
            status = os.lstat(path)
            if not stays_inside(path):
                continue
            if stat.S_ISDIR(status.st_mode):
                os.rmdir(path)
            elif stat.S_ISREG(status.st_mode) and not status.st_size:
                os.unlink(path)


def _user(client: Client, env: Mapping[str, str]) -> str:
    """Who a turn is in a container, so that its files are the user's."""
    own = f"{os.getuid()}:{os.getgid()}"
    if client == "podman":
        return "" if os.getuid() else own
    ran = ask(["docker", "info", "--format", "{{.SecurityOptions}}"], cwd="/", env=env, patience=_PATIENCE)
    return "0:0" if "name=rootless" in ran.text else own


def _top() -> list[str]:
    with os.scandir("/") as entries:
        return sorted(each.path for each in entries if each.is_dir(follow_symlinks=False))
