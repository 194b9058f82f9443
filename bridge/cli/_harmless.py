"""What of a text may reach a terminal: a terminal does what it is told, and a text may tell it anything. Pure."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

Colours = Literal["none", "ours", "any"]

COLOUR = re.compile(r"(\x1b\[[0-9;:]*m)")
_OURS = re.compile(r"(\x1b\[(?:0|(?:[12]|3[1-6])(?:;(?:[12]|3[1-6]))*)m)")
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])"
)
_WORKFLOW_COMMAND = re.compile(r"^(\s*:)(?=:)|(##)(?=\[)", re.MULTILINE)
_JOINERS = ("\u200c", "\u200d")


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


def no_workflow_command(text: str) -> str:
    """Break up what a GitHub workflow would take for a command to itself: ``::`` that a line begins with, ``##[``.

    >>> no_workflow_command("note\\n  ::error::a::b"), no_workflow_command("a ##[group]b")
    ('note\\n  : :error::a::b', 'a ## [group]b')
    """
    return _WORKFLOW_COMMAND.sub(r"\1\2 ", text)


def _plain(char: str, *, joiners: bool) -> str:
    if char.isprintable() or char in "\n\t" or (joiners and char in _JOINERS):
        return char
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return {"Zs": char, "Cf": "", "Co": char, "Cn": char}.get(unicodedata.category(char), " ")
