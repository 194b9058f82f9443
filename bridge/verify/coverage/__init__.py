"""Coverage: which commands of a script, and which of its branches, the observations of the probe reached.

A DEBUG trap writes each command down before it runs. It works in bash 3.2 to 5.3 alike, in functions, subshells and
pipelines (functrace), and whatever a script does to its stderr or to ``set -x``. It is set for runs whose
observations nobody judges, so it changes nothing that a check sees.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from bridge.shell.protocol import quote
from bridge.verify.coverage.units import Outline, squeezed
from bridge.verify.findings import Branch, Coverage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from bridge.verify.coverage.units import Branching, Unit
    from bridge.verify.facts import Reading

_REDIRECTION = re.compile(r"\d*[<>&]|\Z")
_LONGEST = 400  # bytes of a command: enough to know it by, and one write that no other cuts in two


class TracedCommand(NamedTuple):
    """A command as bash tells of it. line: where bash thinks that it stands. text: as bash prints it."""

    line: int
    text: str


def tracing(script: str, into: Path) -> str:
    """The code with which a bash begins to note what it runs of the script that is sourced by this path."""
    note = (
        f'[[ "${{BASH_SOURCE-}}" != {quote(script)} ]] || '
        f'\\builtin printf "%s %s\\0" "$LINENO" "${{BASH_COMMAND:0:{_LONGEST}}}" >>{quote(str(into))}'
    )
    return f"\\builtin set -T\n\\builtin trap -- {quote(note)} DEBUG\n"


def noted(file: Path) -> Counter[TracedCommand]:
    found: Counter[TracedCommand] = Counter()
    if not file.exists():
        return found
    for record in file.read_bytes().decode("utf-8", "surrogateescape").split("\0"):
        line, _, text = record.partition(" ")
        if line.isdigit():
            found[TracedCommand(int(line), text)] += 1
    return found


def coverage_of(reading: Reading, ran: Mapping[TracedCommand, int]) -> Coverage:
    """The coverage of a script with these syntax trees, of which this ran."""
    outline = Outline(tree.root_node for tree in reading.trees)
    hits, doubtful = _hits(outline.units, ran)
    for number in sorted(outline.behind, reverse=True):  # a loop over nothing was passed all the same
        hits[number] = max(hits[number], hits[outline.behind[number]])
    unknown = frozenset(number for number in doubtful if not hits[number])
    lines: dict[int, int] = {}
    for number, unit in enumerate(outline.units):
        if number not in unknown:
            lines[unit.line] = max(lines.get(unit.line, 0), hits[number])
    sites = enumerate(outline.branchings)
    return Coverage(
        tuple(sorted(lines.items())),
        tuple(branch for site, each in sites for branch in _branches(site, each, hits, unknown)),
        tuple((each.name, each.line, hits[each.first]) for each in outline.functions),
        tuple(name for name, _, _ in reading.unread),
        any(re.match(r"(?:builtin)?trap\b.*DEBUG$", squeezed(each.text)) for each in ran),
    )


def _hits(units: Sequence[Unit], ran: Mapping[TracedCommand, int]) -> tuple[Counter[int], set[int]]:
    """How often each unit ran; and the units of which that isn't known, because they look alike."""
    by_line: dict[int, list[int]] = {}
    by_text: dict[str, list[int]] = {}
    for number, unit in enumerate(units):
        by_text.setdefault(unit.text, []).append(number)
        for line in range(unit.line, unit.end + 1):
            by_line.setdefault(line, []).append(number)
    hits: Counter[int] = Counter()
    doubtful: set[int] = set()
    for each, times in ran.items():
        text = squeezed(each.text)
        here = by_line.get(each.line, [])
        begun = [number for number in here if units[number].line == each.line]
        found = _exact(begun, units, text) or _exact(here, units, text)
        # Of what runs in $( ) and <( ), bash tells some line or other.
        found = found or (by_text[text] if len(by_text.get(text, ())) == 1 else [])
        found = found or _alike(begun, units, text) or _alike(here, units, text)
        if len(found) == 1:
            hits[found[0]] += times
        else:
            doubtful.update(found)
    return hits, doubtful


def _exact(numbers: Iterable[int], units: Sequence[Unit], text: str) -> list[int]:
    """Those with this text, but for redirections, which bash prints behind all words."""
    return [
        number
        for number in numbers
        if text.startswith(units[number].text) and _REDIRECTION.match(text, len(units[number].text))
    ]


def _alike(numbers: Iterable[int], units: Sequence[Unit], text: str) -> list[int]:
    """Those whose text begins most like this one: bash prints some words in another form, such as ``$'...'``."""
    common = {
        number: len(os.path.commonprefix([units[number].text, text]))  # noqa: RUF071 - characters are what is compared
        for number in numbers
    }
    longest = max(common.values(), default=0)
    return [number for number in common if common[number] == longest] if longest >= min(3, len(text)) else []


def _branches(site: int, each: Branching, hits: Mapping[int, int], unknown: frozenset[int]) -> list[Branch]:
    passed = None if each.before is None or each.before in unknown else hits[each.before]
    reached = None if passed is None else bool(passed)
    counts = [None if arm.first is None or arm.first in unknown else hits[arm.first] for arm in each.arms]
    found = [
        Branch(each.line, site, arm.label, taken, reached) for arm, taken in zip(each.arms, counts, strict=True)
    ]
    if each.rest:
        known = passed is not None and None not in counts
        rest = max(0, (passed or 0) - sum(count or 0 for count in counts)) if known else None
        found.append(Branch(each.line, site, each.rest, rest, reached))
    return found
