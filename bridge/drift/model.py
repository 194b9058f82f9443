"""What is found out about a script and its CLI. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = ["Finding", "Report", "Status", "finding_of"]


class Status(StrEnum):
    """How a check came out.

    ``limit``: the CLI itself can't do it, whatever the script says; named, with what can be done, and no failure.
    """

    PASSED = "passed"
    LIMIT = "limit"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    Attributes:
        check: its name.
        status: see there.
        detail: what was seen.
        hint: what to do about it.
        drift: the number of a known drift (ARCHITECTURE.md lists them), or ''.
        hook: what of the script it is about, or ''.
        line: where that is defined in the script, or None.
    """

    check: str
    status: Status
    detail: str = ""
    hint: str = ""
    drift: str = ""
    hook: str = ""
    line: int | None = None

    def as_data(self) -> dict[str, Any]:
        """Give it as JSON data."""
        return {
            "check": self.check,
            "status": self.status.value,
            "detail": self.detail,
            "hint": self.hint,
            "drift": self.drift or None,
            "hook": self.hook or None,
            "line": self.line,
        }


def finding_of(data: dict[str, Any]) -> Finding:
    """Read what :meth:`Finding.as_data` wrote."""
    return Finding(
        data["check"],
        Status(data["status"]),
        data["detail"],
        data["hint"],
        data["drift"] or "",
        data["hook"] or "",
        data["line"],
    )


@dataclass(frozen=True, slots=True)
class Report:
    """Everything about one script.

    Attributes:
        script: its path.
        kind: ``driver`` or ``agent``.
        cli: the program's name, '' when the script could not be asked.
        path: where that program is; '' when it isn't installed.
        version: what it says; '' when it doesn't.
        findings: in order.
    """

    script: str
    kind: str
    cli: str = ""
    path: str = ""
    version: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def installed(self) -> bool:
        """Whether there is anything to hold the script against."""
        return bool(self.path)

    @property
    def failed(self) -> bool:
        """Whether something has to be changed."""
        return any(each.status is Status.FAILED for each in self.findings)

    def as_data(self) -> dict[str, Any]:
        """Give it as JSON data."""
        return {
            "script": self.script,
            "kind": self.kind,
            "cli": self.cli,
            "path": self.path or None,
            "version": self.version or None,
            "failed": self.failed,
            "findings": [each.as_data() for each in self.findings],
        }
