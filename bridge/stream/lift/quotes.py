"""A function's text, made ready for bashlex without a change of meaning or of positions.

- bashlex refuses ``[[``: ``[[ -n $x ]]`` and ``[[ -z $x ]]`` mean the same as ``[ -n "$x" ]``, and
  ``[[ $x == "text" ]]`` as ``[ "$x" == "text" ]``. ``[[ $x == "text"* ]]`` becomes a test with an operator
  that bash doesn't have, ``=^`` (``!^``).
- It stumbles over some of what stands in ``$( )``, and over brackets in quotes there: the inside of
  ``'…'`` and of ``$(…)`` is masked. Words, and what is in ``$(…)``, are read from the text itself.
"""

from __future__ import annotations

import re

from bridge.stream.lift.faults import NotLifted

__all__ = ["prepared"]

_PLAIN = re.compile(r"[^'\"\\$`()<#\[]+")
_SINGLE = re.compile(r"'[^']*'")
_ANSI = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_HERE = re.compile(r"<<<|<(?!<)")
_EMPTY = re.compile(r"\[\[ (?P<sign>-[nz]) (?P<word>\"\$\{?\w+\}?\"|\$\w+) \]\]", re.ASCII)
_EQUAL = re.compile(
    r"""\[\[ (?P<word>"\$\{?\w+\}?"|\$\w+) (?P<sign>==|!=|=) (?P<text>"[^"\\$`]*"|'[^']*'|\\\{|[A-Za-z0-9_.-]+)"""
    r"""(?P<star>\*?) \]\]""",
    re.ASCII,
)


def prepared(source: str) -> tuple[str, str]:
    """The text to read words from, and the one for bashlex, of the same length.

    Raises:
        NotLifted: a test in ``[[ ]]`` that isn't understood, here-documents, backquotes, comments.
    """
    text: list[str] = []
    masked: list[str] = []
    at = 0
    while at < len(source):
        if source.startswith("[[", at):
            found = _EMPTY.match(source, at) or _EQUAL.match(source, at)
            if found is None or "=^" in source or "!^" in source:
                raise NotLifted(f"the test {source[at:].split(']]')[0][:60]}]]")
            text.append(_single(found))
            masked.append(text[-1])
            at = found.end()
            continue
        end = _token(source, at)
        piece = source[at:end]
        text.append(piece)
        masked.append(_masked(piece))
        at = end
    return "".join(text), "".join(masked)


def _single(found: re.Match[str]) -> str:
    word, sign = found["word"], found["sign"]
    if word[0] == "$":
        word = f'"{word}"'
    if sign[0] == "-":
        made = f"[ {sign} {word}"
    elif found["star"]:
        made = f"[ {word} {'!^' if sign == '!=' else '=^'} {found['text']}"
    else:
        made = f"[ {word} {sign} {found['text']}"
    room = len(found.group()) - len(made) - 1
    if room < 1:
        raise NotLifted(f"the test {found.group()}")
    return made + " " * room + "]"


def _masked(piece: str) -> str:
    if piece[0] == "'":
        return "'" + "x" * (len(piece) - 2) + "'"
    if piece.startswith("$("):
        return "$(" + "x" * (len(piece) - 3) + ")"
    if piece.startswith('"$(') and piece.endswith(')"'):
        return '"$(' + "x" * (len(piece) - 5) + ')"'
    return piece


def _token(source: str, at: int) -> int:
    """Where the quoted text, the expansion, or the plain text at this place ends."""
    for pattern in (_PLAIN, _SINGLE, _ANSI, _ESCAPED, _HERE):
        if found := pattern.match(source, at):
            return found.end()
    letter = source[at]
    if letter == '"':
        return _double(source, at + 1)
    if source.startswith("$(", at):
        return _substitution(source, at + 2)
    if letter in "'`" or source.startswith("<<", at):
        raise NotLifted("a here-document, backquotes, or a quote that doesn't end")
    if letter == "#" and (at == 0 or source[at - 1] in " \t\n;"):
        raise NotLifted("a comment within $( )")
    return at + 1


def _double(source: str, at: int) -> int:
    while at < len(source):
        letter = source[at]
        if letter == '"':
            return at + 1
        if letter == "`":
            raise NotLifted("backquotes")
        at = at + 2 if letter == "\\" else _substitution(source, at + 2) if source.startswith("$(", at) else at + 1
    raise NotLifted("a quote that doesn't end")


def _substitution(source: str, at: int) -> int:
    depth = 1
    while at < len(source):
        if source[at] == "(":
            depth += 1
        elif source[at] == ")":
            depth -= 1
            if not depth:
                return at + 1
        at = _token(source, at)
    raise NotLifted("a $( that doesn't end")
