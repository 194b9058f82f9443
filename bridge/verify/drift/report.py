"""What is found out about a script and its CLI, and that as Markdown: an issue's worth of text. Pure."""

from __future__ import annotations

import os
from dataclasses import asdict, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

from bridge.base.records import dataclass
from bridge.base.wording import plural
from bridge.verify.reports.people import cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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

    detail, hint: what was seen, and what to do about it.
    drift: the number of a known drift (README.md beside this file lists them), or ''.
    hook, line: the script's hook that it is about, and where that is defined.
    located: the detail says already where in the script it is.
    """

    check: str
    detail: str = ""
    hint: str = ""
    drift: str = ""
    hook: str = ""
    line: int | None = None
    status: DriftStatus = field(kw_only=True)
    located: bool = field(default=False, kw_only=True)

    def as_data(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "status": self.status.value,
            "detail": self.detail,
            "hint": self.hint,
            "drift": self.drift or None,
            "hook": self.hook or None,
            "line": self.line,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        texts = {"drift": data["drift"] or "", "hook": data["hook"] or ""}
        return cls(**{**data, **texts, "status": DriftStatus(data["status"])})


passed = partial(DriftFinding, status=DriftStatus.PASSED)
limit = partial(DriftFinding, status=DriftStatus.LIMIT)
"""What the CLI itself can't do."""
warning = partial(DriftFinding, status=DriftStatus.WARNING)
failed = partial(DriftFinding, status=DriftStatus.FAILED)
"""For which the script has to be changed."""
skipped = partial(DriftFinding, status=DriftStatus.SKIPPED)


@dataclass(frozen=True, slots=True)
class RecordedFact:
    """What was recorded of a CLI at its pin, what a newer one makes of it, and what would check it otherwise."""

    text: str
    state: Literal["holds", "changed", "not re-checked"]
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftReport:
    """Everything about one script.

    cli: the program's name, '' when the script could not be asked.
    path, version: of that program; '' when it isn't installed, or doesn't tell.
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
        return bool(self.recorded)

    @property
    def installed(self) -> bool:
        return bool(self.path)

    @property
    def failed(self) -> bool:
        return any(each.status is DriftStatus.FAILED for each in self.findings)

    def as_data(self) -> dict[str, Any]:
        return {
            "script": self.script,
            "kind": self.kind,
            "cli": self.cli,
            "path": self.path or None,
            "version": self.version or None,
            "failed": self.failed,
            "pin": self.pin or None,
            "newer": self.newer,
            "recorded": [asdict(each) for each in self.recorded],
            "findings": [each.as_data() for each in self.findings],
        }


# -- as Markdown ---------------------------------------------------------------------------------------------

_HEADINGS = {
    DriftStatus.FAILED: "The script has to be changed",
    DriftStatus.WARNING: "To look at",
    DriftStatus.LIMIT: "What the CLI itself can't do",
    DriftStatus.SKIPPED: "Not compared",
}
_STATES = {"changed": "may have changed", "not re-checked": "were not re-checked", "holds": "hold"}


def markdown(reports: Sequence[DriftReport], *, run: bool) -> str:
    """A table of all reports, then of each what did not pass, and what was recorded where its CLI is newer."""
    return "\n".join((*_overview(reports, run=run), *(line for each in reports for line in _report(each)))) + "\n"


def _title(reports: Sequence[DriftReport]) -> str:
    drifted = [_name(each) for each in reports if each.failed]
    newer = sum(each.newer for each in reports)
    since = f"; {plural(newer, 'script')} with a CLI newer than what was recorded" if newer else ""
    return (f"drifted: {', '.join(drifted)}" if drifted else "nothing drifted") + since


def _overview(reports: Sequence[DriftReport], *, run: bool) -> Iterator[str]:
    yield from (f"# ralph-bridge drift: {_title(reports)}", "")
    what = "run, offline, against a scripted model" if run else "asked for its version and its options"
    yield from (f"Each CLI was {what}.", "", "| script | CLI | recorded | here | |", "|---|---|---|---|---|")
    for each in reports:
        cells = (_name(each), os.path.basename(each.cli), each.pin or "-", each.version or "-", _outcome(each))
        yield f"| {' | '.join(map(cell, cells))} |"
    if any(each.newer for each in reports):
        yield from ("", "vendor/README.md says how a pin is moved.")


def _name(report: DriftReport) -> str:
    return f"{report.kind} {os.path.basename(report.script).removesuffix('.sh')}"


def _outcome(report: DriftReport) -> str:
    if not report.installed:
        return "drifted" if report.failed else "not installed"
    outcome = "drifted" if report.failed else "in step"
    return f"{outcome}, newer" if report.newer else outcome


def _report(report: DriftReport) -> Iterator[str]:
    if not (report.failed or report.newer or any(each.status is DriftStatus.WARNING for each in report.findings)):
        return
    yield from ("", f"## {cell(_name(report))}: {cell(os.path.basename(report.cli))} {cell(report.version)}")
    for status, heading in _HEADINGS.items():
        found = [each for each in report.findings if each.status is status]
        yield from _section(heading, [line for each in found for line in _finding(each)])
    for state, heading in _STATES.items():
        facts = [_fact(each) for each in report.recorded if each.state == state]
        yield from _section(f"Facts recorded at {cell(report.pin)} that {heading}", facts)


def _section(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"**{heading}**", "", *lines)


def _finding(finding: DriftFinding) -> Iterator[str]:
    location = f" (`{finding.hook}`, line {finding.line})" if finding.hook and finding.line else ""
    known = f" ({finding.drift})" if finding.drift else ""
    yield f"- {finding.check}: {cell(finding.detail)}{known}{location}"
    if finding.hint:
        yield f"  - next: {cell(finding.hint)}"


def _fact(fact: RecordedFact) -> str:
    return f"- {cell(fact.text)}" + (f"; next: {cell(fact.by)}" if fact.by else "")
