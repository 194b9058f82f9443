"""Regular expressions of adapter files: written for .NET, run by Python."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["compiled", "marker_pattern", "translated"]

# Escapes are consumed in pairs, so that what follows an escaped backslash is not taken for one.
_TOKEN = re.compile(
    r"\\(?:u0001|x01|k[<'{]\w+[>'}]|[pP]\{\^?\w+\}|[\s\S])|\(\?<(?![=!])(\w+)>|\(\?'(\w+)'|\x01|\[\^?\]?"
)
_PROPERTIES = {"L": r"[^\W\d_]", "Lu": "[A-Z]", "Ll": "[a-z]", "N": r"\d", "Nd": r"\d"}


def translated(pattern: str) -> str:
    r"""`pattern` as Python writes it.

    Named groups and references to them, ``\e``, ``\z``, ``\Z`` and a few ``\p{..}`` differ between the two. A SOH
    character (the "unique" part of many prompts) is optional: readline takes it for its own "begin ignoring" sign
    and never prints it.

    >>> translated(r"(?<n>\d+)\z"), translated("^\u0001RIPPLE\u0001> $")
    ('(?P<n>\\d+)\\Z', '^\x01?RIPPLE\x01?> $')
    """
    in_class = False
    out: list[str] = []
    last = 0
    for match in _TOKEN.finditer(pattern):
        between = pattern[last : match.start()]
        in_class = in_class and "]" not in between
        out.append(between)
        last = match.end()
        piece = match[0]
        if piece.startswith("["):
            out.append(piece if not in_class else piece.replace("[", r"\["))
            in_class = True
        elif piece.startswith("\\"):
            out.append(_escape(piece, in_class=in_class))
        elif piece == "\x01":
            out.append(piece if in_class else "\x01?")
        elif in_class:
            out.append(piece)
        else:
            out.append(f"(?P<{match[1] or match[2]}>")
    out.append(pattern[last:])
    return "".join(out)


def _escape(piece: str, *, in_class: bool) -> str:
    if piece == r"\e":
        return r"\x1b"
    if in_class:
        return piece
    if piece in (r"\u0001", r"\x01"):
        return piece + "?"
    if piece[1] == "k":
        return f"(?P={piece[3:-1]})"
    if piece == r"\z":
        return r"\Z"
    if piece == r"\Z":
        return r"(?=\n?\Z)"
    if piece[1] in "pP" and len(piece) > 2:
        return _PROPERTIES.get(piece[3:-1], ".") if piece[1] == "p" else "."
    return piece


@lru_cache(maxsize=512)
def compiled(pattern: str, *, dotall: bool = False) -> re.Pattern[str]:
    """`pattern` ready to use: ``^`` and ``$`` are those of lines.

    Raises:
        re.error: it is no regular expression.
    """
    return re.compile(translated(pattern), re.MULTILINE | (re.DOTALL if dotall else 0))


def marker_pattern(marker: str) -> str:
    """The pattern of a prompt that is given literally; it ends what is on screen.

    >>> marker_pattern("\\x01RB\\x01>>> ") == "^\\x01RB\\x01>>>\\\\ $"
    True
    """
    return "^" + "".join(each if each == "\x01" else re.escape(each) for each in marker) + "$"
