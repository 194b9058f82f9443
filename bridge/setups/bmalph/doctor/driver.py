"""Checks of the driver and of the CLI that it starts."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from bridge.errors import BridgeError
from bridge.setups.bmalph.doctor.model import Answer, Case, NotLookedAt, ask, failed, passed, warned

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["available", "contract", "drift", "loads", "version"]

_VERSION = re.compile(r"(?<![\d.])(\d+)\.(\d+)(?:\.(\d+))?")


def loads(case: Case) -> Answer:
    """The driver is there and its required hooks answer."""
    try:
        with case.load_driver() as driver:
            return passed(f"{driver.display_name()}: {case.folder.name_of(driver.script)}")
    except BridgeError as error:
        what, _, next_step = str(error).partition("\n  next: ")
        return failed(what, next_step or "name another with PLATFORM_DRIVER, or correct it (ralph-bridge verify)")


def contract(case: Case) -> Answer:
    """The driver is to contract."""
    from bridge.verify.engine import verify
    from bridge.verify.model import ScriptFinished, Severity

    script = _script(case)
    errors: list[str] = []
    warnings: list[str] = []
    for event in verify([script], timeout=40):
        if isinstance(event, ScriptFinished):
            for finding in event.findings:
                target = {Severity.ERROR: errors, Severity.WARNING: warnings}.get(finding.severity)
                if target is not None:
                    target.append(f"{finding.code}: {finding.message}")
    hint = f"ralph-bridge verify {case.folder.name_of(script)}"
    if errors:
        return failed("\n".join(errors[:5]), hint)
    return warned("\n".join(warnings[:5]), hint) if warnings else passed(case.folder.name_of(script))


def available(case: Case) -> Answer:
    """The CLI is installed where the loop looks for it."""
    binary, _, found = _cli(case)
    if found is None:
        return failed(f"{binary} is not on PATH", _install(binary, case))
    return passed(found)


def version(case: Case) -> Answer:
    """The CLI is as new as the driver needs it."""
    binary, least, found = _cli(case)
    if found is None:
        raise NotLookedAt(f"{binary} is not on PATH")
    if (
        case.settings.platform_driver == "claude-code"
        and case.settings.sources["claude_min_version"].kind != "default"
    ):
        least = case.settings.claude_min_version
    status, text = ask([found, "--version"], case, timeout=10)
    if status is None:
        return warned(f"{binary} --version takes more than 10 s", f"run {binary} --version by hand")
    seen = _VERSION.search(text)
    if status != 0 or seen is None:
        line = text.splitlines()[0][:100] if text else "nothing"
        return warned(f"{binary} --version says {line!r} (status {status})", f"run {binary} --version by hand")
    if least is None or (wanted := _VERSION.search(least)) is None:
        return passed(seen[0])
    if _numbers(seen) < _numbers(wanted):
        return failed(f"{seen[0]}, older than {least}", f"update {binary}")
    return passed(f"{seen[0]} (at least {least})")


def drift(case: Case) -> Answer:
    """The CLI knows every option that the driver passes: the short form of ``ralph-bridge drift``."""
    from bridge.drift import Status, short

    _, _, found = _cli(case)
    if found is None:
        raise NotLookedAt("the CLI is not on PATH")
    script = _script(case)
    findings = short(script, env=case.env)
    wrong = [each.detail for each in findings if each.status is Status.FAILED]
    if wrong:
        return failed("\n".join(wrong[:5]), f"ralph-bridge drift --run {case.folder.name_of(script)}")
    return passed("; ".join(each.detail for each in findings))


def _script(case: Case) -> Path:
    try:
        return case.script
    except BridgeError as error:
        raise NotLookedAt("there is no such driver") from error


def _cli(case: Case) -> tuple[str, str | None, str | None]:
    """Return the CLI's name, the least version, and its path."""
    try:
        with case.load_driver() as driver:
            binary, least = driver.cli_binary(), driver.min_version()
    except BridgeError as error:
        raise NotLookedAt("the driver can't be loaded") from error
    path = str(case.folder.project / binary) if "/" in binary else binary
    return binary, least, shutil.which(path, path=case.env.get("PATH"))


def _install(binary: str, case: Case) -> str:
    from bridge.errors import ProgramNotFound
    from bridge.loop.program import resolve

    try:
        resolve([binary], cwd=case.folder.project, env=case.env)
    except ProgramNotFound as error:
        return str(error).partition("next: ")[2]
    except BridgeError:
        pass
    return f"install {binary}"


def _numbers(match: re.Match[str]) -> tuple[int, int, int]:
    return int(match[1]), int(match[2]), int(match[3] or 0)
