"""Checks of the machine and of the project, whatever its setup: programs, the repository, the disk, other loops."""

from __future__ import annotations

import os
import re
import shutil

from bridge.errors import BridgeError
from bridge.setups import unserved as others
from bridge.setups.diagnosis import Answer, Place, ask, failed, passed, told, warned

__all__ = ["bash", "disk", "git", "jq", "unserved"]

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
