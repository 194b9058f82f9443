"""Regular expressions of adapter files: written for .NET, run by Python."""

from __future__ import annotations

import re
from functools import lru_cache

# Escapes are consumed in pairs, so that what follows an escaped backslash is not taken for one.
_TOKEN = re.compile(
    r"\\(?:u0001|x01|k[<'{]\w+[>'}]|[pP]\{\^?\w+\}|[\s\S])|\(\?<(?![=!])(\w+)>|\(\?'(\w+)'|\x01|\[\^?\]?"
)
_PROPERTIES = {"L": r"[^\W\d_]", "Lu": "[A-Z]", "Ll": "[a-z]", "N": r"\d", "Nd": r"\d"}
_IN_CLASS = {"L": "a-zA-Z\u00aa-\U0010ffff", "Lu": "A-Z", "Ll": "a-z", "N": r"\d", "Nd": r"\d"}
_ESCAPES = {
    r"\e": r"\x1b",
    r"\u0001": r"\u0001?",
    r"\x01": r"\x01?",
    r"\z": r"\Z",
    r"\Z": r"(?=\n?\Z)",
}
_FLAGS = re.compile(r"\(\?([imnsx]+)\)")
_HEADS = ("(^|\\n)", "(?:^|\\n)", "(^|\\r?\\n)", "(?:^|\\r?\\n)", "\\A", "^")


def translated(pattern: str) -> str:
    r"""`pattern` as Python writes it.

    Named groups and references to them, ``\e``, ``\z``, ``\Z`` and a few ``\p{..}`` differ between the two. A SOH
    character (the "unique" part of many prompts) is optional: readline takes it for its own "begin ignoring" sign
    and never prints it.

    >>> translated(r"(?<n>\d+)\z"), translated("^\u0001RIPPLE\u0001> $")
    ('(?P<n>\\d+)\\Z', '^\x01?RIPPLE\x01?> $')
    """
    if flags := _FLAGS.match(pattern):  # for a part of the pattern, as it may become part of another
        kept = flags[1].replace("n", "")
        rest = translated(pattern[flags.end() :])
        return f"(?{kept}:{rest})" if kept else rest
    in_class = False
    out: list[str] = []
    last = 0
    for match in _TOKEN.finditer(pattern):
        between = pattern[last : match.start()]
        in_class = in_class and "]" not in between
        out.append(between)
        last = match.end()
        part = match[0]
        if part.startswith("["):
            out.append(part if not in_class else part.replace("[", r"\["))
            in_class = True
        elif part.startswith("\\"):
            out.append(_escape(part, in_class=in_class))
        elif part == "\x01":
            out.append(part if in_class else "\x01?")
        elif in_class:
            out.append(part)
        else:
            out.append(f"(?P<{match[1] or match[2]}>")
    out.append(pattern[last:])
    return "".join(out)


def _escape(part: str, *, in_class: bool) -> str:
    if part[1] in "pP" and len(part) > 2:
        everything = r"\s\S" if in_class else "."
        return (
            (_IN_CLASS if in_class else _PROPERTIES).get(part[3:-1], everything) if part[1] == "p" else everything
        )
    if in_class:
        return r"\x1b" if part == r"\e" else part
    return f"(?P={part[3:-1]})" if part[1] == "k" else _ESCAPES.get(part, part)


def without_start(pattern: str) -> str:
    """`pattern` without what anchors it to the start of a line; its flags stay."""
    flags = _FLAGS.match(pattern)
    kept = flags[0] if flags else ""
    core = pattern.removeprefix(kept)
    for head in _HEADS:
        core = core.removeprefix(head)
    return kept + core


def without_end(pattern: str) -> str:
    return pattern if pattern.endswith("\\$") else pattern.removesuffix("$")


@lru_cache(maxsize=512)
def compiled(pattern: str, *, dotall: bool = False) -> re.Pattern[str]:
    """`pattern` ready to use: ``^`` and ``$`` are those of lines.

    Raises:
        re.error: it is not a valid regular expression.
    """
    try:
        return re.compile(translated(pattern), re.MULTILINE | (re.DOTALL if dotall else 0))
    except (OverflowError, RecursionError) as error:
        raise re.error(f"it is too large ({error})") from None


def marker_pattern(marker: str) -> str:
    """The pattern of a prompt that is given literally; it ends what is on screen.

    >>> marker_pattern("\\x01RB\\x01>>> ") == "^\\x01RB\\x01>>>\\\\ $"
    True
    """
    return "^" + "".join(each if each == "\x01" else re.escape(each) for each in marker) + "$"


def usable(pattern: str | None) -> str | None:
    try:
        return pattern if pattern and compiled(pattern) else None
    except re.error:
        return None


def groups_of(match: re.Match[str]) -> dict[str, str]:
    """Groups by number and name; those that took no part are absent."""
    groups = {str(number): value for number, value in enumerate(match.groups(), 1) if value is not None}
    return groups | {name: value for name, value in match.groupdict().items() if value is not None}


def search(pattern: str | None, text: str) -> re.Match[str] | None:
    """The first match in `text`; None also for an invalid pattern."""
    if not pattern:
        return None
    try:
        return compiled(pattern).search(text)
    except re.error:
        return None
