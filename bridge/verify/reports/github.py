"""Annotations of a GitHub workflow: findings appear on their lines in a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.model import RunFinished, ScriptFinished, Severity
from bridge.verify.reports.base import FEW, printable, rows, shown, unjudged_by_reason
from bridge.wording import plural

if TYPE_CHECKING:
    from typing import TextIO

    from bridge.verify.model import Event, Finding
    from bridge.verify.reports.base import ReportOptions

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


class GithubReport:
    """One workflow command per finding, and per check that was not judged; the sum in plain words."""

    def __init__(self, out: TextIO, _options: ReportOptions) -> None:
        self._out = out

    def take(self, event: Event) -> None:
        """Write what the event means."""
        if isinstance(event, ScriptFinished):
            for finding in event.findings:
                self._write(
                    _COMMANDS[finding.severity], shown(finding.path), finding.line, finding.code, _said(finding)
                )
            for said, results in unjudged_by_reason(event).items():
                if len(results) > FEW:  # GitHub shows ten notices, and no more
                    text = f"{len(results)} checks {said}"
                    self._write("notice", shown(event.path), None, results[0].code, text)
                    continue
                for result in results:
                    self._write("notice", shown(event.path), None, result.code, f"{result.title}: {said}")
        elif isinstance(event, RunFinished):
            counts = ", ".join(
                plural(number, noun)
                for number, noun in ((event.errors, "error"), (event.warnings, "warning"), (event.infos, "note"))
            )
            counts += f", {event.unknown} not judged" * bool(event.unknown)
            self._out.write(f"ralph-bridge verify: {plural(event.scripts, 'script')}, {counts}\n")
        self._out.flush()

    def _write(self, command: str, file: str, line: int | None, title: str, text: str) -> None:
        # Without a line GitHub shows it on the first, and so does anybody who reads it.
        properties = f"file={_property(file)},line={line or 1},title={_property(title)}"
        self._out.write(f"::{command} {properties}::{_data(text)}\n")


def _said(finding: Finding) -> str:
    hook = f"{finding.hook}: " if finding.hook else ""
    return f"{hook}{finding.message}" + "".join(f"\n{name}: {text}" for name, text in rows(finding))


def _data(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
