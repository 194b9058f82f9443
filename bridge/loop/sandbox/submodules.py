"""Submodules of a repository whose turns run in a box: those that it has, and those that a turn has added.

A turn makes the git folder of a new one in its private folder. The host makes an empty repository in its place, and
takes into that what came, as it does for any other. Nothing that the turn has written there is moved to it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.process.ask import ask
from bridge.loop.sandbox.gitvalues import refusal
from bridge.loop.sandbox.hostgit import PATIENCE, regular
from bridge.loop.sandbox.tree import walked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.loop.sandbox.hostgit import HostGit

_PREFIX, _SUFFIX = "submodule.", ".path"


class Added(NamedTuple):
    """A submodule that a turn has added: its `name`, `tree`, and the git folder `own` that it is to have."""

    name: str
    tree: str
    own: str


def repositories(top: str) -> Iterator[str]:
    """The ``.git`` of each repository in a folder, but for its own."""
    for folder, entries in walked(top, lambda each: each.name == ".git"):
        if folder != top and any(each.name == ".git" for each in entries):
            yield f"{folder}/.git"


def folder_of(path: str) -> str:
    """The folder that a ``.git`` file leads to; '' where it is no such file."""
    data = regular(path)
    if data is None or not data.startswith(b"gitdir: "):
        return ""
    return os.path.realpath(os.path.join(os.path.dirname(path), os.fsdecode(data[8:].strip())))


def submodule(path: str, own: str, common: str) -> str:
    """The git folder that a submodule's ``.git`` leads to, where it is one of this repository's; else ''."""
    folder = folder_of(path)
    inside = any(folder.startswith(f"{each}/modules/") for each in (own, common))
    return folder if inside and regular(os.path.join(folder, "HEAD")) is not None else ""


def work_tree(path: str, common: str) -> str:
    """The git folder that a further work tree's ``.git`` leads to, where the repository says the same; else ''."""
    folder = folder_of(path)
    back = regular(os.path.join(folder, "gitdir")) if os.path.dirname(folder) == f"{common}/worktrees" else None
    leads = os.path.realpath(os.path.join(folder, os.fsdecode((back or b"").strip())))
    return folder if back and leads == path else ""


def added(private: str, host: HostGit) -> Iterator[Added]:
    """Those whose git folder lies in a private one, whose ``.git`` leads there, and which the host has not yet."""
    described = regular(os.path.join(host.tree, ".gitmodules")) if os.path.isdir(f"{private}/modules") else None
    if not described:
        return
    words = ("config", "--file", "-", "-z", "--get-regexp", r"^submodule\..*\.path$")
    entries = host.run(*words, data=described).out.decode("utf-8", "surrogateescape").split("\0")
    for key, _, path in (each.partition("\n") for each in entries if each):
        name = key[len(_PREFIX) : -len(_SUFFIX)]
        made, own, tree = f"{private}/modules/{name}", f"{host.own}/modules/{name}", f"{host.tree}/{path}"
        strange = {"", ".", ".."}.intersection((*name.split("/"), *path.split("/"))) or refusal(
            f"refs/heads/{name}"
        )
        plain = all(os.path.realpath(each) == each for each in (made, own, tree))
        there = regular(f"{made}/HEAD") is not None and not os.path.lexists(own)
        if not strange and plain and there and folder_of(f"{tree}/.git") == own:
            yield Added(name, tree, own)


def begin(host: HostGit, new: Added) -> bool:
    """Make an empty repository of the host's for it; say whether that is done."""
    made = [host.program, "init", "-q", "--bare", "--template=", "--", new.own]
    values = {"core.bare": "false", "core.worktree": os.path.relpath(new.tree, new.own)}
    settings = ([host.program, "config", "--file", f"{new.own}/config", *each] for each in values.items())
    return all(ask(words, cwd=host.tree, env=host.environment, patience=PATIENCE).ok for words in (made, *settings))


def register(host: HostGit, new: Added) -> None:
    """Have both repositories know its address, as far as git takes what ``.gitmodules`` says."""
    for word in ("init", "sync"):
        host.run("submodule", "--quiet", word, "--", os.path.relpath(new.tree, host.tree))
