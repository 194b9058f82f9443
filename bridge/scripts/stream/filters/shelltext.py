"""The text of a shell function: made ready for bashlex, and its words checked."""

from __future__ import annotations

import re


class NotUnderstood(Exception):
    """Bash runs the hook; the message says why, for people."""


def refuse_if(odd: object, reason: str) -> None:
    if odd:
        raise NotUnderstood(reason)


# -- for bashlex ---------------------------------------------------------------------------------------

_PLAIN = re.compile(r"[^'\"\\$`()<#\[]+")
_SINGLE = re.compile(r"'[^']*'")
_ANSI = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_HERE = re.compile(r"<<<|<(?!<)")
_TEST = re.compile(
    r"""\[\[ (?:(?P<sign>-[nzfers]) (?P<empty>"\$\{?\w+\}?"|\$\w+)"""
    r"""|(?P<word>"\$\{?\w+\}?"|\$\w+) (?P<equal>==|!=|=) (?P<text>"[^"\\$`]*"|'[^']*'|\\\{|[A-Za-z0-9_.-]+)"""
    r"""(?P<star>\*?)) \]\]""",
    re.ASCII,
)


def prepared(source: str) -> tuple[str, str]:
    """The text to read words from, and the one for bashlex, of the same length.

    bashlex refuses ``[[``: the tests that are understood become ``[ ]`` (with ``=^`` or ``!^`` for a prefix, which
    bash doesn't have). It stumbles over quotes and brackets within ``'…'`` and ``$(…)``: their inside is masked.

    Raises:
        NotUnderstood: another test, here-documents, backquotes, comments within ``$( )``.
    """
    text: list[str] = []
    masked: list[str] = []
    at = 0
    while at < len(source):
        if source.startswith("[[", at):
            found = _TEST.match(source, at)
            if found is None or "=^" in source or "!^" in source:
                raise NotUnderstood(f"the test {source[at:].split(']]')[0][:60]}]]")
            text.append(_single_brackets(found))
            masked.append(text[-1])
            at = found.end()
            continue
        end = _token_end(source, at)
        text.append(source[at:end])
        masked.append(_masked(source[at:end]))
        at = end
    return "".join(text), "".join(masked)


def _single_brackets(found: re.Match[str]) -> str:
    word = found["empty"] or found["word"]
    if word[0] == "$":
        word = f'"{word}"'
    if found["sign"]:
        made = f"[ {found['sign']} {word}"
    else:
        sign = found["equal"]
        operator = sign if not found["star"] else "!^" if sign == "!=" else "=^"
        made = f"[ {word} {operator} {found['text']}"
    room = len(found.group()) - len(made) - 1
    if room < 1:
        raise NotUnderstood(f"the test {found.group()}")
    return made + " " * room + "]"


def _masked(piece: str) -> str:
    for begin, end in (("'", "'"), ("$(", ")"), ('"$(', ')"')):
        if piece.startswith(begin) and piece.endswith(end):
            return begin + "x" * (len(piece) - len(begin) - len(end)) + end
    return piece


def _token_end(source: str, at: int) -> int:
    """Where the quoted text, the expansion, or the plain text at this place ends."""
    for pattern in (_PLAIN, _SINGLE, _ANSI, _ESCAPED, _HERE):
        if found := pattern.match(source, at):
            return found.end()
    letter = source[at]
    if letter == '"':
        return _double_end(source, at + 1)
    if source.startswith("$(", at):
        return _substitution_end(source, at + 2)
    if letter in "'`" or source.startswith("<<", at):
        raise NotUnderstood("a here-document, backquotes, or a quote that doesn't end")
    if letter == "#" and (at == 0 or source[at - 1] in " \t\n;"):
        raise NotUnderstood("a comment within $( )")
    return at + 1


def _double_end(source: str, at: int) -> int:
    while at < len(source):
        letter = source[at]
        if letter == '"':
            return at + 1
        if letter == "`":
            raise NotUnderstood("backquotes")
        at = (
            at + 2
            if letter == "\\"
            else _substitution_end(source, at + 2)
            if source[at : at + 2] == "$("
            else at + 1
        )
    raise NotUnderstood("a quote that doesn't end")


def _substitution_end(source: str, at: int) -> int:
    depth = 1
    while at < len(source):
        if source[at] == "(":
            depth += 1
        elif source[at] == ")":
            depth -= 1
            if not depth:
                return at + 1
        at = _token_end(source, at)
    raise NotUnderstood("a $( that doesn't end")


# -- words ---------------------------------------------------------------------------------------------

_VARIABLE = r"\$(?:[A-Za-z_]\w*|[1-9]|\{(?:[A-Za-z_]\w*|[1-9])(?::?-[A-Za-z0-9_./-]*)?\})"
_PART = re.compile(
    r"(?P<bare>[A-Za-z0-9_./,:=+%@^\]-]+)|'(?P<single>[^']*)'|\$'(?P<ansi>(?:[^'\\]|\\[ntr\\'\"])*)'"
    rf"|(?P<variable>{_VARIABLE})|\"(?P<double>(?:[^\"\\$`]|\\.|{_VARIABLE})*)\"|\\(?P<escaped>[^\n])",
    re.ASCII | re.DOTALL,
)
_NAME = re.compile(r"\$\{?(\w+)", re.ASCII)
_IN_DOUBLE = re.compile(r"\\([$`\"\\\n])|\$\{?(\w+)", re.ASCII)
_CHANGING = re.compile(
    r"RANDOM|SRANDOM|SECONDS|LINENO|EPOCH\w*|BASH\w*|FUNCNAME|PIPESTATUS|DIRSTACK|HISTCMD|OPT\w+|REPLY|_|PPID"
    r"|COMP_\w+|SHLVL|__rb_\w+",
    re.ASCII,
)


def variables_of(word: str) -> frozenset[str]:
    """The variables in a word of a script.

    Raises:
        NotUnderstood: it holds anything but quotes, literal text and plain variables that keep their value.
    """
    names: set[str] = set()
    at = 0
    while at < len(word):
        part = _PART.match(word, at)
        if part is None:
            raise NotUnderstood(f"the word {word[:60]}")
        if part["variable"]:
            names.update(_NAME.findall(part["variable"]))
        elif part["double"]:
            names.update(found[2] for found in _IN_DOUBLE.finditer(part["double"]) if found[2])
        at = part.end()
    if odd := next(filter(_CHANGING.fullmatch, names), None):
        raise NotUnderstood(f"the variable {odd}")
    return frozenset(names)


def constant(word: str) -> str | None:
    """Its text, when it is a plain literal: bare, or in quotes without anything special."""
    found = _PART.fullmatch(word)
    if found is None:
        return None
    if found["double"] is not None:
        return None if re.search(r"\$|\\[$`\"\\\n]", found["double"]) else found["double"]
    return next((found[kind] for kind in ("bare", "single", "escaped") if found[kind] is not None), None)
