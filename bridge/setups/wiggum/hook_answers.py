"""What the Stop hook can say. Pure."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

__all__ = ["Answer", "allow", "block", "opened"]


class Answer(NamedTuple):
    """What goes out: one line of JSON for stdout or nothing, a line for stderr or nothing, the exit status.

    `doubtful`: the agent may stop because something is wrong.
    """

    stdout: str = ""
    stderr: str = ""
    status: int = 0
    doubtful: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """The JSON that goes out; empty for nothing."""
        found: dict[str, Any] = json.loads(self.stdout) if self.stdout else {}
        return found


def allow(told: str = "", *, legacy: bool = False) -> Answer:
    """Let the agent stop, with a word to the user, or silently."""
    if not told:
        return Answer()
    text = f"ralph: {told}"
    return Answer(stderr=text) if legacy else Answer(_line(systemMessage=text))


def block(prompt: str, told: str, *, legacy: bool = False) -> Answer:
    """Let the agent go on, with a prompt; an outer shell loop brings its own."""
    text = f"ralph: {told}"
    if legacy:
        return Answer(stderr=text, status=1)
    return Answer(_line(decision="block", reason=prompt, systemMessage=text))


def opened(what: str, *, legacy: bool = False) -> Answer:
    """Let the agent stop because something is wrong, and say what."""
    text = f"ralph-bridge stop-hook: {what}"
    return Answer("" if legacy else _line(systemMessage=text), text, doubtful=True)


def _line(**document: str) -> str:
    # ASCII only: whatever the locale says, and lone surrogates of a broken file, too.
    return json.dumps(document) + "\n"
