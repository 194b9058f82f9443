"""Files that are made, changed or removed when a script is sourced and when its hooks are called."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.verify.checks import distinct, excerpt
from bridge.verify.checks.shell import run_all
from bridge.verify.findings import ERROR, INFO, WARNING, Aspect, Harm, Severity
from bridge.verify.probe.commands import FILES, Build
from bridge.verify.recordings import recordings
from bridge.verify.registry import Problem, behaviour

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.probe.scratch import FileChange
    from bridge.verify.subject import Subject


def _path(moved: FileChange) -> str:
    return {"home": "~/", "tmp": "$TMPDIR/"}.get(moved.folder, "") + moved.name


def _severity(moved: FileChange) -> Severity:
    if moved.how != "made":
        return ERROR
    return INFO if moved.folder == "home" else WARNING


def _is_message(subject: Subject, hook: str, moved: FileChange) -> bool:
    """The command names this file of the driver's own: the prompt and its context go to the CLI in it."""
    if hook != "driver_build_command" or subject.kind == "agent" or moved.name in FILES:
        return False
    return any(moved.name in value for value in subject.driver.argv(Build()) or [])


@behaviour("RB063", "Sourcing it makes no files", Harm.LITTERS, expected="only functions and variables")
def loading_makes_no_files(subject: Subject) -> Iterator[Problem]:
    """A script is sourced by whoever wants to know something about it, in any project and as often as they like.
    Files that it makes then lie about in folders where no agent ever ran, and are committed with the next work.

    Error: a file of others is changed or removed.

    Bad:  MY_LOG="my-driver.log"; : > "$MY_LOG"
    Good: driver_build_command() { echo "built" >> "${RALPH_DIR:-.ralph}/my-driver.log"; ...; }
    """
    subject.probe.loading()  # the files are noted on the way
    for hook, moved in subject.probe.file_changes:
        if hook == "source":
            yield Problem(
                f"sourcing it has {moved.how} the file {excerpt(_path(moved))}",
                hint="do it in the hook that needs it",
                severity=WARNING if moved.how == "made" else ERROR,
            )


_READERS = ("driver_extract_session_id_from_output", "driver_fallback_session_id", "agent_extract_response")


@behaviour("RB064", "Hooks leave files as they are", Harm.LOSES_WORK)
def hooks_leave_files(subject: Subject) -> Iterator[Problem]:
    """The prompt and the output belong to the loop, which reads them again: a hook that edits or removes one
    changes the next iteration. A temporary file that nobody removes is one more with every iteration; one in the
    project is taken for a result and committed.

    Warning: a file that is left behind.
    Info: left behind below HOME.

    Bad:  sed -i '/^$/d' "$1"; tmp=$(mktemp); cp "$1" "$tmp"
    Good: text=$(sed '/^$/d' "$1")
    """
    probe = subject.probe
    run_all(subject)
    for hook, moved in distinct(_moved(subject), lambda each: (each[0], each[1].how)):
        made = moved.how == "made"
        yield Problem(
            f"{hook} has {'left behind' if made else moved.how} the file {excerpt(_path(moved))}",
            hook=hook,
            expected="files as they were",
            hint="remove temporary files in the function that made them" if made else "",
            severity=WARNING if _is_message(subject, hook, moved) else _severity(moved),
            about=(Aspect.REMOVED,) if moved.how == "removed" else (),
        )
    for hook in filter(probe.own, _READERS):
        data = b"npm warn: no JSON \r\n\n" + b"".join(recordings()["claude"].lines[:2]) + b"the end"
        path = probe.scratch.file("kept.log", data)
        probe.call(hook, path)
        if not os.path.exists(path):
            yield Problem(f"{hook} has removed the file that it is given", hook=hook, about=(Aspect.REMOVED,))
        elif Path(path).read_bytes() != data:
            yield Problem(f"{hook} has changed the file that it is given", hook=hook)


def _moved(subject: Subject) -> Iterator[tuple[str, FileChange]]:
    """Files that hooks have made, changed or removed, but for those of the loop that a hook may write."""
    for hook, moved in subject.probe.file_changes:
        if not moved.folder and not os.path.exists(moved.name):
            continue  # it was somebody else's
        own = moved.how == "made" or _is_message(subject, hook, moved)
        loops_own = own and moved.folder == "project" and moved.name.startswith(".ralph/")
        if hook != "source" and not loops_own:
            yield hook, moved
