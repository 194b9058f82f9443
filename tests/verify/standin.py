"""Behaviour checks on one script, as the engine runs them, and what came of it in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridge.verify import engine
from bridge.verify.findings import Finding, ScriptFinished, Severity
from bridge.verify.registry import load
from bridge.verify.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Ran", "Subject", "load", "verify"]


class Ran(NamedTuple):
    findings: list[Finding]
    unknown: dict[str, str]

    @property
    def codes(self) -> set[str]:
        """The checks that name something, in findings of their own or as evidence of another's."""
        evidence = {text.partition(":")[0] for finding in self.findings for text in finding.evidence}
        return {finding.code for finding in self.findings} | evidence

    @property
    def alarms(self) -> list[Finding]:
        return [f for f in self.findings if f.severity is not Severity.INFO]


BEHAVIOUR = sorted(code for code, check in load().items() if check.phase == "behaviour")


def verify(path: Path, codes: Sequence[str] = ()) -> Ran:
    """Every check (or those named) on one script."""
    for event in engine.verify([path], select=tuple(codes)):
        if isinstance(event, ScriptFinished):
            for finding in event.findings:  # one with evidence has the worst severity of all
                check = load()[finding.code]
                told = {check.severity, *check.documentation.also}
                assert finding.evidence or finding.severity in told, finding
            unknown = {r.code: r.reason for r in event.results if r.unjudged}
            return Ran(list(event.findings), unknown)
    raise AssertionError("no event for the script")
