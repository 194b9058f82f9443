"""What a verification found, in the formats that people and programs read.

A report is a consumer: it takes the engine's events one at a time and writes to a text stream. Any number of
them listen to one run. What a report writes can always be encoded as UTF-8, whatever the scripts hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridge.verify.reports.github import GithubReport
from bridge.verify.reports.jsons import JsonReport, NdjsonReport
from bridge.verify.reports.junit import JunitReport
from bridge.verify.reports.lcov import LcovReport
from bridge.verify.reports.markdown import MarkdownReport
from bridge.verify.reports.sarif import SarifReport
from bridge.verify.reports.tap import TapReport
from bridge.verify.reports.text import TextReport

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from bridge.verify.reports.base import Report, ReportOptions


class Format(NamedTuple):
    """A format by what it is for, and what makes a report of it."""

    title: str
    make: Callable[[TextIO, ReportOptions], Report]


FORMATS: dict[str, Format] = {
    "text": Format("for people", TextReport),
    "json": Format("one document, see schema.json", JsonReport),
    "ndjson": Format("one event per line, while it happens", NdjsonReport),
    "tap": Format("Test Anything Protocol 14", TapReport),
    "github": Format("annotations of a GitHub workflow", GithubReport),
    "markdown": Format("capability matrix and findings, for a job summary", MarkdownReport),
    "junit": Format("JUnit XML, for CI servers", JunitReport),
    "sarif": Format("SARIF 2.1.0, for code scanning", SarifReport),
    "lcov": Format("LCOV, for what shows coverage", LcovReport),
}
"""Every format by its name."""
