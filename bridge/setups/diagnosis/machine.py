"""Checks of the machine and of the project, whatever its setup: programs, the repository, the disk, other loops."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

from bridge.errors import BridgeError, ProjectBusy
from bridge.git import ignore as ignoring
from bridge.loop import runs
from bridge.loop.lock import one_loop
from bridge.process import leftovers, table
from bridge.setups import unserved as others
from bridge.setups.diagnosis import Answer, NotLookedAt, Place, ask, failed, passed, told, warned
from bridge.setups.projects import at_work, other_folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["bash", "disk", "end_orphans", "git", "ignore", "jq", "orphans", "unignored", "unserved"]

_LEAST_FREE = 100 * 1024 * 1024
_LITTLE_FREE = 1024 * 1024 * 1024


def bash(place: Place) -> Answer:
    """Bash is what drivers run in; 3.2 is enough."""
    found = shutil.which("bash", path=place.env.get("PATH"))
    if found is None:
        return failed("not on PATH", "install bash 3.2 or newer")
    _, text = ask([found, "--version"], place)
    version = re.search(r"version (\d+)\.(\d+)[\d.]*", text)
    if version is None:
        return failed(f"{found} does not say its version", "put a bash first on PATH")
    if (int(version[1]), int(version[2])) < (3, 2):
        return failed(f"{found} {version[0]}", "install bash 3.2 or newer")
    return passed(f"{version[0].removeprefix('version ')}, {found}")


def jq(place: Place) -> Answer:
    """Drivers may call jq; the loop itself does not need it."""
    found = shutil.which("jq", path=place.env.get("PATH"))
    if found is None:
        return warned(
            "not on PATH: ralph-bridge has its own, but scripts that call it, and the original loop, do not",
            "install jq (apt-get install jq, brew install jq)",
        )
    return passed(found)


def git(place: Place) -> Answer:
    """Progress is measured by git, from a first commit on."""
    if shutil.which("git", path=place.env.get("PATH")) is None:
        return failed("git is not on PATH", "install git")
    status, text = ask(["git", "rev-parse", "--is-inside-work-tree"], place)
    if status != 0 or text != "true":
        reason = "a safe.directory is missing" if "safe.directory" in text else "not a git repository"
        return failed(
            reason, "git init, then a first commit" if reason[0] == "n" else text.splitlines()[-1].strip()
        )
    status, _ = ask(["git", "rev-parse", "--verify", "-q", "HEAD"], place)
    if status != 0:
        return failed("no commits found", "git add -A && git commit -m 'first commit'")
    _, branch = ask(["git", "rev-parse", "--abbrev-ref", "HEAD"], place)
    return passed(f"branch: {branch}")


def disk(place: Place) -> Answer:
    """A full disk loses the state of a loop."""
    seen = os.statvfs(place.project)
    free = seen.f_bavail * seen.f_frsize
    told = f"{free / 1024**3:.1f} GB free"
    if free < _LEAST_FREE:
        return failed(told, "make room: at least 100 MB")
    if seen.f_files and not seen.f_favail:
        return failed("no inodes left", "delete files that nobody needs")
    return warned(told, "a long loop may need more") if free < _LITTLE_FREE else passed(told)


def unserved(place: Place) -> Answer:
    """A loop refuses to start where something is asked for that it would have to pass over."""
    try:
        others.refuse(place.project, place.env)
    except BridgeError as error:
        return told(error)
    return passed()


def unignored(place: Place, names: Sequence[str]) -> list[str]:
    """Name those of a loop's files that an agent's ``git add -A`` would commit (trap T6).

    Args:
        place: the project.
        names: samples of its files, relative to the project.

    Raises:
        NotLookedAt: there is no repository, or no git.
    """
    found = ignoring.unignored(place.project, names, place.env)
    if found is None:
        raise NotLookedAt("there is no git repository")
    return found


def ignore(place: Place, names: Sequence[str], patterns: Iterable[str]) -> str:
    """Have git ignore a loop's files, where it doesn't; say so.

    Args:
        place: the project.
        names: samples of these files.
        patterns: lines for ``.gitignore``.

    Raises:
        NotLookedAt: there is no repository, or no git.
        bridge.errors.ProjectUnusable: ``.gitignore`` can't be read or written.
    """
    added = ignoring.ignore(place.project, patterns) if unignored(place, names) else []
    return f"added to {ignoring.FILE}: {', '.join(added)}" if added else ""


def orphans(place: Place, folder: Path) -> Answer:
    """Agents that go on working after their loop has gone (trap T2).

    Args:
        place: the project.
        folder: of the state of its loop.
    """
    if at_work(place.project) is not None:
        return passed("a loop is at work")
    found = set(leftovers.marked(place.project)) - table.ancestors()
    run = runs.read_run(folder)
    if run is not None and run.agent is not None and table.alive(run.agent):
        found.add(run.agent.pid)
    if not found:
        return passed()
    listed = "; ".join(f"{pid} {table.command_of(pid)[:60]}".strip() for pid in sorted(found)[:5])
    return failed(f"without a loop: {listed}", f"end them: kill {' '.join(map(str, sorted(found)))}")


def end_orphans(place: Place, folder: Path) -> str:
    """End those that carry the mark of a loop in this project, with its lock held: then they belong to none."""
    if not leftovers.marked(place.project) or not folder.is_dir() or at_work(place.project) is not None:
        return ""
    try:
        with one_loop(folder, place.project, others=other_folders(folder, place.project)):
            groups = leftovers.end(place.project)
    except ProjectBusy:
        return ""
    return f"ended agents without a loop: {groups} process group{'s' * (groups > 1)}" if groups else ""
