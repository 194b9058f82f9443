"""Counts, time spans, money and foreign text as people read them. Pure."""

from __future__ import annotations

import os
import unicodedata
from typing import TYPE_CHECKING, Literal

from bridge.base.patterns import lazy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Colours = Literal["none", "ours", "any"]
COLOUR = lazy(r"(\x1b\[[0-9;:]*m)")
_OURS = lazy(r"(\x1b\[(?:0|(?:[12]|3[1-6])(?:;(?:[12]|3[1-6]))*)m)")
_SEQUENCE = lazy(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])")
_BEGUN = lazy(r"(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)|\r)\Z")
_MOST_HELD = 1000  # characters of a sequence that doesn't end: then it is no sequence
_JOINERS = ("\u200c", "\u200d")
_CLOSING = lazy(
    r"(?i)(\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+)(?=(?:[\w.-]+/[\w.-]+)?#\d|GH-\d|https?://)"
)


def plural(number: int, noun: str, several: str = "") -> str:
    """A number of things.

    >>> plural(1, "error"), plural(2, "error")
    ('1 error', '2 errors')
    """
    return f"{number} {noun if number == 1 else several or f'{noun}s'}"


def changed(files: int | None, worked: bool | None = None) -> str:
    """What a turn has changed; '' where nobody can tell.

    >>> changed(2), changed(0), changed(None, False), changed(None, True), changed(0, True)
    ('2 files changed', 'nothing changed', 'nothing changed', 'files changed', 'only the plan changed')

    Args:
        files: as git counts them; None: nobody has.
        worked: it changed anything; None: nobody can tell.
    """
    if files:
        return f"{plural(files, 'file')} changed"
    if worked:
        return "files changed" if files is None else "only the plan changed"
    return "nothing changed" if worked is False or files == 0 else ""


def duration(seconds: float) -> str:
    """A time span.

    >>> duration(0.42), duration(75), duration(7261)
    ('0.4 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def usd(amount: float) -> str:
    """An amount of money, small ones with more digits.

    >>> usd(1.5), usd(0.012)
    ('$1.50', '$0.0120')
    """
    return f"${amount:.{2 if amount >= 0.1 or not amount else 4}f}"


def tame(text: str, keep: str = "") -> str:
    """Take out what would move the cursor or change the terminal, but for the characters of `keep`.

    >>> tame("a\\x1b[2Jb\\n")
    'a [2Jb '
    """
    return "".join(each if each.isprintable() or each in keep else " " for each in text)


def one_line(text: str, most: int | None = None) -> str:
    """Make a text fit for one line, of at most so many characters.

    >>> one_line("a \\x1b\\n b"), one_line("abcdef", 5)
    ('a b', 'ab...')
    """
    shown = " ".join(tame(text).split())
    return shown if most is None or len(shown) <= most else f"{shown[: most - 3]}..."


def closing_nothing(text: str) -> str:
    """Foreign text for a commit or the title of a pull request: no word in it closes an issue when that is pushed.

    >>> closing_nothing("Fixes #3, and resolved: me/app#4; fix the parser (#5)")
    'Fixes issue #3, and resolved: issue me/app#4; fix the parser (#5)'
    """
    return _CLOSING.sub(r"\1issue ", text)


def columns(rows: Iterable[Sequence[str]], indent: str = "") -> list[str]:
    """A table as lines, each column as wide as a terminal needs for its widest cell.

    >>> columns([("task", "turns"), ("a", "12")])
    ['task  turns', 'a     12']
    """
    table = list(rows)
    widths = [max(map(_width, column)) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        cells = [cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
        lines.append((indent + "  ".join(cells)).rstrip())
    return lines


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


# -- what may reach a terminal: it does what it is told, and a text may tell it anything ---------------


def harmless(text: str, *, colours: Colours = "none", joiners: bool = False) -> str:
    r"""Leave out escape sequences but for colours, and what is invisible or turns the direction of writing; other
    control characters but newlines and tabs become blanks. A byte that was no UTF-8 is spelled out.

    Args:
        text: may be anybody's.
        colours: which ones stay: those that our own messages have, or any; none is left open.
        joiners: keep the zero-width ones, without which some scripts and emoji fall apart.

    >>> harmless("a\x1b]52;c;cm0=\x07b\x1b[2Jc\x9bd\re\u202ef\udcff")
    'abc d ef\\xff'
    """
    text = text.replace("\r\n", "\n")
    if text.isprintable():
        return text
    kept = {"none": None, "ours": _OURS, "any": COLOUR}[colours]
    text = _SEQUENCE.sub(lambda found: found[0] if kept and kept.fullmatch(found[0]) else "", text)
    pieces = kept.split(text) if kept else [text]
    pieces[::2] = ["".join(_plain(char, joiners=joiners) for char in piece) for piece in pieces[::2]]
    is_open = len(pieces) > 1 and colours == "ours" and pieces[-2] != "\x1b[0m"
    return "".join(pieces) + "\x1b[0m" * is_open


def coloured(text: str) -> str:
    """Give what an agent says as people see it: text and its colours, without them where ``NO_COLOR`` is set."""
    return harmless(text, colours="none" if os.environ.get("NO_COLOR") else "any", joiners=True)


def _plain(char: str, *, joiners: bool) -> str:
    if char.isprintable() or char in "\n\t" or (joiners and char in _JOINERS):
        return char
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return {"Zs": char, "Cf": "", "Co": char, "Cn": char}.get(unicodedata.category(char), " ")


def apart(text: str) -> tuple[str, str]:
    """Take off the beginning of an escape sequence or of a line end, to wait for the rest."""
    begun = _BEGUN.search(text)
    if begun is None or len(begun[0]) > _MOST_HELD:
        return text, ""
    return text[: begun.start()], begun[0]
