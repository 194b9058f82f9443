"""Runs of the verification for the reports' tests: one made by hand, and any number made by hypothesis."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from bridge.verify.findings import (
    Branch,
    CheckOutcome,
    CheckResult,
    Coverage,
    Edit,
    Finding,
    Fix,
    Mend,
    RunFinished,
    RunStarted,
    ScriptFinished,
    ScriptStarted,
    Severity,
)
from bridge.verify.reports import FORMATS, ReportOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.verify.findings import Event, Kind

TELLING = [kind for kind in FORMATS if kind != "lcov"]
"""The formats that say what was found."""
PLAIN = ReportOptions()
BAD = Path("drivers/bad.sh")
RUN: list[ScriptFinished] = [
    ScriptFinished(
        BAD,
        "driver",
        (
            CheckResult("RB001", "It sources cleanly", CheckOutcome.PASSED, seconds=0.01),
            CheckResult(
                "RB012",
                "No session flag unless continued",
                CheckOutcome.FAILED,
                (
                    Finding(
                        "RB012",
                        Severity.ERROR,
                        "`--resume sid-1` is in the command: 100%, | and <all>",
                        BAD,
                        58,
                        "driver_build_command",
                        "no session without CLAUDE_USE_CONTINUE=true",
                        "test it before you append the flag",
                    ),
                ),
            ),
            CheckResult(
                "RB030", "No undeclared global", CheckOutcome.FAILED,
                (Finding("RB030", Severity.WARNING, "it writes `arg`", BAD, 12),),
            ),
            CheckResult("RB040", "The filter compiles", CheckOutcome.SKIPPED, reason="no driver_stream_filter"),
            CheckResult("RB041", "The filter survives", CheckOutcome.UNKNOWN, reason="the probe died"),
        ),
        {"driver_name": "own", "driver_supports_tool_allowlist": "default", "driver_min_version": "absent"},
        "bad",
        0.25,
    ),
    ScriptFinished(Path("drivers/helper.sh"), "out-of-scope", (), {}, "", 0.001),
    ScriptFinished(
        Path("agents/good.sh"),
        "agent",
        (CheckResult("RB001", "It sources cleanly", CheckOutcome.PASSED),),
        {"agent_invoke": "own"},
        "good",
        0.1,
    ),
]  # fmt: skip


def events(scripts: Sequence[ScriptFinished]) -> list[Event]:
    """The stream that an engine would give for these scripts."""
    found = [finding.severity for script in scripts for finding in script.findings]
    stream: list[Event] = [RunStarted(tuple(script.path for script in scripts))]
    for script in scripts:
        stream += [ScriptStarted(script.path, script.kind), script]
    errors, warnings, infos = (found.count(severity) for severity in Severity)
    unknown = sum(result.unjudged for script in scripts for result in script.results)
    return [*stream, RunFinished(len(scripts), errors, warnings, infos, 0.5, unknown)]


def render(kind: str, scripts: Sequence[ScriptFinished], options: ReportOptions = PLAIN) -> str:
    """What a report writes for these scripts; it must be text that UTF-8 can hold."""
    out = io.StringIO()
    report = FORMATS[kind].make(out, options)
    for event in events(scripts):
        report.take(event)
    return out.getvalue().encode("utf-8").decode("utf-8")


NASTY = [
    *("\n", "\r\n", "%", "%0A", "]]>", "|", "\\|", "#", " # TODO", "::error::", ",", ":", "---", "...", "\t", "\\"),
    *("\x00", "\x1b[31m", "\x85", "\udce9", "\ud800", "\ufffe", "\u2028", "\u202e"),
    *("<b>", "&amp;", "`", "'", '"', "é", "日"),
]
texts = st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=8)), max_size=6).map("".join)
words = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
# What a file system can hold: any bytes but NUL and the slash.
names = st.binary(min_size=1, max_size=12).map(
    lambda data: data.replace(b"\0", b"-").replace(b"/", b"-").decode("utf-8", "surrogateescape")
)
paths = names.filter(lambda name: name not in (".", "..")).map(lambda name: Path("drivers") / f"{name}.sh")
codes = st.integers(1, 120).map(lambda number: f"RB{number:03}")


times = st.integers(0, 5)
numbers = st.integers(1, 300)
branches = st.builds(Branch, numbers, st.integers(0, 50), texts, st.none() | times, st.none() | st.booleans())
coverages = st.builds(
    Coverage,
    st.dictionaries(numbers, times, max_size=8).map(lambda found: tuple(sorted(found.items()))),
    st.lists(branches, max_size=4).map(tuple),
    st.lists(st.tuples(words, numbers, times), max_size=3).map(tuple),
    st.lists(words, max_size=2).map(tuple),
    st.booleans(),
)
places = st.tuples(st.integers(1, 10_000), st.integers(1, 500))
edits = st.builds(Edit, st.integers(0, 10**6), st.integers(0, 10**6), places, places, texts)
fixes = st.builds(Fix, texts, st.lists(edits, min_size=1, max_size=2).map(tuple))


@st.composite
def results(draw: st.DrawFn, path: Path, code: str) -> CheckResult:
    outcome = draw(st.sampled_from(CheckOutcome))
    lines = st.none() | st.integers(1, 10_000)
    severities = st.sampled_from(Severity)
    found = st.builds(
        Finding, st.just(code), severities, texts, st.just(path), lines, st.none() | words, texts, texts,
        fix=st.none() | fixes,
    )  # fmt: skip
    least = {CheckOutcome.FAILED: 1, CheckOutcome.UNKNOWN: 0}.get(outcome)
    findings = [] if least is None else draw(st.lists(found, min_size=least, max_size=3))
    return CheckResult(code, draw(texts), outcome, tuple(findings), draw(texts), draw(st.floats(0, 100)))


@st.composite
def scripts(draw: st.DrawFn) -> ScriptFinished:
    path = draw(paths)
    kinds: list[Kind] = ["driver", "agent", "out-of-scope"]
    kind = draw(st.sampled_from(kinds))
    chosen = [] if kind == "out-of-scope" else sorted(draw(st.sets(codes, max_size=4)))
    matrix = draw(st.dictionaries(words, st.sampled_from(["own", "default", "absent"]), max_size=3))
    checks = tuple(draw(results(path, code)) for code in chosen)
    fixed = tuple(finding for result in checks for finding in result.findings if finding.fix)
    mends = st.builds(Mend, st.binary(), st.binary(), st.just(fixed), st.integers(0, 3), st.booleans(), texts)
    mend = draw(st.none() | mends)
    coverage = draw(st.none() | coverages)
    seconds = draw(st.floats(0, 100))
    return ScriptFinished(path, kind, checks, matrix, draw(texts), seconds, mend=mend, coverage=coverage)


runs = st.lists(scripts(), max_size=4)
