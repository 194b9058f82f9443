"""Results of adapters' tests in the formats of ``adapter test``."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bridge.adapters.testing import AdapterReport, CaseResult

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff\ud800-\udfff]")
_SHOWN = 2000


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub(lambda match: f"\\x{ord(match[0]) & 0xFF:02x}", text)


def _failure(result: CaseResult) -> str:
    output = result.output[-_SHOWN:]
    return result.message + (f"\n  output: {output!r}" if result.output or result.outcome == "failed" else "")


def text_of(report: AdapterReport, *, verbose: bool = False) -> Iterator[str]:
    counts = ", ".join(f"{number} {word}" for word, number in summary([report]).items() if number)
    yield f"{report.name}: {counts or 'no tests'} ({report.seconds:.1f} s)"
    if report.skipped:
        yield f"  skipped: {_printable(report.skipped)}"
        return
    for result in report.results:
        if result.outcome != "passed" or verbose:
            why = _printable(_failure(result)).replace("\n", "\n    ") if result.outcome != "passed" else ""
            yield f"  {result.outcome}: {_printable(result.name)}" + (f": {why}" if why else "")


def summary(reports: Sequence[AdapterReport]) -> dict[str, int]:
    counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for report in reports:
        for result in report.results:
            counts[result.outcome] += 1
    return counts


def _text(reports: Sequence[AdapterReport]) -> str:
    lines = [line for report in reports for line in text_of(report)]
    total = ", ".join(f"{number} {word}" for word, number in summary(reports).items())
    return "\n".join([*lines, total]) + "\n"


def _json(reports: Sequence[AdapterReport]) -> str:
    document = {
        "schema": 1,
        "summary": summary(reports),
        "adapters": [
            {
                "name": report.name,
                "path": report.path,
                "skipped": report.skipped or None,
                "seconds": round(report.seconds, 3),
                "ready_seconds": round(report.ready_seconds, 3),
                "tests": [
                    {
                        "name": each.name,
                        "outcome": each.outcome,
                        "message": each.message,
                        "output": each.output,
                        "seconds": round(each.seconds, 3),
                    }
                    for each in report.results
                ],
            }
            for report in reports
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _tap(reports: Sequence[AdapterReport]) -> str:
    lines = ["TAP version 14"]
    number = 0
    for report in reports:
        for result in report.results:
            number += 1
            name = " ".join(_printable(f"{report.name}: {result.name}").split()).replace("#", "\\x23")
            word = "not ok" if result.outcome == "failed" else "ok"
            why = " ".join(_printable(result.message).split())
            lines.append(f"{word} {number} - {name}" + (f" # SKIP {why}" if result.outcome == "skipped" else ""))
            if result.outcome == "failed":
                # A JSON string in ASCII is a double-quoted YAML string.
                shown = json.dumps(_printable(result.output[-_SHOWN:]))
                message = json.dumps(_printable(result.message))
                lines += ["  ---", f"  message: {message}", f"  output: {shown}", "  ..."]
    return "\n".join([*lines, f"1..{number}"]) + "\n"


def _junit(reports: Sequence[AdapterReport]) -> str:
    suites = "".join(map(_suite, reports))
    head = f'name="ralph-bridge adapter test" {_counts(reports)}'
    seconds = sum(report.seconds for report in reports)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {head} time="{seconds:.3f}">\n{suites}</testsuites>\n'
    )


def _suite(report: AdapterReport) -> str:
    cases = "".join(_case(report.name, result) for result in report.results)
    head = f'name={_attribute(report.name)} {_counts([report])} time="{report.seconds:.3f}"'
    return f"  <testsuite {head}>\n{cases}  </testsuite>\n"


def _case(adapter: str, result: CaseResult) -> str:
    named = f"classname={_attribute(adapter)} name={_attribute(result.name)}"
    head = f'    <testcase {named} time="{result.seconds:.3f}"'
    if result.outcome == "skipped":
        return f"{head}><skipped message={_attribute(result.message)}/></testcase>\n"
    if result.outcome == "failed":
        inside = escape(_printable(_failure(result)))
        return f"{head}><failure message={_attribute(result.message)}>{inside}</failure></testcase>\n"
    return f"{head}/>\n"


def _counts(reports: Sequence[AdapterReport]) -> str:
    counts = summary(reports)
    return f'tests="{sum(counts.values())}" failures="{counts["failed"]}" errors="0" skipped="{counts["skipped"]}"'


def _attribute(text: str) -> str:
    return quoteattr(_printable(text), {"\n": "&#10;", "\t": "&#9;"})


FORMATS: dict[str, Callable[[Sequence[AdapterReport]], str]] = {
    "text": _text,
    "json": _json,
    "tap": _tap,
    "junit": _junit,
}
