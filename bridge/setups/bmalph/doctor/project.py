"""Checks of what people have written: layout, settings, prompt, plan, and what git should leave alone."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING

from bridge.errors import BridgeError
from bridge.files import usable
from bridge.loop.plan import parse_plan
from bridge.process.argv import MAX_ARGUMENT
from bridge.records import read_text
from bridge.setups.bmalph import layout
from bridge.setups.bmalph.settings import resolve
from bridge.setups.diagnosis import CheckResult, Skipped, ask, checks, failed, failed_with, passed, warned

if TYPE_CHECKING:
    from bridge.setups.bmalph.doctor.model import Case
    from bridge.setups.bmalph.layout import Folder

__all__ = [
    "STATE_FILES",
    "controller",
    "ignore",
    "ignored",
    "kind",
    "make_folders",
    "plan",
    "prompt",
    "samples",
    "settings",
    "tracked",
    "writable",
]

STATE_FILES = (
    "status.json",
    "progress.json",
    "live.log",
    "logs/",
    ".call_count",
    ".last_reset",
    ".exit_signals",
    ".response_analysis",
    ".circuit_breaker_state",
    ".circuit_breaker_history",
    ".ralph_session",
    ".ralph_session_history",
    ".claude_session_id",
    ".loop_start_sha",
    ".loop_diff_summary",
    ".last_output_length",
    ".quality_gate_results",
    ".review_findings.json",
    ".review_last_sha",
    ".heartbeat_marker",
    ".write_heartbeat_*",
    ".ralph_bridge.*",
    ".*.tmp",
)
"""What a loop writes under its folder, as patterns for ``.gitignore``."""

_SAMPLES = ("status.json", ".call_count", ".ralph_session", "logs/ralph.log")


def kind(case: Case) -> CheckResult:
    """The project is one that the loop can run in."""
    try:
        seen = layout.require(case.folder)
    except BridgeError as error:
        return failed_with(error)
    note = {"frankbria": "frankbria's layout, with our drivers: ", "bare": "a prompt only, with our drivers: "}
    return passed(note.get(seen.flavour, "") + ", ".join(seen.evidence[:6]))


def writable(case: Case) -> CheckResult:
    """Every file of the loop is replaced by a new one, which takes the right to write in the folder."""
    folder = case.folder
    for place in (folder.path, folder.logs):
        if place.exists() and not place.is_dir():
            return failed(f"{folder.name_of(place)} is no folder", f"rm {folder.name_of(place)}")
        if place.exists() and not os.access(place, os.W_OK | os.X_OK):
            return failed(f"{folder.name_of(place)} may not be written to", f"chmod u+wx {folder.name_of(place)}")
    return passed() if folder.path.exists() else failed(f"there is no {folder.shown}", "`bmalph init`")


def controller(case: Case) -> CheckResult:
    """`bmalph run` starts this script; our own `run` needs none."""
    if case.look.flavour != "bmalph":
        return passed("not needed here")
    text = read_text(case.folder / layout.CONTROLLER)
    if text is None or not text.strip():
        what = "missing" if text is None else "empty"
        return warned(f"{what}: `ralph-bridge run` needs none, `bmalph run` does", "bmalph upgrade")
    if "ralph-bridge stand-in" in text:
        return passed("ralph-bridge stands in for it")
    version = re.search(r"^# bmalph-version: (\S+)", text, re.MULTILINE)
    return passed(f"the original, version {version[1]}" if version else "the original")


def settings(case: Case) -> CheckResult:
    """Every setting can be used, and every line of the file is understood."""
    try:
        found = resolve(case.folder, env=case.env, rc=case.rc)
    except BridgeError as error:
        return failed_with(error)
    if found.notices:
        return warned("\n".join(found.notices), "correct these lines")
    return passed(case.rc.shown if case.rc.exists else "no file: defaults and environment")


def prompt(case: Case) -> CheckResult:
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


def plan(case: Case) -> CheckResult:
    """There are tasks, and some are open."""
    path = layout.fix_plan(case.folder)
    if path is None:
        return warned(
            f"no {case.folder.shown}/@fix_plan.md: the loop can't count tasks", "write `- [ ] task` lines"
        )
    name = case.folder.name_of(path)
    found = parse_plan(read_text(path) or "")
    if not found.total:
        return warned(f"{name} has no `- [ ] task` line", "write one for each task")
    if found.complete:
        return warned(f"all {found.total} tasks of {name} are ticked: a run ends at once", "add open tasks")
    return passed(f"{found.done} of {found.total} tasks done")


def tracked(case: Case) -> CheckResult:
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


def ignored(case: Case) -> CheckResult:
    """An agent's `git add -A` would commit what isn't ignored (trap T6)."""
    missing = checks.unignored(case, samples(case.folder))
    if not missing:
        return passed()
    patterns = shlex.join(f"{case.folder.shown}/{name}" for name in STATE_FILES)
    return warned(f"git does not ignore {', '.join(missing)}", f"printf '%s\\n' {patterns} >> .gitignore")


def ignore(case: Case) -> str:
    """Add the patterns to ``.gitignore``."""
    folder = case.folder
    if not folder.path.is_relative_to(folder.project):  # RALPH_DIR leads elsewhere
        return ""
    inside = folder.path.relative_to(folder.project)
    return checks.ignore(case, samples(folder), [f"{inside}/{name}" for name in STATE_FILES])


def make_folders(case: Case) -> str:
    """Make the folder for logs that the next run would make."""
    logs = case.folder.logs
    if not case.folder.path.is_dir() or os.path.lexists(logs):
        return ""
    with usable("the folder for logs"):
        logs.mkdir()
    return f"made {case.folder.name_of(logs)}/"
