"""Files: sourcing makes none, and hooks neither leave any behind nor touch those of the project."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.verify.checks.behaviour_loading import BOTH, said
from bridge.verify.model import Severity
from bridge.verify.probe import AgentProbe
from bridge.verify.recordings import recordings
from bridge.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.model import Finding
    from bridge.verify.probe.scratch import FileChange
    from bridge.verify.subject import Subject

__all__: list[str] = []

READERS = ("driver_extract_session_id_from_output", "driver_fallback_session_id", "agent_extract_response")


def _where(moved: FileChange) -> str:
    return {"home": "~/", "tmp": "$TMPDIR/", "project": ""}[moved.folder] + moved.name


def _severity(moved: FileChange) -> Severity:
    if moved.how != "made":
        return Severity.ERROR
    return Severity.INFO if moved.folder == "home" else Severity.WARNING


@check("RB063", "Sourcing it makes no files", applies=BOTH, phase="behaviour", severity=Severity.WARNING)
def loading_makes_no_files(subject: Subject) -> Iterator[Finding]:
    """A script is sourced by whoever wants to know something about it, in any project and as often as they like.
    Files that it makes then lie about in folders where no agent ever ran, and are committed with the next work.

    Bad::

        MY_LOG="my-driver.log"; : > "$MY_LOG"

    Good::

        driver_build_command() { echo "built" >> "${RALPH_DIR:-.ralph}/my-driver.log"; ...; }
    """
    probe = subject.probe
    probe.loading()  # the files are noted on the way
    for moved in (moved for hook, moved in probe.file_changes if hook == "source"):
        yield subject.finding(
            "RB063",
            f"sourcing it has {moved.how} the file {said(_where(moved))}",
            expected="only functions and variables",
            hint="do it in the hook that needs it",
            severity=max(_severity(moved), Severity.WARNING, key=list(Severity)[::-1].index),
        )


@check("RB064", "Hooks leave files as they are", applies=BOTH, phase="behaviour")
def hooks_leave_files(subject: Subject) -> Iterator[Finding]:
    """The prompt and the output belong to the loop, which reads them again: a hook that edits or removes one
    changes the next iteration. A temporary file that nobody removes is one more with every iteration; one in the
    project is taken for a result and committed.

    Bad::

        sed -i '/^$/d' "$1"; tmp=$(mktemp); cp "$1" "$tmp"

    Good::

        text=$(sed '/^$/d' "$1")
    """
    probe = subject.probe
    probe.watched()
    if isinstance(probe, AgentProbe):
        probe.run_all()
    told: set[tuple[str, str]] = set()
    for hook, moved in probe.file_changes:
        loops_own = moved.how == "made" and moved.folder == "project" and moved.name.startswith(".ralph/")
        if hook == "source" or loops_own or (hook, moved.how) in told:
            continue
        told.add((hook, moved.how))
        yield subject.finding(
            "RB064",
            f"{hook} has {'left behind' if moved.how == 'made' else moved.how} the file {said(_where(moved))}",
            hook=hook,
            expected="files as they were",
            hint="remove temporary files in the function that made them" if moved.how == "made" else "",
            severity=_severity(moved),
        )
    for hook in READERS:
        if probe.own(hook):
            data = b"npm warn: no JSON \r\n\n" + b"".join(recordings()["claude"].lines) + b"the end"
            path = probe.scratch.file("kept.log", data)
            probe.call(hook, path)
            if not os.path.exists(path):
                yield subject.finding("RB064", f"{hook} has removed the file that it is given", hook=hook)
            elif Path(path).read_bytes() != data:
                yield subject.finding("RB064", f"{hook} has changed the file that it is given", hook=hook)
