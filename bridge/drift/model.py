"""What is found out about a script and its CLI. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Literal, Self


class DriftStatus(StrEnum):
    """How a comparison came out.

    ``limit``: the CLI itself can't do it, whatever the script says; reported with what can be done, and no failure.
    """

    PASSED = "passed"
    LIMIT = "limit"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class DriftFinding:
    """What one comparison found.

    Attributes:
        check: its name.
        status: how it came out.
        detail: what was seen.
        hint: what to do about it.
        drift: the number of a known drift (README.md beside this file lists them), or ''.
        hook: the script's hook that it is about, or ''.
        line: where that is defined in the script, or None.
    """

    check: str
    status: DriftStatus
    detail: str = ""
    hint: str = ""
    drift: str = ""
    hook: str = ""
    line: int | None = None

    def as_data(self) -> dict[str, Any]:
        """Give it as JSON data."""
        return asdict(self) | {"status": self.status.value, "drift": self.drift or None, "hook": self.hook or None}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        """Read what :meth:`as_data` wrote."""
        texts = {name: data[name] or "" for name in ("detail", "hint", "drift", "hook")}
        return cls(data["check"], DriftStatus(data["status"]), **texts, line=data["line"])


def passed(check: str, detail: str = "", hint: str = "", drift: str = "") -> DriftFinding:
    """Make a finding that is fine."""
    return DriftFinding(check, DriftStatus.PASSED, detail, hint, drift)


def limit(check: str, detail: str, hint: str = "", drift: str = "") -> DriftFinding:
    """Make a finding about what the CLI itself can't do."""
    return DriftFinding(check, DriftStatus.LIMIT, detail, hint, drift)


def warning(check: str, detail: str, hint: str = "", drift: str = "") -> DriftFinding:
    """Make a finding that somebody should look at."""
    return DriftFinding(check, DriftStatus.WARNING, detail, hint, drift)


def failed(check: str, detail: str, hint: str = "", drift: str = "") -> DriftFinding:
    """Make a finding for which the script has to be changed."""
    return DriftFinding(check, DriftStatus.FAILED, detail, hint, drift)


def skipped(check: str, detail: str, hint: str = "") -> DriftFinding:
    """Make a finding about what could not be compared."""
    return DriftFinding(check, DriftStatus.SKIPPED, detail, hint)


@dataclass(frozen=True, slots=True)
class RecordedFact:
    """What was recorded of a CLI at its pinned version, and what a newer one makes of it.

    Attributes:
        text: the fact.
        state: ``holds``, ``changed`` or ``not re-checked``.
        by: what would check it, where it was not.
    """

    text: str
    state: Literal["holds", "changed", "not re-checked"]
    by: str = ""


@dataclass(frozen=True, slots=True)
class DriftReport:
    """Everything about one script.

    Attributes:
        script: its path.
        kind: ``driver`` or ``agent``.
        cli: the program's name, '' when the script could not be asked.
        path: where that program is; '' when it isn't installed.
        version: of the program; '' when it doesn't tell.
        findings: in order.
        pin: the version of it that was recorded; '' when none was.
        recorded: of a CLI that is newer than that: what becomes of the recorded facts; else nothing.
    """

    script: str
    kind: str
    cli: str = ""
    path: str = ""
    version: str = ""
    findings: tuple[DriftFinding, ...] = ()
    pin: str = ""
    recorded: tuple[RecordedFact, ...] = ()

    @property
    def newer(self) -> bool:
        """Whether the CLI is newer than what was recorded."""
        return bool(self.recorded)

    @property
    def installed(self) -> bool:
        """Whether there is a CLI to compare the script with."""
        return bool(self.path)

    @property
    def failed(self) -> bool:
        """Whether the script has to be changed."""
        return any(each.status is DriftStatus.FAILED for each in self.findings)

    def as_data(self) -> dict[str, Any]:
        """Give it as JSON data."""
        findings = [each.as_data() for each in self.findings]
        named = {"script": self.script, "kind": self.kind, "cli": self.cli}
        about = {"path": self.path or None, "version": self.version or None, "failed": self.failed}
        since = {"pin": self.pin or None, "newer": self.newer, "recorded": [asdict(each) for each in self.recorded]}
        return {**named, **about, **since, "findings": findings}
