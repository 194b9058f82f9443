"""Words that mean something where nothing better is said: completion, nothing to do, tests, refusals.

They are bmalph's, and count only where its analyzer counts them: in plain text and in event streams,
never against a status block (trap T4) and never in a run that failed.
"""

from __future__ import annotations

import re

__all__ = ["COMPLETION", "IMPLEMENTING", "NO_WORK", "SUMMARY", "TESTING", "preamble", "refusal"]


def _any(*phrases: str) -> re.Pattern[str]:
    """Match one of the phrases as whole words, in any case."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(phrases)})(?!\w)", re.IGNORECASE)


COMPLETION = _any("done", "complete", "finished", "all tasks complete", "project complete", "ready for review")
NO_WORK = _any("nothing to do", "no changes", "already implemented", "up to date")
TESTING = re.compile(r"running tests|npm test|bats|pytest|jest", re.IGNORECASE)
IMPLEMENTING = re.compile(r"implementing|creating|writing|adding|function|class", re.IGNORECASE)
SUMMARY = re.compile(r"summary|completed|implemented", re.IGNORECASE)

_PREAMBLE_LINES = 5
_BLOCK = "---RALPH_STATUS---"
_DENIED = ("permission denied:", "denied permission:")
_DENIED_WHAT = ("approval", "tool", "command", "blocked", "not allowed", "not permitted")
_APPROVAL = "approval required:"
_APPROVAL_WHAT = ("run", "proceed", "tool", "command", "blocked")
_PHRASES = (
    "requires approval before it can run",
    "requires approval before it can proceed",
    "not allowed to use tool",
    "not permitted to use tool",
)


def preamble(text: str) -> list[str]:
    """Give the first lines of an answer: at most five, up to a blank line or the status block."""
    lines: list[str] = []
    for line in text.lstrip("\r\n").split("\n", _PREAMBLE_LINES)[:_PREAMBLE_LINES]:
        stripped = line.strip()
        if not stripped or _BLOCK in stripped:
            break
        lines.append(stripped)
    return lines


def refusal(text: str) -> bool:
    """Say whether an answer opens with a tool being refused.

    Further down, the same words are what an answer is about.
    """
    return any(map(_refused, preamble(text)))


def _refused(line: str) -> bool:
    lowered = line.lower()
    if lowered.startswith(_DENIED):
        return any(word in lowered for word in _DENIED_WHAT)
    if lowered.startswith(_APPROVAL):
        return any(word in lowered.removeprefix(_APPROVAL) for word in _APPROVAL_WHAT)
    return any(phrase in lowered for phrase in _PHRASES)
