"""Outcomes of adapters' tests in the formats of ``adapter test``; a function per format in a visible dict."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bridge.adapters.testing import AdapterReport, Outcome

__all__ = ["FORMATS", "summary", "text_of"]

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff\ud800-\udfff]")
_SHOWN = 2000


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub(lambda match: f"\\x{ord(match[0]) & 0xFF:02x}", text)


def _told(outcome: Outcome) -> str:
    """Why it failed, with the end of what was printed."""
    output = outcome.output[-_SHOWN:]
    return outcome.message + (f"\n  output: {output!r}" if outcome.output or outcome.outcome == "failed" else "")


def text_of(report: AdapterReport, *, verbose: bool = False) -> Iterator[str]:
    """One line per adapter, and what failed."""
    counts = summary([report])
    said = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
    yield f"{report.name}: {said or 'no tests'} ({report.seconds:.1f} s)"
    if report.skipped:
        yield f"  skipped: {_printable(report.skipped)}"
        return
    for outcome in report.outcomes:
        if outcome.outcome != "passed" or verbose:
            told = _printable(_told(outcome)).replace("\n", "\n    ") if outcome.outcome != "passed" else ""
            yield f"  {outcome.outcome}: {_printable(outcome.name)}" + (f": {told}" if told else "")


def summary(reports: Sequence[AdapterReport]) -> dict[str, int]:
    """How many outcomes there are of each kind."""
    counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for report in reports:
        for outcome in report.outcomes:
            counts[outcome.outcome] += 1
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
                    for each in report.outcomes
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
        for outcome in report.outcomes:
            number += 1
            name = " ".join(_printable(f"{report.name}: {outcome.name}").split()).replace("#", "\\x23")
            word = "not ok" if outcome.outcome == "failed" else "ok"
            why = " ".join(_printable(outcome.message).split())
            lines.append(f"{word} {number} - {name}" + (f" # SKIP {why}" if outcome.outcome == "skipped" else ""))
            if outcome.outcome == "failed":
                # A JSON string in ASCII is a double-quoted YAML string.
                shown = json.dumps(_printable(outcome.output[-_SHOWN:]))
                message = json.dumps(_printable(outcome.message))
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
    cases = "".join(_case(report.name, outcome) for outcome in report.outcomes)
    head = f'name={_attribute(report.name)} {_counts([report])} time="{report.seconds:.3f}"'
    return f"  <testsuite {head}>\n{cases}  </testsuite>\n"


def _case(adapter: str, outcome: Outcome) -> str:
    named = f"classname={_attribute(adapter)} name={_attribute(outcome.name)}"
    head = f'    <testcase {named} time="{outcome.seconds:.3f}"'
    if outcome.outcome == "skipped":
        return f"{head}><skipped message={_attribute(outcome.message)}/></testcase>\n"
    if outcome.outcome == "failed":
        inside = escape(_printable(_told(outcome)))
        return f"{head}><failure message={_attribute(outcome.message)}>{inside}</failure></testcase>\n"
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
