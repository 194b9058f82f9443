"""``[[ … ]]`` for a parser that doesn't know it.

bashlex refuses ``[[``. ``[[ -n $x ]]`` and ``[[ -z $x ]]`` mean the same as ``[ -n "$x" ]``, so they are
written so before parsing, in the same length (positions stay), and outside of quotes only.
"""

from __future__ import annotations

import re

from bridge.stream.lift.faults import NotLifted

__all__ = ["without_double_brackets"]

_SKIP = re.compile(
    r"""[^'"\\$\[<`]+|\\.|'[^']*'|\$'(?:[^'\\]|\\.)*'|"(?:[^"\\`$]|\\.|\$(?!\())*"|<<<|\$|<(?!<)""", re.DOTALL
)
_EMPTY = re.compile(r"\[\[ (?P<sign>-[nz]) (?P<word>\"\$\{?\w+\}?\"|\$\w+) \]\]", re.ASCII)


def without_double_brackets(source: str) -> str:
    """The function with its ``[[ -n "$x" ]]`` as ``[  -n "$x"  ]``.

    Raises:
        NotLifted: another test in ``[[ ]]``, or something beside one in which quotes can't be followed.
    """
    if "[[" not in source:
        return source
    out: list[str] = []
    at = 0
    while at < len(source):
        if found := _SKIP.match(source, at):
            out.append(found.group())
            at = found.end()
        elif source.startswith("[[", at):
            found = _EMPTY.match(source, at)
            if found is None:
                raise NotLifted(f"the test {source[at:].split(']]')[0][:60]}]]")
            out.append(_single(found))
            at = found.end()
        elif source[at] == "[":
            out.append("[")
            at += 1
        else:
            raise NotLifted("[[ ]] beside a here-document, backquotes or nested quotes")
    return "".join(out)


def _single(found: re.Match[str]) -> str:
    word = found["word"]
    return f'[ {found["sign"]} "{word}" ]' if word[0] == "$" else f"[  {found['sign']} {word}  ]"
