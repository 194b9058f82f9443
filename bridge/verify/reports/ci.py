"""For CI servers: annotations of GitHub, JUnit XML, and LCOV for what shows coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.base.wording import plural
from bridge.verify.findings import CheckOutcome, Severity
from bridge.verify.reports import (
    FEW,
    Report,
    counts,
    described,
    fails,
    inline,
    label,
    printable,
    rows,
    shown,
    unjudged,
    unjudged_by_reason,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from bridge.verify.findings import CheckResult, Coverage, Finding, RunFinished, ScriptFinished
    from bridge.verify.reports import ReportOptions

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


class GithubReport(Report):
    """One workflow command per finding, and per check that was not judged; the sum in plain words."""

    def script(self, script: ScriptFinished) -> None:
        for finding in script.findings:
            hook = f"{finding.hook}: " if finding.hook else ""
            command, text = _COMMANDS[finding.severity], hook + described(finding)
            self._write(command, shown(finding.path), finding.line, finding.code, text)
        for why, results in unjudged_by_reason(script).items():
            texts = [(result.code, f"{result.title}: {why}") for result in results]
            if len(results) > FEW:  # GitHub shows ten notices, and no more
                texts = [(results[0].code, f"{len(results)} checks {why}")]
            for code, text in texts:
                self._write("notice", shown(script.path), None, code, text)

    def end(self, run: RunFinished) -> None:
        self._out.write(f"ralph-bridge verify: {plural(run.scripts, 'script')}, {counts(run)}\n")

    def _write(self, command: str, file: str, line: int | None, title: str, text: str) -> None:
        # Without a line GitHub shows it on the first, and so does anybody who reads it.
        properties = f"file={_property(file)},line={line or 1},title={_property(title)}"
        self._out.write(f"::{command} {properties}::{_data(text)}\n")


def _data(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


class JunitReport(Report):
    """A suite per script, a test case per check, written at the end: the counts stand before the cases.

    Findings that do not make the run fail (warnings without --strict, notes) stand in the case's output; what was
    not judged is a skipped case.
    """

    def __init__(self, out: TextIO, options: ReportOptions) -> None:
        super().__init__(out, options)
        self._suites: list[str] = []
        self._totals = [0, 0, 0]

    def script(self, script: ScriptFinished) -> None:
        failing = [fails(result, strict=self._options.strict) for result in script.results]
        others = [result.outcome for result, bad in zip(script.results, failing, strict=True) if not bad]
        skipped = others.count(CheckOutcome.UNKNOWN) + others.count(CheckOutcome.SKIPPED)
        numbers = (len(failing), sum(failing), skipped)
        self._totals = [total + number for total, number in zip(self._totals, numbers, strict=True)]
        head = f'name={_attribute(shown(script.path))} {_attributes(*numbers)} time="{script.seconds:.3f}"'
        cases = "".join(map(self._case, [label(script)] * len(failing), script.results, failing))
        self._suites.append(f"  <testsuite {head}>\n{cases}  </testsuite>\n")

    def end(self, run: RunFinished) -> None:
        head = f'name="ralph-bridge verify" {_attributes(*self._totals)} time="{run.seconds:.3f}"'
        self._out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {head}>\n')
        self._out.writelines(self._suites)
        self._out.write("</testsuites>\n")

    def _case(self, script: str, result: CheckResult, failing: bool) -> str:
        name = _attribute(f"{result.code} {result.title}")
        head = f'    <testcase classname={_attribute(script)} name={name} time="{result.seconds:.3f}"'
        why = unjudged(result)
        text = _text("\n".join(filter(None, (*map(_located, result.findings), why))))
        if failing:
            message = result.findings[0].message if result.findings else result.reason or result.title
            inside = f"<failure type={_attribute(result.code)} message={_attribute(message)}>{text}</failure>"
        elif result.outcome in (CheckOutcome.SKIPPED, CheckOutcome.UNKNOWN):
            inside = f"<skipped message={_attribute(why or result.reason)}/>"
        else:
            inside = f"<system-out>{text}</system-out>" if text else ""
        return f"{head}>{inside}</testcase>\n" if inside else f"{head}/>\n"


def _located(finding: Finding) -> str:
    location = f"{shown(finding.path)}:{finding.line}" if finding.line else shown(finding.path)
    named = [*([("in", finding.hook)] if finding.hook else []), *rows(finding)]
    more = "".join(f"\n  {name}: {text}" for name, text in named)
    return f"{location}: {finding.severity.value}: {finding.message}{more}"


def _attributes(tests: int, failures: int, skipped: int) -> str:
    return f'tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}"'


# Not xml.sax.saxutils, which takes as long to import as all checks that run nothing take for a script.
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# A reader would turn a tab or line break in an attribute into a blank.
_ATTRIBUTE = _TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def _text(text: str) -> str:
    return printable(text).translate(_TEXT)


def _attribute(text: str) -> str:
    return f'"{printable(text).translate(_ATTRIBUTE)}"'


class LcovReport(Report):
    """A section per script that was run. Branches of which nothing is known are left out."""

    def script(self, script: ScriptFinished) -> None:
        if script.coverage is not None:
            path = inline(shown(script.path))
            self._out.writelines(f"{line}\n" for line in _lcov(path, script.coverage))


def _lcov(path: str, coverage: Coverage) -> Iterator[str]:
    yield from ("TN:ralph-bridge verify", f"SF:{path}")
    for name, line, _ in coverage.functions:
        yield f"FN:{line},{inline(name)}"
    for name, _, times in coverage.functions:
        yield f"FNDA:{times},{inline(name)}"
    called = sum(times > 0 for _, _, times in coverage.functions)
    yield from (f"FNF:{len(coverage.functions)}", f"FNH:{called}")
    known = coverage.known_branches
    numbers: dict[int, int] = {}
    for branch in known:
        number = numbers[branch.site] = numbers.get(branch.site, -1) + 1
        yield f"BRDA:{branch.line},{branch.site},{number},{'-' if branch.reached is False else branch.taken}"
    yield from (f"BRF:{len(known)}", f"BRH:{sum(bool(branch.taken) for branch in known)}")
    for line, times in coverage.lines:
        yield f"DA:{line},{times}"
    yield from (f"LF:{len(coverage.lines)}", f"LH:{coverage.hit}", "end_of_record")
