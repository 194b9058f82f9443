"""Errors in a text: which lines are some, and when two of them are the same error.

The circuit breaker opens when one error repeats. bmalph calls any error the same (trap T18); here it is
told by what is left of its line without what differs between two runs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LENGTH = 200
# A field such as "is_error": false is a name, no error.
_FIELD = re.compile(r'"([^"]*)":')
_ERROR = re.compile(
    r"^(?:Error|ERROR|error):|\]: error|Link: error|Error occurred|failed with error"
    r"|[Ee]xception|Fatal|FATAL"
)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CHANGING = (
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "TIME"),
    (re.compile(r"\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?(?:\s?[ap]m\b)?", re.IGNORECASE), "TIME"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "HEX"),
    (re.compile(r"\b0x[0-9a-f]+\b|\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b", re.IGNORECASE), "HEX"),
    (re.compile(r"(?:[A-Za-z]:)?(?:[\w.~@+-]*[/\\])+[\w.@+-]*"), "PATH"),
    (re.compile(r"\d+(?:[.,]\d+)*"), "N"),
)


def is_error_line(line: str) -> bool:
    """Say whether a line reports an error; one that spells the name of such a field doesn't count."""
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    return _ERROR.search(line) is not None and not any("error" in name for name in _FIELD.findall(line))


def error_lines(lines: Iterable[str]) -> list[str]:
    """Give the lines that report errors."""
    return [line for line in lines if is_error_line(line)]


def fingerprint(line: str) -> str:
    """Give a line without times, hexadecimal ids, paths and numbers; '' of a blank one.

    >>> fingerprint("Error: cannot read /tmp/a1/x.ts:14 after 3.2 s")
    'Error: cannot read PATH:N after N s'
    """
    text = _ANSI.sub("", line[: 4 * _LENGTH])
    for pattern, name in _CHANGING:
        text = pattern.sub(name, text)
    return " ".join(text.split())[:_LENGTH]
