"""What ``doctor`` says of a project's script: whether it meets its contract, and whether it fits its CLI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.drift import DriftStatus, examine_options
from bridge.verify.engine import verify
from bridge.verify.findings import ScriptFinished, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_PATIENCE = 40


def contract(script: Path, *, static_only: bool) -> tuple[list[str], list[str]]:
    """Verify a script; its errors and its warnings, a line each."""
    found: dict[Severity, list[str]] = {severity: [] for severity in Severity}
    for event in verify([script], timeout=_PATIENCE, static_only=static_only):
        if isinstance(event, ScriptFinished):
            for finding in event.findings:
                found[finding.severity].append(f"{finding.code}: {finding.message}")
    return found[Severity.ERROR], found[Severity.WARNING]


def options(script: Path, env: Mapping[str, str]) -> tuple[list[str], list[str], tuple[str, ...]]:
    """The short form of ``drift``: what is wrong, all that was found, and the script's first command."""
    findings, command = examine_options(script, env=env)
    wrong = [each.detail for each in findings if each.status is DriftStatus.FAILED]
    return wrong, [each.detail for each in findings], command
