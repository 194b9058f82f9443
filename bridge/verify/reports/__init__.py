"""What a verification found, in the formats that people and programs read.

A report takes the engine's events one at a time and writes to a text stream; any number of them listen to one run.
What it writes can always be encoded as UTF-8, whatever the scripts hold.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import TextIO

    from bridge.verify.reports.base import Report, ReportOptions


class Format(NamedTuple):
    """A format by what it is for, and the class that writes it, which is imported when it is asked for."""

    title: str
    home: str

    def make(self, out: TextIO, options: ReportOptions) -> Report:
        module, _, name = self.home.partition(".")
        report: type[Report] = getattr(import_module(f"{__name__}.{module}"), name)
        return report(out, options)


FORMATS: dict[str, Format] = {
    "text": Format("for people", "people.TextReport"),
    "json": Format("one document, see schema.json", "documents.JsonReport"),
    "ndjson": Format("one event per line, while it happens", "documents.NdjsonReport"),
    "tap": Format("Test Anything Protocol 14", "ci.TapReport"),
    "github": Format("annotations of a GitHub workflow", "ci.GithubReport"),
    "markdown": Format("capability matrix and findings, for a job summary", "people.MarkdownReport"),
    "junit": Format("JUnit XML, for CI servers", "ci.JunitReport"),
    "sarif": Format("SARIF 2.1.0, for code scanning", "documents.SarifReport"),
    "lcov": Format("LCOV, for what shows coverage", "ci.LcovReport"),
}
