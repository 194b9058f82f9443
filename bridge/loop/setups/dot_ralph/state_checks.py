"""What `doctor` asks of a folder ``.ralph``: can it be written to, what git makes of it, what loops have left."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Any

from bridge.base import timestamps
from bridge.base.files import make_folder, usable
from bridge.base.json_files import read_object, read_text
from bridge.base.process import table
from bridge.base.process.argv import MAX_ARGUMENT
from bridge.errors import ConfigurationError, ProjectBusy
from bridge.loop.engine import lock
from bridge.loop.setups.diagnosis import DoctorCheck, Examined, Skipped, ask, checks, failed, passed, warned
from bridge.loop.setups.dot_ralph import breaker_files, files, session_files
from bridge.loop.setups.dot_ralph.folder import STATE_FILES
from bridge.loop.setups.dot_ralph.state_files import STATUS_WORDS, CrashCleared, by_hand
from bridge.loop.setups.projects import at_work, project_lock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.loop.setups.dot_ralph.doctor import FolderCase
    from bridge.loop.setups.dot_ralph.folder import Folder

_SAMPLES = ("status.json", ".call_count", ".ralph_session", "logs/ralph.log")


# -- the folder, and what git makes of it -----------------------------------------------------------------


def _writable(case: FolderCase[Any]) -> Examined:
    """Every file of the loop is replaced by a new one, which takes the right to write in the folder."""
    folder = case.folder
    for each in (folder.path, folder.logs):
        if each.exists() and not each.is_dir():
            return failed(f"{folder.name_of(each)} is no folder", f"rm {folder.name_of(each)}")
        if each.exists() and not os.access(each, os.W_OK | os.X_OK):
            return failed(f"{folder.name_of(each)} may not be written to", f"chmod u+wx {folder.name_of(each)}")
    return passed() if folder.path.exists() else failed(f"there is no {folder.shown}", "`bmalph init`")


def _make_folders(case: FolderCase[Any]) -> str:
    """Make the folder for logs that the next run would make."""
    logs = case.folder.logs
    if not case.folder.path.is_dir() or os.path.lexists(logs):
        return ""
    with usable("the folder for logs"):
        make_folder(logs)
    return f"made {case.folder.name_of(logs)}/"


def prompt(case: FolderCase[Any]) -> Examined:
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


def _tracked(case: FolderCase[Any]) -> Examined:
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


def _ignored(case: FolderCase[Any]) -> Examined:
    """An agent's `git add -A` would commit what isn't ignored (trap T6)."""
    return checks.ignored(case, samples(case.folder), [f"{case.folder.shown}/{name}" for name in STATE_FILES])


def _ignore(case: FolderCase[Any]) -> str:
    folder = case.folder
    if not folder.path.is_relative_to(folder.project):  # RALPH_DIR leads elsewhere
        return ""
    inside = folder.path.relative_to(folder.project)
    return checks.ignore(case, samples(folder), [f"{inside}/{name}" for name in STATE_FILES])


# -- what loops have left, or are doing now -----------------------------------------------------------------


def status_file(case: FolderCase[Any], name: str = "status.json") -> Examined:
    """The dashboards of bmalph and others read it."""
    path = case.folder / name
    if not path.exists():
        return passed("no loop has run yet")
    record = read_object(path)
    if record is None:
        return failed("corrupt: no JSON object", "the next run writes it anew")
    count, state = record.get("loop_count"), record.get("status")
    if not isinstance(count, int | float) or isinstance(count, bool) or state not in STATUS_WORDS:
        return failed(f"corrupt: status is {state!r}, loop_count is {count!r}", "the next run writes it anew")
    return passed(f"loop {count}, {state}")


def _circuit(case: FolderCase[Any]) -> Examined:
    """An open breaker ends a run before the agent is called."""
    path = case.folder / breaker_files.FILE
    if not path.exists():
        return passed("no loop has run yet")
    if breaker_files.is_corrupt(read_text(path)):
        return failed(f"{case.folder.name_of(path)} is corrupt", "ralph-bridge reset")
    found = breaker_files.load(case.folder, time.time())
    reason = found.reason or "no reason given"
    if not found.is_open:
        return passed(found.state.value)
    settings = case.settings
    since = timestamps.parse_iso(found.opened_at or found.last_change)
    left = 0.0 if since is None else since + settings.cb_cooldown_minutes * 60 - time.time()
    hint = "ralph-bridge reset, or CB_AUTO_RESET=true"
    if settings.cb_auto_reset:
        return warned(f"OPEN - {reason}; the next run closes it (CB_AUTO_RESET)")
    if left <= 0:
        return warned(f"OPEN - {reason}; its cooldown is over, the next run tries again", hint)
    return failed(f"OPEN - {reason}; {left / 60:.0f} min of its cooldown are left", hint)


def _session(case: FolderCase[Any]) -> Examined:
    """A session that is too old is not resumed."""
    record = read_object(case.folder / ".ralph_session")
    if record is None:
        if (case.folder / ".ralph_session").exists():
            return warned("corrupt", "the next run starts a new session")
        return passed("none yet")
    if not record.get("session_id"):
        return passed("inactive")
    now = time.time()
    if session_files.active_session(read_text(case.folder / session_files.SESSION), now) is None:
        return warned("its times make no sense", "the next run starts a new session")
    created = timestamps.parse_iso(record.get("last_used") or record.get("created_at")) or now
    hours = (now - created) / 3600
    most = case.settings.session_expiry_hours
    age = f"{int(hours)}h{int(hours * 60) % 60}m old (max {most}h)"
    return warned(age, "the next run starts a new session") if hours >= most else passed(age)


def _api_calls(case: FolderCase[Any]) -> Examined:
    used, most = files.calls_made(case.folder, time.time()), case.settings.max_calls_per_hour
    shown = f"{used}/{most}"
    if used >= most:
        return warned(f"{shown}: none left until the full hour", "wait, or raise MAX_CALLS_PER_HOUR")
    if used >= 0.9 * most:
        return warned(f"{shown} (approaching limit)", "raise MAX_CALLS_PER_HOUR")
    return passed(shown)


def _leftovers(case: FolderCase[Any]) -> Examined:
    """What a crash has left would end the next run of the original at once (trap T7)."""
    found = files.stale_files(case.folder)
    if not found:
        return passed()
    return warned(
        f"a run that did not end in order has left {', '.join(found)}",
        "nothing to do: `ralph-bridge run` drops it. The original would end at once: --reset-session",
    )


def _clear_leftovers(case: FolderCase[Any]) -> str:
    """Sort what a crash has left as the next `ralph-bridge run` would, unless a loop is at work."""
    folder = case.folder
    found = files.stale_files(folder)
    if not found or at_work(folder.project) is not None:
        return ""
    try:
        with project_lock(folder.path, folder.project):
            by_hand(folder, time.time(), CrashCleared())
    except ProjectBusy:
        return ""
    return f"what a crashed run had left is cleared: {', '.join(found)}"


def second_loop(
    case: Any, programs: Sequence[str] = ("ralph_loop.sh",), words: str = "the original {} is running here"
) -> Examined:
    """Two loops in one project overwrite each other's state (trap T16).

    Args:
        case: has the `folder` of the loop's state.
        programs: that would be another loop. words: what is said of one of them.
    """
    mine = lock.holder(case.folder.path)
    for program in programs:
        if others := table.running_in(case.folder.project, program):
            pids = " ".join(map(str, others))
            return failed(f"{words.format(program)}: process {pids}", f"end it: kill {pids}")
    if mine is not None:
        return passed(f"a loop is at work: process {mine.pid}, since {timestamps.local(mine.since)}")
    return passed("no loop is at work")


def _lock_file(case: FolderCase[Any]) -> Examined:
    try:
        return passed("held by a loop" if lock.is_locked(case.folder.path) else "free")
    except ConfigurationError as error:
        return failed(str(error), "use a file system that has locks")


MACHINE: Mapping[str, DoctorCheck[FolderCase[Any]]] = {
    **checks.MACHINE,
    "folder-writable": DoctorCheck("the loop's folder can be written to", _writable, fix=_make_folders),
}
"""What is looked at first."""

STALE = DoctorCheck("nothing is left of a crashed run", _leftovers, fix=_clear_leftovers)

STATE: Mapping[str, DoctorCheck[FolderCase[Any]]] = {
    "gitignore": DoctorCheck("git ignores the loop's state", _ignored, 60, _ignore),
    "tracked-state": DoctorCheck("git does not track the loop's state", _tracked, 60),
    "status-file": DoctorCheck("status.json can be read", status_file),
    "circuit-breaker": DoctorCheck("circuit breaker", _circuit),
    "ralph-session": DoctorCheck("session", _session),
    "api-calls": DoctorCheck("calls of this hour", _api_calls),
    "loop-lock": DoctorCheck("the loop's lock can be taken", _lock_file),
    "second-loop": DoctorCheck("no other loop is running", second_loop),
    # Agents that go on working after their loop has gone (trap T2):
    "orphaned-agents": DoctorCheck(
        "no agent runs without its loop",
        lambda case: checks.orphans(case, case.folder.path),
        fix=lambda case: checks.end_orphans(case, case.folder.path),
    ),
}
"""What is looked at last."""
