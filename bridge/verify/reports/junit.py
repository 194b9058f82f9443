"""JUnit XML as Jenkins, GitLab and their kin read it: a suite per script, a test case per check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.model import CheckOutcome, RunFinished, ScriptFinished
from bridge.verify.reports.base import fails, label, printable, rows, shown, unjudged

if TYPE_CHECKING:
    from typing import TextIO

    from bridge.verify.model import CheckResult, Event, Finding
    from bridge.verify.reports.base import ReportOptions


class JunitReport:
    """Written at the end: the counts stand before the cases.

    Findings that do not make the run fail (warnings without --strict, notes) stand in the case's output; what was
    not judged is a skipped case.
    """

    def __init__(self, out: TextIO, options: ReportOptions) -> None:
        self._out = out
        self._strict = options.strict
        self._suites: list[str] = []
        self._totals = [0, 0, 0]

    def take(self, event: Event) -> None:
        """Keep a script; write everything when the run is over."""
        if isinstance(event, ScriptFinished):
            self._suites.append(self._suite(event))
        elif isinstance(event, RunFinished):
            self._out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
            counts = _counts(*self._totals)
            self._out.write(f'<testsuites name="ralph-bridge verify" {counts} time="{event.seconds:.3f}">\n')
            self._out.writelines(self._suites)
            self._out.write("</testsuites>\n")

    def _suite(self, script: ScriptFinished) -> str:
        failing = [fails(result, strict=self._strict) for result in script.results]
        others = [result.outcome for result, bad in zip(script.results, failing, strict=True) if not bad]
        skipped = others.count(CheckOutcome.UNKNOWN) + others.count(CheckOutcome.SKIPPED)
        counts = (len(failing), sum(failing), skipped)
        self._totals = [total + count for total, count in zip(self._totals, counts, strict=True)]
        head = f'name={_attribute(shown(script.path))} {_counts(*counts)} time="{script.seconds:.3f}"'
        cases = "".join(self._case(label(script), result) for result in script.results)
        return f"  <testsuite {head}>\n{cases}  </testsuite>\n"

    def _case(self, script: str, result: CheckResult) -> str:
        name = _attribute(f"{result.code} {result.title}")
        head = f'    <testcase classname={_attribute(script)} name={name} time="{result.seconds:.3f}"'
        failing = fails(result, strict=self._strict)
        said = unjudged(result)
        if result.outcome in (CheckOutcome.SKIPPED, CheckOutcome.UNKNOWN) and not failing:
            inside = f"<skipped message={_attribute(said or result.reason)}/>"
        else:
            text = "\n".join(filter(None, (*map(_told, result.findings), said)))
            if failing:
                message = result.findings[0].message if result.findings else result.reason or result.title
                kind = _attribute(result.code)
                inside = f"<failure type={kind} message={_attribute(message)}>{_text(text)}</failure>"
            else:
                inside = f"<system-out>{_text(text)}</system-out>" if text else ""
        return f"{head}>{inside}</testcase>\n" if inside else f"{head}/>\n"


def _told(finding: Finding) -> str:
    place = f"{shown(finding.path)}:{finding.line}" if finding.line else shown(finding.path)
    told = [*([("in", finding.hook)] if finding.hook else []), *rows(finding)]
    more = "".join(f"\n  {name}: {text}" for name, text in told)
    return f"{place}: {finding.severity.value}: {finding.message}{more}"


def _counts(tests: int, failures: int, skipped: int) -> str:
    return f'tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}"'


# Not xml.sax.saxutils, which takes as long to import as all checks that run nothing take for a script.
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# A reader would turn a tab or line break in an attribute into a blank.
_ATTRIBUTE = _TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def _text(text: str) -> str:
    return printable(text).translate(_TEXT)


def _attribute(text: str) -> str:
    return f'"{printable(text).translate(_ATTRIBUTE)}"'
