r"""What a forge draws of a text instead of showing it: formulas and diagrams. Pure.

Both have ways to show nothing of what is written, and new ones with each version of what draws them. So one is let
through if all of it is of forms of which everything is shown; in the place of any other stands a word.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING

from bridge.base.patterns import lazy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FORMULA, _DIAGRAM = "[formula]", "[diagram]"
_MOST = 100
"""Dollars that are looked at for the end of a formula."""
_DRAWN = frozenset(("math", "mermaid", "geojson", "topojson", "stl"))
"""Languages of blocks of code."""
_NAMES = (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi rho"
    " sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi"
    " Omega frac dfrac tfrac sqrt sum prod int iint oint lim log ln lg exp sin cos tan min max sup inf det"
    " gcd deg dim ker arg bmod pmod text textbf textit mathrm mathbf mathit mathsf mathtt mathbb mathcal"
    " mathfrak operatorname hat bar vec tilde dot ddot overline underline widehat widetilde overbrace"
    " underbrace left right big Big bigg Bigg bigl bigr le leq ge geq ne neq lt gt approx equiv sim simeq"
    " cong propto ll gg in notin ni subset subseteq supset supseteq cup cap setminus emptyset varnothing"
    " forall exists neg lnot land lor wedge vee oplus otimes times cdot div pm mp ast star circ bullet to"
    " gets mapsto rightarrow leftarrow Rightarrow Leftarrow leftrightarrow Leftrightarrow longrightarrow"
    " implies iff infty partial nabla ldots cdots vdots ddots dots quad qquad lfloor rfloor lceil rceil"
    " langle rangle lvert rvert lVert rVert mid parallel perp angle hbar ell Re Im aleph prime binom"
    " limits displaystyle"
)
_SHOWN = lazy(
    rf"(?:[^\\%]|\\\\(?!\s*\[)|\\[^\\A-Za-z]|\\(?:{'|'.join(_NAMES.split())})(?![A-Za-z])"
    r"|\\(?:begin|end)\{(?:cases|aligned|gathered|split|[pbvBV]?matrix)\})*"
)
"""A formula of which everything is shown."""
# Code in a line is no formula, but where dollars stand around its marks; nor is what follows a backslash.
_PIECE = lazy(r"\\.|(?<!\$)(`+)(?!`).*?(?<!`)\1(?!`)|\$\$?|.", re.DOTALL)

_TEXT = r"[^\[\](){}|<>%;]*"
_LABEL = rf"(?:\[{_TEXT}\]|\(\({_TEXT}\)\)|\({_TEXT}\)|\{{{_TEXT}\}})"
_NODE = rf"(?:\w{{1,3}}{_LABEL}|\w+)"  # a longer name isn't shown where it has a label
_EDGE = rf"\s*(?:-->|---|-\.->|==>)(?:\|{_TEXT}\|)?\s*"
_LINE = lazy(
    rf"(?:graph|flowchart)\s+(?:TB|TD|BT|RL|LR)|{_NODE}(?:{_EDGE}{_NODE})*|subgraph(?: \w+)+|end|sequenceDiagram"
    rf"|(?:participant|actor) \w+|\w+\s*--?(?:>>?|x|\))\s*[+-]?\w+\s*:{_TEXT}|(?:loop|alt|else|opt)\b{_TEXT}"
)
"""A line of a diagram of which everything is shown."""
_LANGUAGE = lazy(r"[\w+#.-]*")
_MARKS = lazy(r"[\s>]*")
_CLOSING = lazy(r"[\s>]*[`~]{3,}\s*")


def formulas(text: str) -> str:
    r"""Leave out formulas that may not show all of what they are; lines stay as many as they are.

    >>> formulas(r"$O(n \log n)$ and $a \phantom{b}$ cost $5 or $6")
    '$O(n \\log n)$ and [formula] cost $5 or $6'
    """
    if "$" not in text:
        return text
    pieces = [each[0] for each in _PIECE.finditer(text)]
    depths = [*accumulate((each == "{") - (each == "}") for each in pieces)]
    ends = {dollars: [*_closing(pieces, dollars)] for dollars in ("$", "$$")}
    found, at = [], 0
    while at < len(pieces):
        end = _end(pieces, at, ends[pieces[at]], depths) if pieces[at] in ends else 0
        whole = "".join(pieces[at : end or at + 1])
        shows = not end or _SHOWN.fullmatch(whole) is not None
        found.append(whole if shows else _FORMULA + "\n" * whole.count("\n"))
        at = end or at + 1
    return "".join(found)


def _closing(pieces: Sequence[str], dollars: str) -> Iterator[int]:
    """Where dollars are that could end a formula."""
    for at, piece in enumerate(pieces):
        behind = pieces[at + 1] if at + 1 < len(pieces) else ""
        if piece == dollars and (dollars == "$$" or not (pieces[at - 1].isspace() or re.match(r"\w", behind))):
            yield at


def _end(pieces: Sequence[str], begin: int, closing: Sequence[int], depths: Sequence[int]) -> int:
    """Where a formula that begins at a dollar ends, behind its last one; 0: it is none.

    The first dollar outside of braces counts, or the first one where they aren't closed; of very many, the last.
    """
    if pieces[begin] == "$" and (begin + 1 == len(pieces) or pieces[begin + 1].isspace()):
        return 0
    first = bisect_left(closing, begin + 2)
    among = closing[first : first + _MOST]
    ends = (at for at in among if depths[at] <= depths[begin])
    return next(ends, closing[-1] if len(among) == _MOST else among[0] if among else -1) + 1


def is_drawn(info: str) -> bool:
    """Whether a forge draws a block of code, by the words behind its marks."""
    return _language(info) in _DRAWN


def block(lines: Sequence[str], info: str) -> list[str]:
    """The lines of such a block, as they are, or with a word in the place of all between its marks."""
    closed = len(lines) > 1 and _CLOSING.fullmatch(lines[-1]) is not None
    body = lines[1 : len(lines) - closed]
    bare = [_MARKS.sub("", each, count=1).rstrip() for each in body]
    if _language(info) == "math":
        word, shows = _FORMULA, _SHOWN.fullmatch("\n".join(bare)) is not None
    else:
        word = _DIAGRAM
        shows = _language(info) == "mermaid" and all(_LINE.fullmatch(each) for each in bare if each)
    instead = [*body] if shows else [word, *("" for _ in body[1:])] if body else []
    return [lines[0], *instead, *(lines[-1:] if closed else [])]


def _language(info: str) -> str:
    found = _LANGUAGE.match(info.strip())
    return found[0].lower() if found else ""
