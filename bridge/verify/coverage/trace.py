"""Which commands of a script ran, told by bash: a DEBUG trap writes each down before it runs.

The trap works in bash 3.2 to 5.3 alike, in functions, subshells and pipelines (functrace), and whatever a script
does to its stderr or to ``set -x``. It is set for runs whose observations nobody judges, so it changes nothing that
a check sees.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from bridge.shell.protocol import quote

if TYPE_CHECKING:
    from pathlib import Path

_LONGEST = 400  # bytes of a command: enough to know it by, and one write that no other cuts in two


class TracedCommand(NamedTuple):
    """A command as bash tells of it. line: where bash thinks that it stands. text: as bash prints it."""

    line: int
    text: str


def tracing(script: str, into: Path) -> str:
    """The code with which a bash begins to note what of a script it runs.

    script: the path by which it is sourced.
    """
    note = (
        f'[[ "${{BASH_SOURCE-}}" != {quote(script)} ]] || '
        f'\\builtin printf "%s %s\\0" "$LINENO" "${{BASH_COMMAND:0:{_LONGEST}}}" >>{quote(str(into))}'
    )
    return f"\\builtin set -T\n\\builtin trap -- {quote(note)} DEBUG\n"


def noted(file: Path) -> Counter[TracedCommand]:
    """What ran, and how often."""
    found: Counter[TracedCommand] = Counter()
    if not file.exists():
        return found
    for record in file.read_bytes().decode("utf-8", "surrogateescape").split("\0"):
        line, _, text = record.partition(" ")
        if line.isdigit():
            found[TracedCommand(int(line), text)] += 1
    return found
