"""A subject as small as the probe and the behaviour checks need it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.verify import registry
from bridge.verify.model import Finding, Severity
from bridge.verify.probe import release
from bridge.verify.registry import CHECKS

if TYPE_CHECKING:
    from collections.abc import Collection

CHECKS_FOLDER = Path(registry.__file__).parent / "checks"


class Subject:
    facts: Any = None
    contract: Any = None
    bash = "bash"

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.name = self.path.stem
        text = self.path.read_text()
        self.kind = "agent" if "agent_" in text and "driver_name" not in text else "driver"

    def finding(
        self,
        code: str,
        message: str,
        *,
        line: int | None = None,
        hook: str | None = None,
        expected: str = "",
        hint: str = "",
        severity: Severity | None = None,
    ) -> Finding:
        return Finding(code, severity or CHECKS[code].severity, message, self.path, line, hook, expected, hint)


class Ran(NamedTuple):
    findings: list[Finding]
    unknown: dict[str, str]

    @property
    def codes(self) -> set[str]:
        return {finding.code for finding in self.findings}

    @property
    def alarms(self) -> list[Finding]:
        return [f for f in self.findings if f.severity is not Severity.INFO]


def load() -> None:
    """All behaviour checks into the registry."""
    for module in sorted(CHECKS_FOLDER.glob("behaviour_*.py")):
        import_module(f"bridge.verify.checks.{module.stem}")


def verify(path: Path, codes: Collection[str] | None = None) -> Ran:
    """Every behaviour check that applies, in order of its number; what can't be told is noted."""
    from bridge.errors import BridgeError

    load()
    subject = Subject(path)
    findings, unknown = [], {}
    try:
        for code, one in sorted(CHECKS.items()):
            if one.phase != "behaviour" or subject.kind not in one.applies or (codes and code not in codes):
                continue
            try:
                findings += list(one.run(subject))
            except BridgeError as error:
                unknown[code] = str(error)
    finally:
        release(subject)
    return Ran(findings, unknown)
