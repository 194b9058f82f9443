"""What a review has found, as a reviewer writes it and as the next turn reads it. Pure."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base.patterns import lazy
from bridge.base.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FINDINGS = ".ralph_bridge.review.md"
"""The file with what the last review has found, in the folder of the loop's state."""
NO_ISSUES = "NO ISSUES FOUND"
_MOST, _LONGEST = 50, 300
_FINDING = lazy(
    r"\s*(?:[-*•]|\d+[.)])?\s*[*_`\[(]*(?P<file>[^\s:`*](?:[^:`*]*[^\s:`*])?):(?P<line>[1-9]\d{0,6})(?:[-\u2013:]\d+)?"
    r"[*_`\])]*\s*[:\u2013\u2014-]?\s*(?P<text>\S.*)"
)


class Finding(NamedTuple):
    """Something that is wrong; `file` is relative to the project."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.text}"


class Opinion(NamedTuple):
    """What came of a review.

    Attributes:
        findings: what is wrong; None: nobody can tell.
        why: why nobody can tell; or ''.
        skipped: and it is no use to ask again now: the tool is at a limit, or can't be used at all.
        changed: paths that it changed all the same.
    """

    findings: tuple[Finding, ...] | None
    why: str = ""
    skipped: bool = False
    changed: tuple[str, ...] = ()


def findings_in(words: str, is_file: Callable[[str], bool]) -> tuple[Finding, ...] | None:
    """Read a reviewer's last message; None: it says neither what is wrong, nor that nothing is.

    Bullets, numbers and Markdown around a finding are passed over; one counts only where there is such a file.

    Args:
        is_file: whether a path, relative to the project, is one of its files, or was.

    >>> findings_in("1. `a.py:3`: too late\\nb.py:1 isn't there", "a.py".__eq__)
    (Finding(file='a.py', line=3, text='too late'),)
    >>> findings_in("All is well.\\n\\n**NO ISSUES FOUND**", bool), findings_in("It seems good.", bool)
    ((), None)
    """
    found: dict[Finding, None] = {}
    clean = False
    for line in words.splitlines():
        clean = clean or line.strip(" \t*_`#.!>") == NO_ISSUES
        if (match := _FINDING.fullmatch(line[: 4 * _LONGEST])) and is_file(name := match["file"]):
            found[Finding(name, int(match["line"]), one_line(match["text"].strip("*_` "), _LONGEST))] = None
    return tuple(found)[:_MOST] if found else () if clean else None


def report_of(findings: Iterable[Finding], tool: str, number: int) -> str:
    """Write the file with the findings."""
    lines = "".join(f"- {each}\n" for each in findings) or f"{NO_ISSUES}\n"
    return f"# Review behind turn {number}, by {tool}\n\n{lines}"


def words_of(findings: Iterable[Finding | str], tool: str) -> str:
    """Tell a turn of findings: as data, between marks that nobody can have known."""
    mark = os.urandom(4).hex()
    return "\n".join(
        (
            f"The work so far was reviewed by another tool ({tool}). What it says stands between the marks {mark}:"
            " look at each point, mend what is wrong, and say of the others why they are right as they are.",
            f"--- {mark} ---",
            *(f"- {each}" for each in findings),
            f"--- {mark} ---",
        )
    )


def kept(found: dict[str, Any] | None) -> tuple[str, int, tuple[str, ...]]:
    """Read what an earlier run has kept, which anybody may have written to since: base, rounds, findings."""
    found = found or {}
    base, refused, findings = found.get("base"), found.get("refused"), found.get("findings")
    listed = findings if isinstance(findings, list) else []
    return (
        base if isinstance(base, str) and re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", base) else "",
        refused if isinstance(refused, int) and 0 <= refused < 1000 else 0,
        tuple(one_line(each, 2 * _LONGEST) for each in listed[:_MOST] if isinstance(each, str) and each.strip()),
    )
