"""For people: text on a terminal or in a log, and Markdown for a job summary."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.base.wording import plural
from bridge.scripts.contract.scripts import provider_of
from bridge.verify.findings import CheckOutcome, ScriptFinished, Severity
from bridge.verify.reports import (
    FEW,
    Report,
    counts,
    diff,
    inline,
    label,
    missed,
    printable,
    reached,
    rows,
    shown,
    tally,
    unjudged_by_reason,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from typing import TextIO

    from bridge.verify.findings import Finding, Mend, RunFinished
    from bridge.verify.reports import ReportOptions

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_STATES = {"own": "✓", "default": "default", "absent": "-"}
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~$>@-])")


def _out_of_scope(script: ScriptFinished) -> bool:
    return script.kind == "out-of-scope" and not script.findings


class TextReport(Report):
    """One line per script, a paragraph per finding, and the sum.

    It says no seconds: the same scripts give the same text, so that two runs can be compared.
    """

    def __init__(self, out: TextIO, options: ReportOptions) -> None:
        super().__init__(out, options)
        self._bad = self._run = self._left_out = self._mended = self._left = 0
        self._written = False

    def script(self, script: ScriptFinished) -> None:
        self._count(script)
        where = inline(shown(script.path))
        if not self._options.quiet:
            self._line(f"{self._style(where, 'bold')}: {_outcome(script)}")
        for finding in script.findings:
            self._finding(where, finding)
        if script.mend is not None:
            self._mend(where, script.path, script.mend)
        if script.coverage is not None and not self._options.quiet:
            self._line(f"{where}: {reached(script.coverage)} reached")
            self._rows(missed(script.coverage))
        for unjudged, results in unjudged_by_reason(script).items():
            few = len(results) <= FEW
            who = ", ".join(inline(result.code) for result in results) if few else f"{len(results)} checks"
            words, _, reason = unjudged.partition(": ")
            self._line(f"{where}: {who} {self._style(words, 'magenta')}: {_indented(reason)}")

    def _count(self, script: ScriptFinished) -> None:
        if _out_of_scope(script):
            self._left_out += 1
            return
        self._run += 1
        failing = {Severity.ERROR, Severity.WARNING} if self._options.strict else {Severity.ERROR}
        self._bad += any(finding.severity in failing for finding in script.findings)

    def _finding(self, where: str, finding: Finding) -> None:
        location = f"{where}:{finding.line}" if finding.line else where
        word = self._style(finding.severity.value, _COLOURS[finding.severity], "bold")
        code = inline(finding.code)
        self._line(f"{location}: {code} {word}: {_indented(finding.message)}")
        # Codes of scenarios (feature:line) bring a hint of their own.
        hinted = finding if finding.hint else finding._replace(hint=f"ralph-bridge explain {code}")
        self._rows([*([("in", finding.hook)] if finding.hook else []), *rows(hinted)])

    def _rows(self, named: Iterable[tuple[str, str]]) -> None:
        for name, text in named:
            self._line(f"    {self._style(name, 'dim')}: {_indented(text)}")

    def _mend(self, where: str, path: Path, mend: Mend) -> None:
        self._mended += len(mend.fixed)
        self._left += mend.left
        self._written |= mend.written
        if mend.written:
            for fixed in mend.fixed:
                title = inline(fixed.fix.title if fixed.fix else "")
                self._line(f"{where}: {inline(fixed.code)} {self._style('mended', 'green')}: {title}")
            return
        for line in diff(path, mend):
            colour = _DIFF_COLOURS.get(line[:1])
            self._out.write((self._style(line, colour) if colour else line) + "\n")
        if mend.refused:
            self._line(f"{where}: {self._style('not mended', 'red', 'bold')}: {_indented(mend.refused)}")

    def end(self, run: RunFinished) -> None:
        if self._options.quiet:
            return
        words = [plural(run.errors, "error"), plural(run.warnings, "warning")]
        if run.infos:
            words.append(plural(run.infos, "note"))
        if run.unknown:
            words.append(self._style(f"{run.unknown} not judged", "magenta"))
        left_out = f" ({self._left_out} not run)" if self._left_out else ""
        so_far = " as far as it was judged" if run.unknown and self._run and not self._bad else ""
        self._line(f"{self._verdict()}{so_far}: {', '.join(words)}{left_out}")
        if self._mended:
            done = "mended" if self._written else "can be mended: --fix --write does it"
            again = "; run it again for the rest" if self._left else ""
            self._line(f"{plural(self._mended, 'finding')} {done}{again}")
        elif self._options.fixing:
            found = run.errors or run.warnings or run.infos
            self._line("nothing to mend: " + ("no finding has a safe mend" if found else "nothing was found"))

    def _verdict(self) -> str:
        scripts = plural(self._run, "script")
        if self._bad:
            who = scripts if self._bad == self._run else f"{self._bad} of {scripts}"
            verb = "violates" if self._bad == 1 else "violate"
            return f"{who} {self._style(f'{verb} the contract', 'red')}"
        if not self._run:
            return "nothing to verify"
        verb = "meets" if self._run == 1 else "meet"
        return f"{scripts} {self._style(f'{verb} the contract', 'green')}"

    def _line(self, text: str) -> None:
        for line in text.split("\n"):
            self._out.write(wrapped(line, self._options.width) + "\n")

    def _style(self, text: str, *names: str) -> str:
        # By hand: only the command line may know click.
        if not self._options.colour:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"


def _outcome(script: ScriptFinished) -> str:
    if _out_of_scope(script):
        return f"not run: {inline(script.reason or 'it defines no hook')}"
    if script.kind == "out-of-scope":
        return "can't be verified"
    numbers = [f"{number} {outcome.word}" for outcome in CheckOutcome if (number := tally(script, outcome))]
    return f"{script.kind} {label(script)}, {plural(len(script.results), 'check')}: {', '.join(numbers) or 'none'}"


def _indented(text: str) -> str:
    return printable(text).rstrip("\n").replace("\n", "\n        ")


class MarkdownReport(Report):
    """Tables, written at the end: a table's columns are known when all scripts are."""

    def __init__(self, out: TextIO, options: ReportOptions) -> None:
        super().__init__(out, options)
        self._scripts: list[ScriptFinished] = []

    def script(self, script: ScriptFinished) -> None:
        self._scripts.append(script)

    def end(self, run: RunFinished) -> None:
        self._out.write("\n".join(self._document(run)) + "\n")

    def _document(self, run: RunFinished) -> Iterable[str]:
        bad = run.errors or (run.warnings and self._options.strict)
        yield f"## ralph-bridge verify: {'contract violated' if bad else 'contract met'}"
        yield from ("", f"{plural(run.scripts, 'script')}: {counts(run)}")
        for kind, title in (("driver", "Drivers"), ("agent", "Agents"), ("provider", "Provider adapters")):
            scripts = [script for script in self._scripts if script.kind == kind]
            if scripts:
                yield from ("", f"### {title}", "", *_matrix(scripts))
        covered = [_covered(script) for script in self._scripts if script.coverage is not None]
        yield from _section("Coverage", ("script", "reached", "not reached"), covered)
        columns = ("script", "line", "check", "severity", "in", "what", "next")
        yield from _section("Findings", columns, [*self._findings()])
        yield from _section("Not judged", ("script", "check", "why"), [*self._unjudged()])
        if aside := [script.path for script in self._scripts if _out_of_scope(script)]:
            yield from ("", f"Neither driver nor agent, not run: {', '.join(cell(shown(path)) for path in aside)}")

    def _findings(self) -> Iterable[Sequence[str]]:
        for script in self._scripts:
            for found in script.findings:
                line = str(found.line) if found.line else ""
                more = rows(found)
                what = found.message + "".join(f"\n{name}: {text}" for name, text in more if name != "next")
                then = dict(more).get("next", "")
                yield shown(found.path), line, found.code, found.severity.value, found.hook or "", what, then

    def _unjudged(self) -> Iterable[Sequence[str]]:
        for script in self._scripts:
            for why, results in unjudged_by_reason(script).items():
                if len(results) > FEW:
                    yield shown(script.path), f"{len(results)} checks", why
                    continue
                for result in results:
                    yield shown(script.path), f"{result.code} {result.title}", why


def _section(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterable[str]:
    if lines:
        yield from ("", f"### {title}", "", *table(columns, lines))


def _covered(script: ScriptFinished) -> Sequence[str]:
    assert script.coverage is not None
    left = "\n".join(f"{name}: {text}" for name, text in missed(script.coverage))
    return shown(script.path), reached(script.coverage), left


def _matrix(scripts: Sequence[ScriptFinished]) -> Iterable[str]:
    stems = [{_stem(script, hook): state for hook, state in script.matrix.items()} for script in scripts]
    hooks = list(dict.fromkeys(hook for each in stems for hook in each))
    states = [
        [label(script), *(_STATES[each.get(hook, "absent")] for hook in hooks)]
        for script, each in zip(scripts, stems, strict=True)
    ]
    return table(["", *hooks], states)


def _stem(script: ScriptFinished, hook: str) -> str:
    """A hook's name without what all of the script have in front."""
    return hook.removeprefix(
        f"agent_{provider_of(script.matrix)}_" if script.kind == "provider" else f"{script.kind}_"
    )


def table(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterable[str]:
    """The lines of a table in Markdown."""
    yield f"| {' | '.join(map(cell, heading))} |"
    yield f"|{' --- |' * len(heading)}"
    for line in lines:
        yield f"| {' | '.join(map(cell, line))} |"


def cell(text: str) -> str:
    """`text` for one cell: nothing in it is markup, HTML, a mention or the end of the cell."""
    safe = printable(text).replace("&", "&amp;").replace("<", "&lt;")
    return _MARKUP.sub(r"\\\1", safe).replace("\t", " ").replace("\n", "<br>")
