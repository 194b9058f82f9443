"""Text that is no JSON, as far as all versions of jq agree on it."""

from __future__ import annotations

import re

__all__ = ["odd", "refused", "unfinished"]

_BLANKS = " \t\r\n"
_LONE = re.compile(r"\\u[dD][89a-fA-F]")
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
# A first word that starts so is no JSON in any version (n, i, s, t, f, digits, signs may be).
_NO_JSON = re.compile(r"[A-EGHJ-MO-RU-Za-eghj-mo-ru-z#*=>(!?'/<~@$%^&_|;`\\]")
# Where versions differ, or may: control characters, byte order marks, nan and its kin.
_ODD = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\x85\ufeff\ufffd]")


def odd(text: str) -> bool:
    """Whether a line holds what versions read differently: byte 0x1E, half of a surrogate pair."""
    if "\x1e" in text or "\0" in text:
        return True
    return ("\\ud" in text or "\\uD" in text) and _LONE.search(_PAIR.sub("", text)) is not None


def refused(text: str) -> bool:
    """Whether jq refuses the first value of this text, whatever its version; False when in doubt."""
    if _NO_JSON.match(text):
        return True
    text = text.rstrip(_BLANKS)
    return not _ODD.search(text) and _complaint(text) is not None


def unfinished(text: str) -> bool | None:
    """Whether more lines might complete the first value of this text; None when in doubt."""
    if _NO_JSON.match(text):
        return False
    if _ODD.search(text.rstrip(_BLANKS)):
        return None
    said = _complaint(text + "\n")
    return None if said is None else "Unfinished" in said


def _complaint(text: str) -> str | None:
    """What the engine says about the first value of a text; None if it takes it."""
    import jq

    try:
        for _ in jq.compile("1").input_text(text):
            return None
    except ValueError as error:
        return str(error)
    return None
