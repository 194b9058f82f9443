"""Words that mean something where nothing better is said: completion, nothing to do, tests, refusals.

They are bmalph's, and count only where its analyzer counts them: in plain text and in event streams,
never against a status block (trap T4) and never in a run that failed.
"""

from __future__ import annotations

import re


class Words:
    """Phrases, looked for in lower-case text.

    Args:
        phrases: in lower case.
        whole: only where no letter, digit or underscore is next to them.
    """

    def __init__(self, *phrases: str, whole: bool = False) -> None:
        self._phrases = phrases
        self._pattern = re.compile(rf"(?<!\w)(?:{'|'.join(phrases)})(?!\w)") if whole else None

    def within(self, lowered: str) -> bool:
        """Say whether one of them occurs."""
        # Looking for a plain string is many times faster than for a pattern, and outputs are long.
        if not any(phrase in lowered for phrase in self._phrases):
            return False
        return self._pattern is None or self._pattern.search(lowered) is not None


COMPLETION = Words(
    "done", "complete", "finished", "all tasks complete", "project complete", "ready for review", whole=True
)
NO_WORK = Words("nothing to do", "no changes", "already implemented", "up to date", whole=True)
TESTING = Words("running tests", "npm test", "bats", "pytest", "jest")
IMPLEMENTING = Words("implementing", "creating", "writing", "adding", "function", "class")
SUMMARY = Words("summary", "completed", "implemented")
ERRORS = Words("error", "exception", "fatal")

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
