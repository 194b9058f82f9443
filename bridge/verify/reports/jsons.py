"""For programs: the events as they are, one per line or in one document. ``schema.json`` describes both."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bridge._version import __version__
from bridge.verify.model import RunFinished, RunStarted, ScriptFinished
from bridge.verify.reports.base import clean

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from bridge.verify.model import CheckResult, Coverage, Event, Finding, Fix, Mend
    from bridge.verify.reports.base import ReportOptions

_TOOL = {"name": "ralph-bridge", "version": __version__}


class NdjsonReport:
    """One event per line, written when it happens."""

    def __init__(self, out: TextIO, _options: ReportOptions) -> None:
        self._out = out

    def take(self, event: Event) -> None:
        """Write the event."""
        self._out.write(json.dumps({"schema": 1, **_event(event)}) + "\n")
        self._out.flush()


class JsonReport:
    """One document, written at the end."""

    def __init__(self, out: TextIO, _options: ReportOptions) -> None:
        self._out = out
        self._scripts: list[dict[str, Any]] = []

    def take(self, event: Event) -> None:
        """Keep a script; write everything when the run is over."""
        if isinstance(event, ScriptFinished):
            self._scripts.append(_script(event))
        elif isinstance(event, RunFinished):
            document = {"schema": 1, "tool": _TOOL, "scripts": self._scripts, "summary": _summary(event)}
            self._out.write(json.dumps(document, indent=2) + "\n")


def _event(event: Event) -> dict[str, Any]:
    if isinstance(event, RunStarted):
        return {"event": "run-started", "tool": _TOOL, "scripts": [clean(str(path)) for path in event.scripts]}
    if isinstance(event, ScriptFinished):
        return {"event": "script-finished", **_script(event)}
    if isinstance(event, RunFinished):
        return {"event": "run-finished", **_summary(event)}
    return {"event": "script-started", "path": clean(str(event.path)), "kind": event.kind}


def _summary(event: RunFinished) -> dict[str, Any]:
    return _rounded(event._asdict())


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
    evidence = [clean(text) for text in finding.evidence]
    fix = _fix(finding.fix) if finding.fix else None
    fields = {
        **finding._asdict(), "path": str(finding.path), "severity": finding.severity.value, "evidence": evidence,
        "fix": fix,
    }  # fmt: skip
    del fields["about"]
    return _cleaned(fields)


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [
        {"start": _place(edit.start, edit.first), "end": _place(edit.end, edit.last), "text": clean(edit.text)}
        for edit in fix.edits
    ]
    return {"title": clean(fix.title), "edits": edits}


def _place(offset: int, at: tuple[int, int]) -> dict[str, int]:
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
