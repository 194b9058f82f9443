"""What a loop script takes as arguments, as its text has it. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_ARGUMENTS = re.compile(r"\$(?:[1-9@*#]|\{#?[1-9@*])|\bshift\b|\bgetopts\b")
_TAKEN = re.compile(r"(?:=|<=?|\.\.|\bseq\b[^\n;]*\s)\s*\"?\$\{?[1-9]\b")
_LOCAL = re.compile(r"\b(?:local|declare|typeset)\s[^\n;]*")
"""Its words are those of a function."""
_HANDED_ON = re.compile(r"\$\{?[@*]")
"""A function, or another script, gets all of its words."""
_NUMBER = re.compile(r"\[[01]-9\]|\[:digit:\]")
"""It asks of a word whether that is a number, wherever it stands."""
_OPTION = re.compile(r"(?<![\w-])(--max-iterations|--iterations|--max|-n)(?:=\*)?(?=[|)])")
"""An option with the number, in a pattern of a ``case``."""
_COUNTED = re.compile(
    r"\$\{?#\}?[\"']?\s*(?:-l[te]|-eq|<|==?|(?:-ne|!=)\s*[1-9])|\$\{[12]:?\?|-z\s+\"?\$\{?1\b"
    r"|-n\s+\"?\$\{?1\b[^\n]{0,200}\|\||(?:<=?|\.\.|\bseq\b[^\n;]{0,200}\s)\s*\"?\$\{?1\b(?!:?-)"
)
"""It asks whether there is one, or counts to one without another value for none."""
_KEPT = re.compile(r"\b(\w+)=\"?\$\{?[12](?::?-)?\}?\"?(?=[\s;])")
_NONE = re.compile(
    r"-(?:z\s+\"?\$\{?(\w+)\b|n\s+\"?\$\{?(\w+)\b[^\n]{0,200}\|\|)"
    r"(?=[^\n]{0,200}(?:\n[^\n]{0,200}){0,3}?(?:\bexit\b|usage|\bdie\b|fail|err))",
    re.IGNORECASE,
)
"""What it has kept of one, or of an option's value, isn't there, and that is no good."""
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_SECOND = re.compile(r"\$\{?2\b")


def takes_words(text: str) -> bool:
    """Whether a script reads its arguments."""
    return _ARGUMENTS.search(text) is not None


def takes_number(text: str) -> bool:
    """Whether a script may be told a number: it asks whether a word is one, keeps any word or counts to it, or
    hands its words on. One that compares them with options alone would refuse it.
    """
    if any(each.search(text) for each in (_NUMBER, _OPTION, _HANDED_ON)):
        return True
    return _TAKEN.search(_LOCAL.sub("", text)) is not None


def needs_words(text: str) -> bool:
    """Whether a script may refuse to go on without arguments."""
    text = _COMMENT.sub("", text)
    missed = {name for each in _NONE.finditer(text) for name in each.groups() if name}
    return _COUNTED.search(text) is not None or not missed.isdisjoint(_KEPT.findall(text))


def number_words(most: int | None, text: str, mode: Sequence[str] = (), usual: str = "") -> tuple[str, ...]:
    """Give the words that say how many iterations, behind those of a mode.

    Args:
        most: iterations; None: nobody says.
        mode: words that come before. usual: the word that stands there for the usual mode.
    """
    if most is None or not takes_number(text):
        return tuple(mode)
    numbered = _NUMBER.search(text) is not None
    if not numbered and (found := _OPTION.search(text)) is not None:
        return (*mode, found[1], str(most))
    if not mode and usual and not numbered and _SECOND.search(text):
        mode = (usual,)
    return (*mode, str(most))
