"""For a job summary: which script has which hook, and what is wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.model import RunFinished, ScriptFinished
from bridge.verify.reports.base import FEW, label, plural, printable, shown, unknown_by_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TextIO

    from bridge.verify.model import Event
    from bridge.verify.reports.base import Options

_STATES = {"own": "✓", "default": "default", "absent": "-"}
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~$>@-])")


class MarkdownReport:
    """Tables, written at the end: a table's columns are known when all scripts are."""

    def __init__(self, out: TextIO, options: Options) -> None:
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
            f"{plural(run.infos, 'note')}"
        )
        for kind in ("driver", "agent"):
            scripts = [script for script in self._scripts if script.kind == kind]
            if scripts:
                yield from ("", f"### {kind.capitalize()}s", "", *_matrix(scripts, f"{kind}_"))
        if findings := list(self._findings()):
            heading = ("script", "line", "check", "severity", "in", "what", "next")
            yield from ("", "### Findings", "", *table(heading, findings))
        if unknown := list(self._unknown()):
            yield from ("", "### Could not be determined", "", *table(("script", "check", "why"), unknown))
        aside = [script.path for script in self._scripts if script.kind == "out-of-scope" and not script.findings]
        if aside:
            yield from ("", f"Neither driver nor agent, not run: {', '.join(cell(shown(path)) for path in aside)}")

    def _findings(self) -> Iterable[Sequence[str]]:
        for script in self._scripts:
            for found in script.findings:
                line = str(found.line) if found.line else ""
                what = f"{found.message}\nexpected: {found.expected}" if found.expected else found.message
                what += "".join(f"\nalso: {text}" for text in found.evidence)
                yield shown(found.path), line, found.code, found.severity.value, found.hook or "", what, found.hint

    def _unknown(self) -> Iterable[Sequence[str]]:
        for script in self._scripts:
            for reason, results in unknown_by_reason(script).items():
                if len(results) > FEW:
                    yield shown(script.path), f"{len(results)} checks", reason
                    continue
                for result in results:
                    yield shown(script.path), f"{result.code} {result.title}", result.reason


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
