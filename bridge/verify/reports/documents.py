"""For programs: the events as JSON, one per line or in one document (``schema.json`` has both), and SARIF 2.1.0."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from bridge._version import __version__
from bridge.verify.findings import RunFinished, RunStarted, ScriptFinished, Severity
from bridge.verify.reports import Report, clean, described, shown, unjudged

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import TextIO

    from bridge.verify.findings import CheckResult, Coverage, Event, Finding, Fix, Mend
    from bridge.verify.reports import ReportOptions

_TOOL = {"name": "ralph-bridge", "version": __version__}
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


class NdjsonReport(Report):
    """One event per line, written when it happens."""

    def take(self, event: Event) -> None:
        self._out.write(json.dumps({"schema": 1, **_event(event)}) + "\n")
        self._out.flush()


class JsonReport(Report):
    """One document, written at the end."""

    def __init__(self, out: TextIO, options: ReportOptions) -> None:
        super().__init__(out, options)
        self._scripts: list[dict[str, Any]] = []

    def script(self, script: ScriptFinished) -> None:
        self._scripts.append(_script(script))

    def end(self, run: RunFinished) -> None:
        document = {"schema": 1, "tool": _TOOL, "scripts": self._scripts, "summary": _rounded(run._asdict())}
        self._out.write(json.dumps(document, indent=2) + "\n")


def _event(event: Event) -> dict[str, Any]:
    match event:
        case RunStarted():
            scripts = [clean(str(path)) for path in event.scripts]
            return {"event": "run-started", "tool": _TOOL, "scripts": scripts}
        case ScriptFinished():
            return {"event": "script-finished", **_script(event)}
        case RunFinished():
            return {"event": "run-finished", **_rounded(event._asdict())}
    return {"event": "script-started", "path": clean(str(event.path)), "kind": event.kind}


def _script(event: ScriptFinished) -> dict[str, Any]:
    return {
        "path": clean(str(event.path)),
        "kind": event.kind,
        "name": clean(event.name),
        "reason": clean(event.reason),
        "seconds": round(event.seconds, 6),
        "matrix": {clean(hook): state for hook, state in event.matrix.items()},
        "checks": [_check(result) for result in event.results],
        "mend": _mend(event.mend) if event.mend else None,
        "coverage": _coverage(event.coverage) if event.coverage else None,
    }


def _coverage(coverage: Coverage) -> dict[str, Any]:
    known = coverage.known_branches
    missed = [{"line": each.line, "branch": clean(each.label)} for each in known if not each.taken]
    not_called = [clean(name) for name, _, times in coverage.functions if not times]
    return {
        "lines": {"found": len(coverage.lines), "hit": coverage.hit, "missed": list(coverage.missed)},
        "branches": {
            "found": len(known),
            "hit": len(known) - len(missed),
            "missed": missed,
            "unknown": len(coverage.branches) - len(known),
        },
        "functions": {
            "found": len(coverage.functions),
            "hit": len(coverage.functions) - len(not_called),
            "missed": not_called,
            "unread": [clean(name) for name in coverage.unread],
        },
        "own_trap": coverage.own_trap,
    }


def _check(result: CheckResult) -> dict[str, Any]:
    findings = [_finding(finding) for finding in result.findings]
    return _rounded({**_cleaned(result._asdict()), "outcome": result.outcome.value, "findings": findings})


def _finding(finding: Finding) -> dict[str, Any]:
    fields = finding._asdict() | {
        "path": str(finding.path),
        "severity": finding.severity.value,
        "evidence": [clean(text) for text in finding.evidence],
        "fix": _fix(finding.fix) if finding.fix else None,
    }
    del fields["about"]
    return _cleaned(fields)


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [
        {
            "start": _offset(edit.start, edit.first),
            "end": _offset(edit.end, edit.last),
            "text": clean(edit.text),
        }
        for edit in fix.edits
    ]
    return {"title": clean(fix.title), "edits": edits}


def _offset(offset: int, at: tuple[int, int]) -> dict[str, int]:
    return {"offset": offset, "line": at[0], "column": at[1]}


def _mend(mend: Mend) -> dict[str, Any]:
    fixed = [
        {"code": each.code, "line": each.line, "title": clean(each.fix.title)} for each in mend.fixed if each.fix
    ]
    return {"written": mend.written, "refused": clean(mend.refused), "fixed": fixed, "left": mend.left}


def _cleaned(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: clean(value) if type(value) is str else value for name, value in fields.items()}


def _rounded(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "seconds": round(fields["seconds"], 6)}


class SarifReport(Report):
    """One document with one run, written at the end. Rules are the checks that ran, as the registry has them."""

    def __init__(self, out: TextIO, options: ReportOptions) -> None:
        super().__init__(out, options)
        self._rules: dict[str, dict[str, Any]] = {}
        self._results: list[dict[str, Any]] = []
        self._unjudged: list[dict[str, Any]] = []

    def script(self, script: ScriptFinished) -> None:
        for result in script.results:
            self._rules.setdefault(result.code, _rule(result.code, result.title))
            self._results.extend(self._result(finding, result.title) for finding in result.findings)
            if why := unjudged(result):
                self._unjudged.append(
                    {
                        "level": "note",
                        "associatedRule": {"id": result.code},
                        "message": {"text": clean(f"{result.title}: {why}")},
                        "locations": [_location(script.path, None)],
                    }
                )

    def _result(self, finding: Finding, title: str) -> dict[str, Any]:
        self._rules.setdefault(finding.code, _rule(finding.code, title))
        location = _location(finding.path, finding.line)
        if finding.hook:
            location["logicalLocations"] = [{"name": clean(finding.hook), "kind": "function"}]
        result = {
            "ruleId": finding.code,
            "ruleIndex": list(self._rules).index(finding.code),
            "level": _LEVELS[finding.severity],
            "message": {"text": clean(described(finding))},
            "locations": [location],
        }
        return result | ({"fixes": [_replacements(finding.path, finding.fix)]} if finding.fix else {})

    def end(self, run: RunFinished) -> None:  # noqa: ARG002 (how many there were, readers count themselves)
        driver = {"name": "ralph-bridge", "semanticVersion": __version__, "rules": list(self._rules.values())}
        document = {
            "tool": {"driver": driver},
            "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": self._unjudged}],
            "columnKind": "unicodeCodePoints",
            "results": self._results,
        }
        whole = {"$schema": _SARIF, "version": "2.1.0", "runs": [document]}
        self._out.write(json.dumps(whole, indent=2) + "\n")


def _location(path: Path, line: int | None) -> dict[str, Any]:
    # Code scanning shows nothing without a line; what concerns the whole script stands on the first.
    region = {"startLine": line or 1}
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": region}}


def _replacements(path: Path, fix: Fix) -> dict[str, Any]:
    replacements = []
    for edit in fix.edits:
        (line, column), (end_line, end_column) = edit.first, edit.last
        region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
        replacements.append({"deletedRegion": region, "insertedContent": {"text": clean(edit.text)}})
    change = {"artifactLocation": {"uri": _uri(path)}, "replacements": replacements}
    return {"description": {"text": clean(fix.title)}, "artifactChanges": [change]}


def _uri(path: Path) -> str:
    text = shown(path)
    quoted = quote(os.fsencode(text))
    return f"file://{quoted}" if os.path.isabs(text) else quoted


def _rule(code: str, title: str) -> dict[str, Any]:
    from bridge.verify.registry import CHECKS

    rule: dict[str, Any] = {"id": code, "shortDescription": {"text": clean(title)}}
    if (check := CHECKS.get(code)) is not None:
        rule["defaultConfiguration"] = {"level": _LEVELS[check.severity]}
        if check.documentation.why:
            rule["help"] = {"text": str(check.documentation)}
    return rule
