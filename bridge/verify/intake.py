"""What a run is given: which scripts there are, and which of them can't be what they were taken for.

Whoever names a file means it. So a named file that is no driver and no agent is a finding, and so is whatever
bash can't even read as a script, wherever it was found: nobody can say that it is not a driver. A helper that
lies in a folder beside the drivers is only passed over.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import ConfigurationError, ScriptNotFound
from bridge.shell.script import MOST_BYTES
from bridge.verify.findings import CheckOutcome, CheckResult, Finding, ScriptFinished, Severity
from bridge.verify.registry import Problem, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridge.verify.subject import Subject

READABLE, FOR_BASH, HOOKS = "RB001", "RB002", "RB005"


class GivenScript(NamedTuple):
    """One script of a run. named: it was given itself; False when it was found in a folder that was."""

    path: Path
    named: bool


def given_in(paths: Iterable[str | os.PathLike[str]], *, meant: bool = True) -> tuple[GivenScript, ...]:
    """The scripts: files as they are given, of folders the ``*.sh`` in all depths, in order of their names.

    Hidden folders are left out, and links to folders are not followed. Nothing comes twice. A folder that holds
    no script stands for itself, so that somebody says so; a link that leads nowhere, too.

    meant: whether files are given because they are drivers or agents; else as if a folder held them.

    Raises:
        ScriptNotFound: a path isn't there.
        ConfigurationError: no path was given.
    """
    found: dict[str, GivenScript] = {}
    named = [Path(path) for path in paths]
    if not named:
        raise ConfigurationError("nothing to verify: give a script or a folder")
    for path in named:
        if path.is_dir() and (inside := sorted(_inside(path))):
            for each in inside:
                found.setdefault(os.path.abspath(each), GivenScript(each, named=False))
        elif path.exists() or path.is_symlink():
            found[os.path.abspath(path)] = GivenScript(path, named=meant or path.is_dir())
        else:
            raise ScriptNotFound(f"{path} does not exist; check the path")
    return tuple(found.values())


def _inside(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if name.endswith(".sh") and not name.startswith("."):
                path = Path(parent, name)
                if not path.is_symlink() or not path.exists() or path.resolve().is_relative_to(folder.resolve()):
                    yield path


def not_admitted(subject: Subject, others: Iterable[Path]) -> CheckResult | None:
    """Why a script that is neither driver nor agent makes the run fail; None when it may be passed over.

    It may when it was found in a folder and is a script, or when one of the others of the run names it: a helper.
    """
    if not subject.readable or subject.binary:
        return _failed(subject, READABLE, subject.reason, "a bash script that can be read")
    if subject.refused:  # another interpreter's
        what = "the first line asks for another interpreter than bash"
        return _failed(subject, FOR_BASH, what, "a driver or an agent in bash") if subject.named else None
    if subject.broken:
        findings = tuple(load()[READABLE].run(subject))
        return CheckResult(READABLE, load()[READABLE].title, CheckOutcome.FAILED, findings)
    if not subject.named or subject.hands_on or any(_uses(other, subject.path) for other in others):
        return None
    return _failed(subject, HOOKS, subject.reason, "functions named driver_*, agent_* or agent_NAME_*")


def _uses(script: Path, helper: Path) -> bool:
    """Whether a script beside a helper has its file name in its text."""
    if script == helper or script.parent.absolute() != helper.parent.absolute() or not script.is_file():
        return False
    try:
        small = script.stat().st_size <= MOST_BYTES
        return small and os.fsencode(helper.name) in script.read_bytes()
    except OSError:
        return False


def nothing_verified(script: ScriptFinished) -> ScriptFinished:
    """A script of which nothing could be told, or the last one of such a run, with a finding that says so."""
    why = script.reason or next((result.reason for result in script.results if result.reason), "")
    message = f"nothing was verified: {why or 'no check that was chosen applies to it'}"
    finding = Finding(
        code=READABLE,
        severity=Severity.ERROR,
        message=message,
        path=script.path,
        expected="a driver or an agent that can be verified",
    )
    failed = CheckResult(READABLE, load()[READABLE].title, CheckOutcome.FAILED, (finding,))
    return script._replace(results=(failed, *(result for result in script.results if result.code != READABLE)))


def _failed(subject: Subject, code: str, message: str, expected: str) -> CheckResult:
    """A check that fails by this message, whatever was selected."""
    check = load()[code]
    finding = check.finding(subject, Problem(message, expected=expected, severity=Severity.ERROR))
    return CheckResult(code, check.title, CheckOutcome.FAILED, (finding,))
