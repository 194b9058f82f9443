"""What the reports share: their shape, their options, and text that no format chokes on."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bridge.verify.model import Outcome, Severity

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.verify.model import CheckResult, Event, ScriptFinished

FEW = 4
"""Up to so many checks that could not be determined for the same reason are listed one by one."""


class Report(Protocol):
    """Takes the events of one run, in their order."""

    def take(self, event: Event) -> None:
        """Take one event, and write what it means."""


class Options(NamedTuple):
    """How a report is to look.

    colour: with ANSI colours, where the format has any.
    strict: a warning fails a check, as an error does.
    quiet: text only: findings and nothing else.
    """

    colour: bool = False
    strict: bool = False
    quiet: bool = False


# Lone surrogates are bytes that were not UTF-8 (surrogateescape), or come from a JSON string.
_SURROGATE = re.compile("[\ud800-\udfff]")
# What XML can't hold, what a terminal would obey, and what turns a line around (bidi); not tab and newline.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]"
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


def shown(path: Path) -> str:
    """A path as people type it: relative to the working folder when it lies below."""
    text = os.fspath(path)
    relative = os.path.relpath(text) if os.path.isabs(text) else os.path.normpath(text)
    return text if relative.startswith(os.pardir) else relative


def label(script: ScriptFinished) -> str:
    """What a script is called, on one line."""
    return printable(script.name or script.path.stem).replace("\n", "\\n")


def fails(result: CheckResult, *, strict: bool) -> bool:
    """Whether a check's result makes the run fail: an error, and with `strict` a warning."""
    if not result.findings:
        return result.outcome is Outcome.FAILED
    # Whatever the outcome: a check that could not be determined to its end may have found something before.
    bad = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    return any(finding.severity in bad for finding in result.findings)


def tally(script: ScriptFinished, outcome: Outcome) -> int:
    """How many of a script's checks went that way."""
    return sum(result.outcome is outcome for result in script.results)


def plural(number: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "error"), plural(2, "error")
    ('1 error', '2 errors')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def unknown_by_reason(script: ScriptFinished) -> dict[str, list[CheckResult]]:
    """What could not be determined of a script: one reason, such as a syntax error, often holds for every check."""
    found: dict[str, list[CheckResult]] = {}
    for result in script.results:
        if result.outcome is Outcome.UNKNOWN:
            found.setdefault(result.reason or result.title, []).append(result)
    return found
