"""What an agent's last message says beside its work: fatal, stuck, an error. Pure.

The completion promise is :func:`bridge.stream.status.find_promise`'s matter.
"""

from __future__ import annotations

import re

_FATAL = re.compile(r"<fatal>(.*?)</fatal>", re.DOTALL)
# A message may be cut off before the closing tag; in the middle of a sentence the word alone says nothing.
_FATAL_OPEN = re.compile(r"^[ \t>*_`-]*<fatal>(.*)\Z", re.MULTILINE | re.DOTALL)
_STUCK = re.compile(
    r"\bI(?:['\u2019]m| am)(?: \w+)? stuck\b"
    r"|\bI(?: am|['\u2019]m) (?:unable|not able) to (?:proceed|continue|go on|make (?:any |further )?progress)"
    r"|\bI (?:can(?:no|['\u2019])t|cannot) (?:proceed|continue|go on|make (?:any |further )?progress)"
    r"|\bgoing (?:a?round )?in circles\b",
    re.IGNORECASE,
)
_NOT_STUCK = re.compile(
    r"\b(?:not|no longer|isn['\u2019]t|if|when|whenever|unless|should|in case)\b", re.IGNORECASE
)
_HINTS = (
    *("traceback", "error", "exception", "fail", "crash", "abort", "exit", "panic", "fatal", "denied", "not found"),
    *("no such", "cannot find", "refused", "connection", "fault", "memory", "undefined", "no space", "read-only"),
    *("enoent", "eacces", "eperm", "eexist", "epipe", "emfile", "eisdir", "enotdir", "enospc", "etimedout"),
    *("eai_again", "eaddrinuse", "ehostunreach", "enotfound"),
)
"""Words without which a line reports no error. Most messages have none, and the patterns take time to compile."""
_MAX_FATAL = 400
_MAX_TEXT = 256 * 1024


def fatal_in(text: str) -> str | None:
    """Return what stands in the first ``<fatal>`` of a message; None without one.

    >>> fatal_in("I give up. <fatal>no compiler</fatal>")
    'no compiler'
    """
    found = _FATAL.search(text) or _FATAL_OPEN.search(text)
    return " ".join(found[1].split())[:_MAX_FATAL] if found else None


def is_stuck(text: str) -> bool:
    """Say whether the agent calls itself stuck, and doesn't just speak of the possibility."""
    for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
        found = _STUCK.search(sentence)
        if found and not _NOT_STUCK.search(sentence[: found.end()].replace("not able", "")):
            return True
    return False


def error_in(text: str) -> str:
    """Return what tells the last reported error of a text from others: '' without an error.

    Times, paths, numbers and ids don't tell errors apart.

    >>> error_in("3 of 9 done\\nTypeError: x is undefined at /tmp/a.js:14\\n")
    'TypeError: x is undefined at PATH:N'
    """
    text = text[-_MAX_TEXT:]
    low = text.lower()
    if not any(hint in low for hint in _HINTS):
        return ""
    from bridge.setups.wiggum.reported_errors import last_error

    return last_error(text, _HINTS)
