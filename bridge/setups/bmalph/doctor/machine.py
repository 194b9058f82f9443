"""Checks of the machine: programs, the repository, the disk."""

from __future__ import annotations

import os
import re
import shutil

from bridge.setups.bmalph.doctor.model import Answer, Case, ask, failed, passed, warned

__all__ = ["bash", "disk", "git", "jq", "writable"]

_LEAST_FREE = 100 * 1024 * 1024
_LITTLE_FREE = 1024 * 1024 * 1024


def bash(case: Case) -> Answer:
    """Bash is what drivers run in; 3.2 is enough."""
    found = shutil.which("bash", path=case.env.get("PATH"))
    if found is None:
        return failed("not on PATH", "install bash 3.2 or newer")
    _, text = ask([found, "--version"], case)
    version = re.search(r"version (\d+)\.(\d+)[\d.]*", text)
    if version is None:
        return failed(f"{found} does not say its version", "put a bash first on PATH")
    if (int(version[1]), int(version[2])) < (3, 2):
        return failed(f"{found} {version[0]}", "install bash 3.2 or newer")
    return passed(f"{version[0].removeprefix('version ')}, {found}")


def jq(case: Case) -> Answer:
    """Drivers may call jq; the loop itself does not need it."""
    found = shutil.which("jq", path=case.env.get("PATH"))
    if found is None:
        return warned(
            "not on PATH: ralph-bridge has its own, but scripts that call it, and the original loop, do not",
            "install jq (apt-get install jq, brew install jq)",
        )
    return passed(found)


def git(case: Case) -> Answer:
    """Progress is measured by git, from a first commit on."""
    if shutil.which("git", path=case.env.get("PATH")) is None:
        return failed("git is not on PATH", "install git")
    status, text = ask(["git", "rev-parse", "--is-inside-work-tree"], case)
    if status != 0 or text != "true":
        reason = "a safe.directory is missing" if "safe.directory" in text else "not a git repository"
        return failed(
            reason, "git init, then a first commit" if reason[0] == "n" else text.splitlines()[-1].strip()
        )
    status, _ = ask(["git", "rev-parse", "--verify", "-q", "HEAD"], case)
    if status != 0:
        return failed("no commits found", "git add -A && git commit -m 'first commit'")
    _, branch = ask(["git", "rev-parse", "--abbrev-ref", "HEAD"], case)
    return passed(f"branch: {branch}")


def disk(case: Case) -> Answer:
    """A full disk loses the state of a loop."""
    place = case.folder.path if case.folder.path.exists() else case.folder.project
    seen = os.statvfs(place)
    free = seen.f_bavail * seen.f_frsize
    told = f"{free / 1024**3:.1f} GB free"
    if free < _LEAST_FREE:
        return failed(told, "make room: at least 100 MB")
    if seen.f_files and not seen.f_favail:
        return failed("no inodes left", "delete files that nobody needs")
    return warned(told, "a long loop may need more") if free < _LITTLE_FREE else passed(told)


def writable(case: Case) -> Answer:
    """Every file of the loop is replaced by a new one, which takes the right to write in the folder."""
    folder = case.folder
    for place in (folder.path, folder.logs):
        if place.exists() and not place.is_dir():
            return failed(f"{folder.name_of(place)} is no folder", f"rm {folder.name_of(place)}")
        if place.exists() and not os.access(place, os.W_OK | os.X_OK):
            return failed(f"{folder.name_of(place)} may not be written to", f"chmod u+wx {folder.name_of(place)}")
    return passed() if folder.path.exists() else failed(f"there is no {folder.shown}", "`bmalph init`")
