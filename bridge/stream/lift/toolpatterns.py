"""Regular expressions of grep and sed as Python's, where both find the same text."""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from bridge.stream.lift.faults import NotLifted

__all__ = ["Pattern", "translate"]


class Pattern(NamedTuple):
    """A translated pattern.

    Attributes:
        source: for Python's re.
        needle: literal text that each match begins with, behind a leading ``.*``; empty when there is none.
        wanders: a search may look at the rest of the line again for every needle that it meets.
    """

    source: str
    needle: str
    wanders: bool

    def takes_long(self, line: str) -> bool:
        """Whether a search of this line might. Python backtracks, uninterruptibly; grep and sed don't."""
        if not self.wanders or len(line) < _SHORT:
            return False
        return (line.count(self.needle) if self.needle else len(line)) * len(line) > _STEPS


_SHORT = 1000
_STEPS = 20_000_000  # some 50 ms


class _Atom(NamedTuple):
    source: str  # for Python
    chars: frozenset[str] | None  # what it matches; None with `other`: everything but those
    negated: bool
    repeated: str = ""


_LITERAL = re.compile(r"[A-Za-z0-9 \"'_:;,=@#%&<>/!~-]")
_SET = re.compile(r"\[(\^?)((?:[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9 \"'_:;,=@#%&<>/!~.+*?(){}|$-])+)\]")
_ANYTHING = _Atom(".", frozenset("\n"), True, "*")


def translate(pattern: str, kind: str, *, groups: bool = False) -> Pattern:
    r"""The pattern for Python's re.

    Args:
        pattern: as grep or sed has it.
        kind: "F" fixed, "G" basic, "E" extended.
        groups: ``\(…\)`` may stand in it (sed).

    Raises:
        NotLifted: it might match something else there.
    """
    if not pattern.isascii() or "\n" in pattern:
        raise NotLifted(f"the pattern {pattern!r}")
    if kind == "F":
        return Pattern(re.escape(pattern), pattern, False)
    start = pattern.startswith("^")
    end = len(pattern) > 1 and pattern.endswith("$") and not pattern.endswith("\\$")
    inner = pattern[start : len(pattern) - end]
    out: list[str] = ["^"] if start else []
    atoms: list[_Atom] = []
    at, opened = 0, 0
    while at < len(inner):
        bracket = "()" if kind == "E" else None
        piece = inner[at : at + 2]
        if groups and (piece in ("\\(", "\\)") if bracket is None else piece[:1] in ("(", ")")):
            mark = piece[-1] if bracket is None else piece[0]
            opened += 1 if mark == "(" else -1
            out.append(mark)
            at += 2 if bracket is None else 1
            if opened not in (0, 1) or inner[at : at + 1] in ("*", "+", "?"):
                raise NotLifted(f"the groups of {pattern!r}")
            continue
        atom, at = _atom(inner, at, kind, pattern)
        atoms.append(atom)
        out.append(atom.source + atom.repeated)
    if opened:
        raise NotLifted(f"the groups of {pattern!r}")
    _check(atoms, pattern, anchored=end, whole=groups)
    leading = atoms[0] is _ANYTHING
    if leading and not start:
        out.insert(0, "^")  # where it doesn't match from there, it doesn't from anywhere
    needle = "".join(itertools.takewhile(bool, map(_letter, atoms[leading:])))
    wanders = (leading or not start) and any(atom.repeated for atom in atoms[leading : None if end else -1])
    return Pattern("".join(out) + (r"\Z" if end else ""), needle, wanders or (leading and not needle))


def _letter(atom: _Atom) -> str:
    """What it stands for, if that is one letter, once."""
    return "".join(atom.chars or ()) if not (atom.repeated or atom.negated) and len(atom.chars or ()) == 1 else ""


def _atom(inner: str, at: int, kind: str, pattern: str) -> tuple[_Atom, int]:
    letter = inner[at]
    special = ".[]*^$\\" + ("+?(){}|" if kind == "E" else "")
    if found := _SET.match(inner, at):
        atom = _set(found, pattern)
        at = found.end()
    elif letter == "." and inner[at + 1 : at + 2] == "*":
        return _ANYTHING, at + 2
    elif letter == "\\" and inner[at + 1 : at + 2] in (*special, "/", '"') and inner[at + 1 : at + 2]:
        if kind == "G" and inner[at + 1] in "+?(){}|":
            raise NotLifted(f"the pattern {pattern!r}")
        atom = _Atom(re.escape(inner[at + 1]), frozenset(inner[at + 1]), False)
        at += 2
    elif (
        _LITERAL.match(letter) or (kind == "G" and letter in "+?(){}|") or letter == "{" == inner[0] == pattern[-1]
    ):
        atom = _Atom(re.escape(letter), frozenset(letter), False)
        at += 1
    else:
        raise NotLifted(f"the pattern {pattern!r}")
    following = inner[at : at + 1]
    if following == "*" or (following in ("+", "?") and kind == "E" and following):
        return atom._replace(repeated=following), at + 1
    if following == "\\" and kind == "G" and inner[at + 1 : at + 2] == "+":
        return atom._replace(repeated="+"), at + 2
    if atom.negated:
        raise NotLifted(f"the pattern {pattern!r}: one character of any length")
    return atom, at


def _set(found: re.Match[str], pattern: str) -> _Atom:
    chars: set[str] = set()
    for piece in re.findall(r"[A-Za-z0-9]-[A-Za-z0-9]|.", found[2]):
        if len(piece) == 3:
            if not (piece in ("a-z", "A-Z", "a-f", "A-F") or piece.replace("-", "").isdigit()):
                raise NotLifted(f"the pattern {pattern!r}: ranges depend on the locale")
            chars.update(map(chr, range(ord(piece[0]), ord(piece[2]) + 1)))
        else:
            chars.add(piece)
    negated = bool(found[1])
    body = "".join(map(re.escape, sorted(chars)))
    return _Atom(f"[{'^' if negated else ''}{body}]", frozenset(chars), negated)


def _check(atoms: list[_Atom], pattern: str, *, anchored: bool, whole: bool) -> None:
    """Whether each repetition ends where it must, so that there is one match at each place only."""
    if not atoms or all(atom.repeated in ("*", "?") for atom in atoms):
        raise NotLifted(f"the pattern {pattern!r}, which may match nothing")
    inner = atoms
    if whole and inner[0] is _ANYTHING and (inner[-1] is _ANYTHING or anchored):
        inner = inner[1:]
    for at, atom in enumerate(inner):
        if not atom.repeated or (at == len(inner) - 1 and not anchored) or atom is inner[-1] is _ANYTHING:
            continue
        if at == len(inner) - 1:
            continue
        if any(not _apart(atom, other) for other in _following(inner, at)):
            raise NotLifted(f"the pattern {pattern!r}: its repetitions overlap")


def _following(atoms: list[_Atom], at: int) -> list[_Atom]:
    out: list[_Atom] = []
    for atom in atoms[at + 1 :]:
        out.append(atom)
        if atom.repeated not in ("*", "?"):
            break
    return out


def _apart(one: _Atom, other: _Atom) -> bool:
    assert one.chars is not None
    assert other.chars is not None
    if one.negated and other.negated:
        return False
    if one.negated:
        return other.chars <= one.chars
    if other.negated:
        return one.chars <= other.chars
    return not one.chars & other.chars
