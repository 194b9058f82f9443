"""SARIF 2.1.0: findings in code scanning, each with the documentation of its check."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from bridge._version import __version__
from bridge.verify.model import RunFinished, ScriptFinished, Severity
from bridge.verify.reports.base import clean, rows, shown, unjudged

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO

    from bridge.verify.model import Event, Finding, Fix
    from bridge.verify.reports.base import ReportOptions

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


class SarifReport:
    """One document with one run, written at the end. Rules are the checks that ran, as the registry has them."""

    def __init__(self, out: TextIO, _options: ReportOptions) -> None:
        self._out = out
        self._rules: dict[str, dict[str, Any]] = {}
        self._results: list[dict[str, Any]] = []
        self._unjudged: list[dict[str, Any]] = []

    def take(self, event: Event) -> None:
        """Keep a script; write everything when the run is over."""
        if isinstance(event, ScriptFinished):
            self._keep(event)
        elif isinstance(event, RunFinished):
            self._out.write(json.dumps(self._document(), indent=2) + "\n")

    def _keep(self, script: ScriptFinished) -> None:
        for result in script.results:
            self._rules.setdefault(result.code, _rule(result.code, result.title))
            self._results.extend(self._result(finding, result.title) for finding in result.findings)
            if said := unjudged(result):
                self._unjudged.append(
                    {
                        "level": "note",
                        "associatedRule": {"id": result.code},
                        "message": {"text": clean(f"{result.title}: {said}")},
                        "locations": [_location(script.path, None)],
                    }
                )

    def _result(self, finding: Finding, title: str) -> dict[str, Any]:
        self._rules.setdefault(finding.code, _rule(finding.code, title))
        text = finding.message + "".join(f"\n{name}: {text}" for name, text in rows(finding))
        location = _location(finding.path, finding.line)
        if finding.hook:
            location["logicalLocations"] = [{"name": clean(finding.hook), "kind": "function"}]
        result = {
            "ruleId": finding.code,
            "ruleIndex": list(self._rules).index(finding.code),
            "level": _LEVELS[finding.severity],
            "message": {"text": clean(text)},
            "locations": [location],
        }
        return result | ({"fixes": [_fix(finding.path, finding.fix)]} if finding.fix else {})

    def _document(self) -> dict[str, Any]:
        driver = {"name": "ralph-bridge", "semanticVersion": __version__, "rules": list(self._rules.values())}
        run = {
            "tool": {"driver": driver},
            "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": self._unjudged}],
            "columnKind": "unicodeCodePoints",
            "results": self._results,
        }
        return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _location(path: Path, line: int | None) -> dict[str, Any]:
    # Code scanning shows nothing without a line; what concerns the whole script stands on the first.
    region = {"startLine": line or 1}
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": region}}


def _fix(path: Path, fix: Fix) -> dict[str, Any]:
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
