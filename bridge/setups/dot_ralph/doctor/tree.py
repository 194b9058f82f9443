"""Checks of the folder: the loop's files in it, and what git makes of them."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, Any

from bridge.files import make_folder, usable
from bridge.process.argv import MAX_ARGUMENT
from bridge.records import read_text
from bridge.setups.diagnosis import Examined, Skipped, ask, checks, failed, passed, warned
from bridge.setups.dot_ralph.folder import STATE_FILES

if TYPE_CHECKING:
    from bridge.setups.dot_ralph.doctor.case import FolderCase
    from bridge.setups.dot_ralph.folder import Folder

_SAMPLES = ("status.json", ".call_count", ".ralph_session", "logs/ralph.log")


def writable(case: FolderCase[Any]) -> Examined:
    """Every file of the loop is replaced by a new one, which takes the right to write in the folder."""
    folder = case.folder
    for place in (folder.path, folder.logs):
        if place.exists() and not place.is_dir():
            return failed(f"{folder.name_of(place)} is no folder", f"rm {folder.name_of(place)}")
        if place.exists() and not os.access(place, os.W_OK | os.X_OK):
            return failed(f"{folder.name_of(place)} may not be written to", f"chmod u+wx {folder.name_of(place)}")
    return passed() if folder.path.exists() else failed(f"there is no {folder.shown}", "`bmalph init`")


def prompt(case: FolderCase[Any]) -> Examined:
    """There is something to say to the agent."""
    name = case.settings.prompt_file
    path = case.folder.project / name
    text = read_text(path)
    if text is None:
        return failed(f"{name} does not exist" if not path.exists() else f"{name} is no file", f"write {name}")
    if not text.strip():
        return failed(f"{name} is empty", "say in it what the agent shall do")
    size = path.stat().st_size
    if size >= MAX_ARGUMENT:
        return failed(f"{name} has {size} bytes, more than one argument may have", "let it name files to read")
    return passed(f"{name}, {size} bytes")


def tracked(case: FolderCase[Any]) -> Examined:
    """State that git tracks changes with every loop and looks like progress (trap T6)."""
    status, text = ask(["git", "ls-files", "-z", "--", str(case.folder.path)], case)
    if status != 0:
        raise Skipped("there is no git repository")
    base = case.folder.name_of(case.folder.path)
    wanted = re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in STATE_FILES))
    names = (name for name in text.split("\0") if f"/{base}/" in f"/{name}")
    found = [name for name in names if wanted.match(f"/{name}".split(f"/{base}/", 1)[1])]
    if found:
        shown = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
        folder = case.folder.shown
        return warned(
            f"git tracks {len(found)} state files: {shown}",
            f"git rm -r --cached --ignore-unmatch {folder}/logs {folder}/status.json ..., then ignore them",
        )
    return passed()


def samples(folder: Folder) -> list[str]:
    """Name some files that a loop writes, as people in the project would."""
    return [f"{folder.shown}/{name}" for name in _SAMPLES]


def ignored(case: FolderCase[Any]) -> Examined:
    """An agent's `git add -A` would commit what isn't ignored (trap T6)."""
    missing = checks.unignored(case, samples(case.folder))
    if not missing:
        return passed()
    patterns = shlex.join(f"{case.folder.shown}/{name}" for name in STATE_FILES)
    return warned(f"git does not ignore {', '.join(missing)}", f"printf '%s\\n' {patterns} >> .gitignore")


def ignore(case: FolderCase[Any]) -> str:
    """Add the patterns to ``.gitignore``."""
    folder = case.folder
    if not folder.path.is_relative_to(folder.project):  # RALPH_DIR leads elsewhere
        return ""
    inside = folder.path.relative_to(folder.project)
    return checks.ignore(case, samples(folder), [f"{inside}/{name}" for name in STATE_FILES])


def make_folders(case: FolderCase[Any]) -> str:
    """Make the folder for logs that the next run would make."""
    logs = case.folder.logs
    if not case.folder.path.is_dir() or os.path.lexists(logs):
        return ""
    with usable("the folder for logs"):
        make_folder(logs)
    return f"made {case.folder.name_of(logs)}/"
