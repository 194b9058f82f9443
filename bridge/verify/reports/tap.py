r"""Test Anything Protocol, version 14: one test point per script and check, what went wrong in a YAML block.

Readers of version 13 understand it as well. In a description, ``#`` would start a directive; version 14 has an
escape for it that readers of 13 don't know, so it is spelled out as ``\x23``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bridge.verify.model import CheckOutcome, RunFinished, RunStarted, ScriptFinished, Severity
from bridge.verify.reports.base import fails, label, printable, shown, unjudged

if TYPE_CHECKING:
    from typing import TextIO

    from bridge.verify.model import CheckResult, Event, Finding
    from bridge.verify.reports.base import ReportOptions


class TapReport:
    """Points are written when their script is done, the plan at the end.

    A point that does not make the run fail (warnings without --strict, what was not judged) is ``not ok``
    with ``TODO``, which harnesses show and do not count; so a harness and the exit code say the same.
    """

    def __init__(self, out: TextIO, options: ReportOptions) -> None:
        self._out = out
        self._strict = options.strict
        self._points = 0

    def take(self, event: Event) -> None:
        """Write what the event means."""
        if isinstance(event, RunStarted):
            self._out.write("TAP version 14\n")
        elif isinstance(event, ScriptFinished):
            if not event.results:
                self._out.write(f"# {_escaped(shown(event.path))}: no check applies ({event.kind})\n")
            for result in event.results:
                self._point(label(event), result)
        elif isinstance(event, RunFinished):
            self._out.write(f"1..{self._points}\n" + f"# {event.unknown} not judged\n" * bool(event.unknown))
        self._out.flush()

    def _point(self, script: str, result: CheckResult) -> None:
        self._points += 1
        bad = result.outcome in (CheckOutcome.FAILED, CheckOutcome.UNKNOWN)
        directive = ""
        if result.outcome is CheckOutcome.SKIPPED:
            directive = f" # SKIP {_escaped(result.reason)}".rstrip()
        elif bad and not fails(result, strict=self._strict):
            why = unjudged(result) if result.outcome is CheckOutcome.UNKNOWN else _worst(result)
            directive = f" # TODO {_escaped(why)}".rstrip()
        about = _escaped(f"{script} {result.code} {result.title}")
        self._out.write(f"{'not ok' if bad else 'ok'} {self._points} - {about}{directive}\n")
        if result.findings:
            self._out.write("  ---\n  findings:\n")
            for finding in result.findings:
                self._finding(finding)
            self._out.write("  ...\n")
        if result.findings and (said := unjudged(result)):
            self._out.write(f"# {_escaped(f'{result.code} {said}')}\n")

    def _finding(self, finding: Finding) -> None:
        # A JSON string in ASCII is a double-quoted YAML string, whatever it holds.
        fields = {
            "message": finding.message,
            "severity": finding.severity.value,
            "file": shown(finding.path),
            "line": finding.line,
            "hook": finding.hook,
            "expected": finding.expected,
            "also": "\n".join(finding.evidence),
            "hint": finding.hint,
            "mend": finding.fix.title if finding.fix else "",
        }
        mark = "-"
        for name, value in fields.items():
            if value:
                shown_value = json.dumps(printable(value) if isinstance(value, str) else value)
                self._out.write(f"    {mark} {name}: {shown_value}\n")
                mark = " "


def _worst(result: CheckResult) -> str:
    severities = {finding.severity for finding in result.findings}
    return next(severity.value for severity in Severity if severity in severities)


def _escaped(text: str) -> str:
    one_line = " ".join(printable(text).split())
    return one_line.replace("#", "\\x23")
