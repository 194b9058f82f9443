"""Reports as Markdown: an issue's worth of text. Pure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.drift.model import DriftStatus
from bridge.verify.reports.people import cell
from bridge.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bridge.drift.model import DriftFinding, DriftReport, RecordedFact

_HEADINGS = {
    DriftStatus.FAILED: "The script has to be changed",
    DriftStatus.WARNING: "To look at",
    DriftStatus.LIMIT: "What the CLI itself can't do",
    DriftStatus.SKIPPED: "Not compared",
}
_STATES = {"changed": "may have changed", "not re-checked": "were not re-checked", "holds": "hold"}


def markdown(reports: Sequence[DriftReport], *, run: bool) -> str:
    """Give all reports: a table, then of each what did not pass, and what was recorded where its CLI is newer."""
    return "\n".join((*_overview(reports, run=run), *(line for each in reports for line in _report(each)))) + "\n"


def title(reports: Iterable[DriftReport]) -> str:
    """Say in one line what came out."""
    reports = list(reports)
    drifted = [_name(each) for each in reports if each.failed]
    newer = sum(each.newer for each in reports)
    since = f"; {plural(newer, 'script')} with a CLI newer than what was recorded" if newer else ""
    return (f"drifted: {', '.join(drifted)}" if drifted else "nothing drifted") + since


def _overview(reports: Sequence[DriftReport], *, run: bool) -> Iterator[str]:
    yield from (f"# ralph-bridge drift: {title(reports)}", "")
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
        if found:
            yield from ("", f"**{heading}**", "", *(line for each in found for line in _finding(each)))
    for state, heading in _STATES.items():
        facts = [each for each in report.recorded if each.state == state]
        if facts:
            yield from ("", f"**Facts recorded at {cell(report.pin)} that {heading}**", "", *map(_fact, facts))


def _finding(finding: DriftFinding) -> Iterator[str]:
    place = f" (`{finding.hook}`, line {finding.line})" if finding.hook and finding.line else ""
    known = f" ({finding.drift})" if finding.drift else ""
    yield f"- {finding.check}: {cell(finding.detail)}{known}{place}"
    if finding.hint:
        yield f"  - next: {cell(finding.hint)}"


def _fact(fact: RecordedFact) -> str:
    return f"- {cell(fact.text)}" + (f"; next: {cell(fact.by)}" if fact.by else "")
