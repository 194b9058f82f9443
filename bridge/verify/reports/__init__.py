"""What a verification found, in the formats that people and programs read.

A report takes the engine's events one at a time and writes to a text stream; any number of them listen to one run.
What it writes can always be encoded as UTF-8, whatever the scripts hold. Here stands what the formats share.
"""

from __future__ import annotations

import os
import re
from difflib import unified_diff
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.wording import plural
from bridge.verify.findings import CheckOutcome, RunFinished, RunStarted, ScriptFinished, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import TextIO

    from bridge.verify.findings import CheckResult, Coverage, Event, Finding, Mend

FEW = 4
"""Up to so many checks that were not judged for the same reason are listed one by one."""


class ReportOptions(NamedTuple):
    """How a report is to look.

    colour: with ANSI colours, where the format has any.
    strict: a warning fails a check, as an error does.
    quiet: text only: findings and nothing else.
    width: text only: columns of the terminal, for lines that are cut between words; 0: they are left as they are.
    fixing: text only: mends were asked for, so that there are none is said.
    """

    colour: bool = False
    strict: bool = False
    quiet: bool = False
    width: int = 0
    fixing: bool = False


class Report:
    """Takes the events of one run, in their order, and writes what they mean."""

    def __init__(self, out: TextIO, options: ReportOptions) -> None:
        self._out = out
        self._options = options

    def take(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.begin()
            case ScriptFinished():
                self.script(event)
            case RunFinished():
                self.end(event)
        self._out.flush()

    def begin(self) -> None:
        """The run starts: nothing has to be written."""

    def script(self, script: ScriptFinished) -> None:
        raise NotImplementedError

    def end(self, run: RunFinished) -> None:
        """All scripts are done: nothing has to be written."""


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
    "github": Format("annotations of a GitHub workflow", "ci.GithubReport"),
    "markdown": Format("capability matrix and findings, for a job summary", "people.MarkdownReport"),
    "junit": Format("JUnit XML, for CI servers", "ci.JunitReport"),
    "sarif": Format("SARIF 2.1.0, for code scanning", "documents.SarifReport"),
    "lcov": Format("LCOV, for what shows coverage", "ci.LcovReport"),
}

# -- what they share ---------------------------------------------------------------------------------------------

# Lone surrogates are bytes that were not UTF-8 (surrogateescape), or come from a JSON string.
_SURROGATE = re.compile("[\ud800-\udfff]")
# What XML can't hold, what a terminal obeys, what turns a line around (bidi) or is invisible; not tab and newline.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def clean(text: str) -> str:
    r"""`text` without lone surrogates: a byte that is not UTF-8 becomes ``\xNN``.

    >>> clean("caf\udce9")
    'caf\\xe9'
    """
    return _SURROGATE.sub(_spelled, text)


def printable(text: str) -> str:
    r"""`text` that may stand anywhere: control characters and bytes that are not UTF-8 are spelled out.

    >>> printable("\x1b[31m\tred\n")
    '\\x1b[31m\tred\n'
    """
    return _UNPRINTABLE.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    number = ord(match[0])
    if 0xDC80 <= number <= 0xDCFF:
        number -= 0xDC00
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def inline(text: str) -> str:
    return printable(text).replace("\n", "\\n")


def shown(path: Path) -> str:
    """A path as people type it: relative to the working folder when it lies below."""
    text = os.fspath(path)
    relative = os.path.relpath(text) if os.path.isabs(text) else os.path.normpath(text)
    return text if relative.startswith(os.pardir) else relative


def label(script: ScriptFinished) -> str:
    return inline(script.name or script.path.stem)


def rows(finding: Finding) -> list[tuple[str, str]]:
    """What there is to say about a finding beside its message, each with its name."""
    also = [("also", text) for text in finding.evidence]
    mend = [("mend", f"{finding.fix.title} (--fix --write does it)")] if finding.fix else []
    found = [("expected", finding.expected), *also, *(mend or [("next", finding.hint)])]
    return [row for row in found if row[1]]


def described(finding: Finding, indent: str = "") -> str:
    """The message of a finding, and the rest of it on lines of their own."""
    return finding.message + "".join(f"\n{indent}{name}: {text}" for name, text in rows(finding))


_ANSI = re.compile(r"\x1b\[[\d;]*m")


def wrapped(line: str, width: int, indent: int = 8) -> str:
    r"""A line for a terminal of so many columns, cut between words; a word that is too long has a line of its own.

    >>> wrapped("drivers/my.sh: a word", 16, 4)
    'drivers/my.sh: a\n    word'
    """
    words = line.split(" ")
    text, column = words[0], len(_ANSI.sub("", words[0]))
    for word in words[1:]:
        length = len(_ANSI.sub("", word))
        if 0 < width < column + 1 + length and column >= indent and word and text.strip():
            text, column = f"{text}\n{' ' * indent}{word}", indent + length
        else:
            text, column = f"{text} {word}", column + 1 + length
    return text


def reached(coverage: Coverage) -> str:
    lines, known = len(coverage.lines), coverage.known_branches
    taken = sum(bool(branch.taken) for branch in known)
    of_them = f"{coverage.hit} of {plural(lines, 'line')}{f' ({100 * coverage.hit // lines} %)' if lines else ''}"
    unknown = len(coverage.branches) - len(known)
    rest = f" ({unknown} not known)" if unknown else ""
    return f"{of_them}, {taken} of {plural(len(known), 'branch', 'branches')}{rest}"


def missed(coverage: Coverage) -> list[tuple[str, str]]:
    """What of a script was not reached, each with its name; branches only where somebody could have gone there."""
    left = sorted(branch[:3] for branch in coverage.known_branches if branch.reached and not branch.taken)
    found = [
        ("lines not reached", ranges(coverage.missed)),
        ("branches not taken", ", ".join(f"{line} {label}" for line, _, label in left)),
        ("functions not read", ", ".join(coverage.unread)),
        ("not known", "what ran once the script had set a DEBUG trap of its own" if coverage.own_trap else ""),
    ]
    return [row for row in found if row[1]]


def ranges(numbers: Sequence[int]) -> str:
    """Numbers in their order, those that follow each other as one.

    >>> ranges([3, 5, 6, 7])
    '3, 5-7'
    """
    grouped = groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])  # as the numbers rise with their places
    runs = ([number for _, number in run] for _, run in grouped)
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def diff(path: Path, mend: Mend) -> Iterator[str]:
    """The lines of the unified diff of a mend, as ``git apply`` and ``patch -p1`` take it."""
    name = inline(shown(path))
    old, new = (f"{side}/{name}" if not name.startswith(("/", "..")) else name for side in "ab")
    before, after = (data.decode("utf-8", "surrogateescape").split("\n") for data in (mend.before, mend.after))
    for line in unified_diff(_lines(before), _lines(after), old, new, lineterm=""):
        yield from printable(line).split("\n")


def _lines(parts: list[str]) -> list[str]:
    """The lines of a text; a last one that isn't ended says so, as diff does."""
    return parts[:-1] + ([f"{parts[-1]}\n\\ No newline at end of file"] if parts[-1] else [])


def fails(result: CheckResult, *, strict: bool) -> bool:
    """Whether a check's result makes the run fail: an error, and with `strict` a warning."""
    if not result.findings:
        return result.outcome is CheckOutcome.FAILED
    # Whatever the outcome: a check that was not judged to its end may have found something before.
    bad = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    return any(finding.severity in bad for finding in result.findings)


def counts(run: RunFinished) -> str:
    numbers = ((run.errors, "error"), (run.warnings, "warning"), (run.infos, "note"))
    return ", ".join(plural(*each) for each in numbers) + f", {run.unknown} not judged" * bool(run.unknown)


def tally(script: ScriptFinished, outcome: CheckOutcome) -> int:
    return sum(result.outcome is outcome for result in script.results)


def unjudged(result: CheckResult) -> str:
    """What a check has not judged, in words; empty when it has judged everything."""
    return f"not judged: {result.reason or result.title}" if result.unjudged else ""


def unjudged_by_reason(script: ScriptFinished) -> dict[str, list[CheckResult]]:
    """What was not judged of a script: one reason, such as a syntax error, often holds for every check."""
    found: dict[str, list[CheckResult]] = {}
    for result in script.results:
        if reason := unjudged(result):
            found.setdefault(reason, []).append(result)
    return found
