"""For a job summary: which script has which hook, and what is wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.model import RunFinished, ScriptFinished
from bridge.verify.reports.base import (
    FEW,
    label,
    missed,
    printable,
    reached,
    rows,
    shown,
    unjudged_by_reason,
)
from bridge.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TextIO

    from bridge.verify.model import Event
    from bridge.verify.reports.base import ReportOptions

_STATES = {"own": "✓", "default": "default", "absent": "-"}
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~$>@-])")


class MarkdownReport:
    """Tables, written at the end: a table's columns are known when all scripts are."""

    def __init__(self, out: TextIO, options: ReportOptions) -> None:
        self._out = out
        self._strict = options.strict
        self._scripts: list[ScriptFinished] = []

    def take(self, event: Event) -> None:
        """Keep a script; write everything when the run is over."""
        if isinstance(event, ScriptFinished):
            self._scripts.append(event)
        elif isinstance(event, RunFinished):
            self._out.write("\n".join(self._document(event)) + "\n")

    def _document(self, run: RunFinished) -> Iterable[str]:
        bad = run.errors or (run.warnings and self._strict)
        yield f"## ralph-bridge verify: {'contract violated' if bad else 'contract met'}"
        yield ""
        yield (
            f"{plural(run.scripts, 'script')}: {plural(run.errors, 'error')}, {plural(run.warnings, 'warning')}, "
            f"{plural(run.infos, 'note')}" + f", {run.unknown} not judged" * bool(run.unknown)
        )
        for kind in ("driver", "agent"):
            scripts = [script for script in self._scripts if script.kind == kind]
            if scripts:
                yield from ("", f"### {kind.capitalize()}s", "", *_matrix(scripts, f"{kind}_"))
        if covered := [script for script in self._scripts if script.coverage is not None]:
            heading = ("script", "reached", "not reached")
            yield from ("", "### Coverage", "", *table(heading, map(_covered, covered)))
        if findings := list(self._findings()):
            columns = ("script", "line", "check", "severity", "in", "what", "next")
            yield from ("", "### Findings", "", *table(columns, findings))
        if rest := list(self._unjudged()):
            yield from ("", "### Not judged", "", *table(("script", "check", "why"), rest))
        aside = [script.path for script in self._scripts if script.kind == "out-of-scope" and not script.findings]
        if aside:
            yield from ("", f"Neither driver nor agent, not run: {', '.join(cell(shown(path)) for path in aside)}")

    def _findings(self) -> Iterable[Sequence[str]]:
        for script in self._scripts:
            for found in script.findings:
                line = str(found.line) if found.line else ""
                told = rows(found)
                what = found.message + "".join(f"\n{name}: {text}" for name, text in told if name != "next")
                then = dict(told).get("next", "")
                yield shown(found.path), line, found.code, found.severity.value, found.hook or "", what, then

    def _unjudged(self) -> Iterable[Sequence[str]]:
        for script in self._scripts:
            for said, results in unjudged_by_reason(script).items():
                if len(results) > FEW:
                    yield shown(script.path), f"{len(results)} checks", said
                    continue
                for result in results:
                    yield shown(script.path), f"{result.code} {result.title}", said


def _covered(script: ScriptFinished) -> Sequence[str]:
    assert script.coverage is not None
    told = "\n".join(f"{name}: {text}" for name, text in missed(script.coverage))
    return shown(script.path), reached(script.coverage), told


def _matrix(scripts: Sequence[ScriptFinished], prefix: str) -> Iterable[str]:
    hooks = list(dict.fromkeys(hook for script in scripts for hook in script.matrix))
    rows = [[label(script), *(_STATES[script.matrix.get(hook, "absent")] for hook in hooks)] for script in scripts]
    return table(["", *(hook.removeprefix(prefix) for hook in hooks)], rows)


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    """The lines of a table."""
    yield f"| {' | '.join(map(cell, heading))} |"
    yield f"|{' --- |' * len(heading)}"
    for row in rows:
        yield f"| {' | '.join(map(cell, row))} |"


def cell(text: str) -> str:
    """`text` for one cell: nothing in it is markup, HTML, a mention or the end of the cell."""
    safe = printable(text).replace("&", "&amp;").replace("<", "&lt;")
    return _MARKUP.sub(r"\\\1", safe).replace("\t", " ").replace("\n", "<br>")
