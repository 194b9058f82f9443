"""What an agent's last message says beside its work: fatal, stuck, an error. Pure.

The completion promise is :func:`bridge.scripts.stream.status.find_promise`'s. Patterns of errors are text until
a message has a hint of one: the Stop hook has no time to compile them in vain.
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
"""Words without which a line reports no error; most messages have none."""
_MAX_FATAL = 400
_MAX_TEXT = 256 * 1024
_MAX_ERROR = 400

_BULLET = r"^[\s>*_`#|+-]*(?:\d+[.)]\s+)?[*_`]*"
_ERROR_LINE = (
    r"^(?:\w+[.:])*\w*(?:Error|Exception)\b[^:]{0,40}:|^(?:error|fatal|panic|FAILED|FAIL|FAILURE)\b[^:]{0,40}[: ]"
    r"|\berror (?:TS|CS|E)?\d+:|^Traceback \(most recent call last\)"
)
_NO_ERROR = r"(?i)\b(?:no|0|zero|without|fixed|resolved)\s+(?:\w+\s+)?(?:errors?|failures?|failed)\b"
# Inside a sentence: an error that is named, ...
_NAMED_ERROR = (
    r"(?i)(?:\b\w+\.)*\b[A-Z]\w*(?:Error|Exception)(?=:)"
    r"|\b(?:error|panic|fatal)(?=(?:\[\w+\])?:(?!:)|[ \t](?:TS|CS|E)?\d+\b|\[\w+\])"
    r"|\b(?:E(?:NOENT|ACCES|PERM|EXIST|PIPE|MFILE|ISDIR|NOTDIR|NOSPC|NOTFOUND|TIMEDOUT|AI_AGAIN|ADDRINUSE"
    r"|CONNREFUSED|CONNRESET|HOSTUNREACH))\b"
    r"|\b(?:permission denied|command not found|no such (?:file|table|module|package|host)\b|cannot find module"
    r"|connection (?:refused|reset|timed out)|segmentation fault|out of memory|undefined reference"
    r"|no space left|syntax error|access denied|read-only file system)"
)
# ... what something fails with, ...
_FAILS = (
    r"(?i)\b(?:fail(?:s|ed|ing|ure)?|crash(?:es|ed|ing)?|abort(?:s|ed|ing)?|exits?|exited)\b"
    r"(?:[ \t]+[\w'\u2019-]+){0,3}?[ \t]*(?:\b(?:with|because|due to|saying)\b|:)[ \t]*(?P<what>\S.*)"
)
# ... or one that is only spoken of as something to suffer from.
_SUFFERED = (
    r"(?i)\b(?:still|again|same|get|gets|got|getting|hit|hits|hitting|see|seeing|saw|ran into|running into"
    r"|blocked by|stopped by)\b[^.!?]*\b(?:errors?|exceptions?)\b"
    r"|\b(?:errors?|exceptions?)\b[^.!?]*\b(?:persists?|remains?|occur(?:s|red)?|keeps?|again|is back"
    r"|came back|still)\b"
)
_OVERCOME = (
    r"(?i)\b(?:no|0|zero|without|fixed|fixes|resolved|resolves|solved|handles?|handled|handling|no longer|gone"
    r"|instead of|if|when|whenever|unless|should|would|could|tests? (?:that|for)|avoids?|prevents?|prevented)\b"
)
_CONTRAST = r"(?i)\b(?:but|still|however|yet|though)\b"
_SENTENCE = r"(?<=[.!?])[ \t]+(?=[^a-z])|[;\u2013\u2014](?=[ \t])"
# What follows is about what is done next, and differs from turn to turn.
_CLAUSE = r"[,(][ \t]+(?=(?:so|but|and|which|I|we|now|then|even|despite|although)\b)|[ \t]+\("
_AGAIN = r"[ .!?`*_]*(?:\b(?:again|once more|as before|remains?|persists?|each time|every time)[ .!?`*_]*)*$"


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
    lines = [line for line in text.splitlines() if any(hint in line.lower() for hint in _HINTS)]
    if not lines:
        return ""
    from bridge.scripts.stream.analysis.scan import fingerprint

    found = (_error_of(re.sub(_BULLET, "", line).strip()) for line in reversed(lines))
    last = next(filter(None, found), "")
    if last.startswith("Traceback "):
        # The line that opens a traceback says nothing; the first one behind it that isn't indented does.
        behind = text.rpartition("Traceback (most recent call last)")[2].splitlines()[1:]
        last = next((line for line in behind if line.strip() and not line.startswith((" ", "\t"))), last)
    return fingerprint(last)


def _error_of(line: str) -> str:
    from bridge.scripts.stream.analysis.scan import is_error_line

    begin = line[:_MAX_ERROR]
    nothing = re.search(_NO_ERROR, begin)
    if re.match(_ERROR_LINE, begin) and not nothing:
        return _common_part(begin)
    return _in_sentences(line) or (begin if is_error_line(begin) and not nothing else "")


def _in_sentences(line: str) -> str:
    """Return the last error that a line of prose speaks of, without what stands around it; '' without one."""
    last = ""
    for whole in re.split(_SENTENCE, line):
        sentence = whole[:_MAX_ERROR]
        found = re.search(_NAMED_ERROR, sentence)
        what = found and sentence[found.start() :]
        if found is None and (found := re.search(_FAILS, sentence)):
            what = found["what"]
        if found is None and (found := re.search(_SUFFERED, sentence)):
            what = sentence
        if found and what and not re.search(_OVERCOME, re.split(_CONTRAST, sentence[: found.start()])[-1]):
            last = _common_part(what)
    return last


def _common_part(error: str) -> str:
    """Cut an error to what is the same each time that it is spoken of."""
    return re.sub(_AGAIN, "", re.split(_CLAUSE, re.split(_SENTENCE, error)[0])[0])
