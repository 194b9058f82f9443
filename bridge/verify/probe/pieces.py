"""What an agent is fed with, and what is noted of it."""

from __future__ import annotations

import json
from typing import NamedTuple

__all__ = ["BAD_LINES", "FIRST", "PROMPT", "SECOND", "STATUS", "Display", "Invocation", "plain", "says"]

STATUS = 7
FIRST = b'{"type":"rb.first","text":"tab\\t \\\\ %s  two  blanks"}\n'
SECOND = b'not JSON at all: \xff\xfe *\n{"type":"rb.second"}\n'
PROMPT = (
    "Mend the \"parser\" of 'this' project: $(touch rb-evaluated) `touch rb-evaluated` \\n %s * $HOME\n\n"
    "# A heading \u2013 “done” ✓\n\n<!-- a note for the agent -->\n\n  indented  \n"
) + ("- [ ] one of many lines of a long plan\n" * 400)

BAD_LINES = (
    b"npm warn: this line is no JSON\n",
    b"\n",
    b'{"type":"assistant","message":{"content":[{"type":"te\n',
    b"null\n",
    b"42\n",
    b'"a string"\n',
    b"[]\n",
    b'{"type":"assistant"}\n',
    b'{"type":"rb.never.heard.of","text":{"a":[1]}}\n',
)
"""Stderr that leaked, an empty line, half an event, and JSON of other shapes."""


class Invocation(NamedTuple):
    """One run of agent_invoke. `prompt`: how the prompt arrived: stdin, argument, path, or empty for not at all.

    started: whether the CLI was run. status: of the hook, None when it had to be ended. early: whether the CLI's
    first line came through while the CLI was still at work. argv, folder: its arguments and working folder.
    """

    started: bool
    prompt: str
    status: int | None
    stdout: bytes
    stderr: bytes
    early: bool
    argv: tuple[str, ...] = ()
    folder: str = ""


class Display(NamedTuple):
    """One run of agent_format_display with lines written one after the other.

    early: the first text was shown while more was to come. first, last: whether it was shown at all. status:
    of the hook; negative when it had to be ended.
    """

    early: bool
    first: bool
    last: bool
    shown: str
    status: int


def plain(text: str) -> str:
    """Text without its blanks, to compare what may be laid out in another way."""
    return "".join(text.split())


def says(line: bytes, text: str) -> bool:
    """Whether this recorded line carries this text, other than as the summary at the end."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode() in line and b'"result"' not in line
