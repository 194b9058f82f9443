"""For people: what is wrong, where, what was expected, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.model import CheckOutcome, RunFinished, ScriptFinished, Severity
from bridge.verify.reports.base import (
    FEW,
    diff,
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
from bridge.wording import plural

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO

    from bridge.verify.model import Event, Finding, Mend
    from bridge.verify.reports.base import ReportOptions

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


class TextReport:
    """One line per script, a paragraph per finding, and the sum.

    It says no seconds: the same scripts give the same text, so that two runs can be compared.
    """

    def __init__(self, out: TextIO, options: ReportOptions) -> None:
        self._out = out
        self._options = options
        self._bad = self._run = self._left_out = self._mended = self._left = 0
        self._written = False

    def take(self, event: Event) -> None:
        """Write what the event means."""
        if isinstance(event, ScriptFinished):
            self._script(event)
        elif isinstance(event, RunFinished) and not self._options.quiet:
            self._sum(event)
        self._out.flush()

    def _script(self, script: ScriptFinished) -> None:
        self._count(script)
        where = printable(shown(script.path)).replace("\n", "\\n")
        if not self._options.quiet:
            self._line(f"{self._style(where, 'bold')}: {_outcome(script)}")
        for finding in script.findings:
            self._finding(where, finding)
        if script.mend is not None:
            self._mend(where, script.path, script.mend)
        if script.coverage is not None and not self._options.quiet:
            self._line(f"{where}: {reached(script.coverage)} reached")
            for name, text in missed(script.coverage):
                self._line(f"    {self._style(name, 'dim')}: {_indented(text)}")
        for said, results in unjudged_by_reason(script).items():
            few = len(results) <= FEW
            who = ", ".join(_named(result.code) for result in results) if few else f"{len(results)} checks"
            words, _, reason = said.partition(": ")
            self._line(f"{where}: {who} {self._style(words, 'magenta')}: {_indented(reason)}")

    def _count(self, script: ScriptFinished) -> None:
        if script.kind == "out-of-scope" and not script.findings:
            self._left_out += 1
            return
        self._run += 1
        failing = {Severity.ERROR, Severity.WARNING} if self._options.strict else {Severity.ERROR}
        self._bad += any(finding.severity in failing for finding in script.findings)

    def _finding(self, where: str, finding: Finding) -> None:
        place = f"{where}:{finding.line}" if finding.line else where
        word = self._style(finding.severity.value, _COLOURS[finding.severity], "bold")
        self._line(f"{place}: {_named(finding.code)} {word}: {_indented(finding.message)}")
        # Codes of scenarios (feature:line) bring a hint of their own.
        hinted = finding if finding.hint else finding._replace(hint=f"ralph-bridge explain {_named(finding.code)}")
        for name, text in [*([("in", finding.hook)] if finding.hook else []), *rows(hinted)]:
            self._line(f"    {self._style(name, 'dim')}: {_indented(text)}")

    def _mend(self, where: str, path: Path, mend: Mend) -> None:
        self._mended += len(mend.fixed)
        self._left += mend.left
        self._written |= mend.written
        if mend.written:
            for fixed in mend.fixed:
                title = fixed.fix.title if fixed.fix else ""
                self._line(f"{where}: {_named(fixed.code)} {self._style('mended', 'green')}: {_named(title)}")
            return
        for line in diff(path, mend):
            colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
            self._out.write((self._style(line, colour) if colour else line) + "\n")
        if mend.refused:
            self._line(f"{where}: {self._style('not mended', 'red', 'bold')}: {_indented(mend.refused)}")

    def _sum(self, run: RunFinished) -> None:
        words = [plural(run.errors, "error"), plural(run.warnings, "warning")]
        if run.infos:
            words.append(plural(run.infos, "note"))
        if run.unknown:
            words.append(self._style(f"{run.unknown} not judged", "magenta"))
        scripts = plural(self._run, "script")
        if self._bad:
            who = scripts if self._bad == self._run else f"{self._bad} of {scripts}"
            violate = "violates" if self._bad == 1 else "violate"
            verdict = f"{who} {self._style(f'{violate} the contract', 'red')}"
        else:
            meet = self._style(f"{'meets' if self._run == 1 else 'meet'} the contract", "green")
            so_far = " as far as it was judged" if run.unknown else ""
            verdict = f"{scripts} {meet}{so_far}" if self._run else "nothing to verify"
        left_out = f" ({self._left_out} not run)" if self._left_out else ""
        self._line(f"{verdict}: {', '.join(words)}{left_out}")
        if self._mended:
            done = "mended" if self._written else "can be mended: --fix --write does it"
            again = "; run it again for the rest" if self._left else ""
            self._line(f"{plural(self._mended, 'finding')} {done}{again}")

    def _line(self, text: str) -> None:
        for line in text.split("\n"):
            self._out.write(wrapped(line, self._options.width) + "\n")

    def _style(self, text: str, *names: str) -> str:
        # By hand: only the command line may know click.
        if not self._options.colour:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"


def _named(text: str) -> str:
    """A text on one line; the code of a scenario is a path."""
    return printable(text).replace("\n", "\\n")


def _outcome(script: ScriptFinished) -> str:
    if script.kind == "out-of-scope" and not script.findings:
        return f"not run: {_named(script.reason or 'it defines no hook')}"
    if script.kind == "out-of-scope":
        return "can't be verified"
    counts = [f"{number} {outcome.word}" for outcome in CheckOutcome if (number := tally(script, outcome))]
    return f"{script.kind} {label(script)}, {plural(len(script.results), 'check')}: {', '.join(counts) or 'none'}"


def _indented(text: str) -> str:
    return printable(text).rstrip("\n").replace("\n", "\n        ")
