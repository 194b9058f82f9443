"""Checks of a script and of the CLI that it starts, for drivers and agents alike."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING

from bridge.errors import BridgeError, ProgramNotFound
from bridge.setups.diagnosis import Answer, NotLookedAt, Place, ask, failed, passed, warned

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["contract", "find", "installed", "new_enough", "options"]

_VERSION = re.compile(r"(?<![\d.])(\d+)\.(\d+)(?:\.(\d+))?")
_MOST = 5


def contract(script: Path, name: str) -> Answer:
    """The script meets the contract.

    Args:
        script: the driver or the agent.
        name: as people in the project would write its path.
    """
    from bridge.verify.engine import verify
    from bridge.verify.model import ScriptFinished, Severity

    errors: list[str] = []
    warnings: list[str] = []
    for event in verify([script], timeout=40):
        if isinstance(event, ScriptFinished):
            for finding in event.findings:
                target = {Severity.ERROR: errors, Severity.WARNING: warnings}.get(finding.severity)
                if target is not None:
                    target.append(f"{finding.code}: {finding.message}")
    hint = f"ralph-bridge verify {name}"
    if errors:
        return failed("\n".join(errors[:_MOST]), hint)
    return warned("\n".join(warnings[:_MOST]), hint) if warnings else passed(name)


def find(binary: str, place: Place) -> str | None:
    """Return the path of the CLI where a loop in the project would find it, or None."""
    path = os.path.join(place.project, binary) if "/" in binary else binary
    return shutil.which(path, path=place.env.get("PATH"))


def installed(binary: str, place: Place) -> Answer:
    """The CLI is installed where a loop looks for it."""
    found = find(binary, place)
    return failed(f"{binary} is not on PATH", _install(binary, place)) if found is None else passed(found)


def new_enough(binary: str, least: str | None, place: Place) -> Answer:
    """The CLI is as new as its script needs it, as far as both say.

    Raises:
        NotLookedAt: it is not installed.
    """
    found = find(binary, place)
    if found is None:
        raise NotLookedAt(f"{binary} is not on PATH")
    status, text = ask([found, "--version"], place, timeout=10)
    by_hand = f"run {binary} --version by hand"
    if status is None:
        return warned(f"{binary} --version takes more than 10 s", by_hand)
    seen = _VERSION.search(text)
    if status != 0 or seen is None:
        line = text.splitlines()[0][:100] if text else "nothing"
        return warned(f"{binary} --version says {line!r} (status {status})", by_hand)
    if least is None or (wanted := _VERSION.search(least)) is None:
        return passed(seen[0])
    if _numbers(seen) < _numbers(wanted):
        return failed(f"{seen[0]}, older than {least}", f"update {binary}")
    return passed(f"{seen[0]} (at least {least})")


def options(script: Path, name: str, binary: str, place: Place) -> Answer:
    """The CLI knows every option that the script passes: the short form of ``ralph-bridge drift``.

    Raises:
        NotLookedAt: the CLI is not installed.
    """
    from bridge.drift import DriftStatus, examine_options

    if find(binary, place) is None:
        raise NotLookedAt("the CLI is not on PATH")
    findings = examine_options(script, env=place.env)
    wrong = [each.detail for each in findings if each.status is DriftStatus.FAILED]
    if wrong:
        return failed("\n".join(wrong[:_MOST]), f"ralph-bridge drift --run {name}")
    return passed("; ".join(each.detail for each in findings))


def _install(binary: str, place: Place) -> str:
    from bridge.process.argv import resolve

    try:
        resolve([binary], cwd=place.project, env=place.env)
    except ProgramNotFound as error:
        return str(error).partition("next: ")[2]
    except BridgeError:
        pass
    return f"install {binary}"


def _numbers(match: re.Match[str]) -> tuple[int, int, int]:
    return int(match[1]), int(match[2]), int(match[3] or 0)
