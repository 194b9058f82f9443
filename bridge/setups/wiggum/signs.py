"""What an agent's last message says beside its work: fatal, stuck, an error. Pure.

The completion promise is :func:`bridge.stream.status.find_promise`'s matter.
"""

from __future__ import annotations

import re

__all__ = ["error_in", "fatal_in", "is_stuck"]

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
_BULLET = re.compile(r"^[\s>*_`#|+-]*(?:\d+[.)]\s+)?[*_`]*")
_ERROR = re.compile(
    r"^(?:\w+[.:])*\w*(?:Error|Exception)\b[^:]{0,40}:|^(?:error|fatal|panic|FAILED|FAIL|FAILURE)\b[^:]{0,40}[: ]"
    r"|\berror (?:TS|CS|E)?\d+:|^Traceback \(most recent call last\)"
)
_NONE = re.compile(
    r"\b(?:no|0|zero|without|fixed|resolved)\s+(?:\w+\s+)?(?:errors?|failures?|failed)\b", re.IGNORECASE
)
_LONGEST = 400
_MOST = 256 * 1024
_INDENTED = (" ", "\t")
_HINTS = (
    *(
        "traceback",
        "error",
        "exception",
        "fail",
        "crash",
        "abort",
        "exit",
        "panic",
        "fatal",
        "denied",
        "not found",
        "no such",
    ),
    *("cannot find", "refused", "connection", "fault", "memory", "undefined", "no space", "read-only", "enoent"),
    *("eacces", "eperm", "eexist", "epipe", "emfile", "eisdir", "enotdir", "enospc", "etimedout", "eai_again"),
    *("eaddrinuse", "ehostunreach", "enotfound"),
)
"""Words without which a line speaks of no error: most messages have none, and the patterns take time to make."""


def fatal_in(text: str) -> str | None:
    """Give what stands in the first ``<fatal>`` of a message; None without one.

    >>> fatal_in("I give up. <fatal>no compiler</fatal>")
    'no compiler'
    """
    found = _FATAL.search(text) or _FATAL_OPEN.search(text)
    return " ".join(found[1].split())[:_LONGEST] if found else None


def is_stuck(text: str) -> bool:
    """Say whether the agent calls itself stuck, and doesn't just speak of the possibility."""
    for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
        found = _STUCK.search(sentence)
        if found and not _NOT_STUCK.search(sentence[: found.end()].replace("not able", "")):
            return True
    return False


def error_in(text: str) -> str:
    """Give what tells the last reported error of a text from others: '' without an error.

    Times, paths, numbers and ids don't tell errors apart.

    >>> error_in("3 of 9 done\\nTypeError: x is undefined at /tmp/a.js:14\\n")
    'TypeError: x is undefined at PATH:N'
    """
    from bridge.stream.analysis.fingerprint import fingerprint, is_error_line

    last = ""
    for line in text[-_MOST:].splitlines():
        low = line.lower()
        if not any(hint in low for hint in _HINTS):
            continue
        from bridge.setups.wiggum.prose import core, in_sentences

        bare = _BULLET.sub("", line).strip()
        begin = bare[:_LONGEST]
        if _ERROR.match(begin) and not _NONE.search(begin):
            # The line that opens a traceback says nothing; the first one behind it that isn't indented does.
            last = core(begin)
        elif found := in_sentences(bare):
            last = found
        elif is_error_line(begin) and not _NONE.search(begin):
            last = begin
    if last.startswith("Traceback "):
        behind = text.rpartition("Traceback (most recent call last)")[2].splitlines()[1:]
        last = next((line for line in behind if line.strip() and not line.startswith(_INDENTED)), last)
    return fingerprint(last)
