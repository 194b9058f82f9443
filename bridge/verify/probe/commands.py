"""Commands as data: what one is asked for with, what arrives at its far end, and texts found back in that."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from bridge.shell.protocol import quote
from bridge.verify.probe.far import why_unjudged
from bridge.verify.probe.state import HookResult, ProbeFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# -- what a script is given ----------------------------------------------------------------------------------

PROMPT_FILE = ".ralph/PROMPT.md"
LISTED = ("all.md", "all)", "Write(all)", "Edit(all.md)")
"""Files of the project that an unquoted `*`, `*.md`, `Bash(git *)` or `Write(*)` would turn into."""
PROMPT = "Do the next open task of the plan.\n\nOne task at a time, with its tests.\n"

PROMPT_PARTS = {
    ".ralph/PROMPT-hard.md": {
        "two blanks or a tab": "Keep  these\tas they are",
        "quotes": "Keep \"these\" and 'those', it's said",
        "substitutions": "Keep $(touch rb-evaluated) and `touch rb-evaluated` and $HOME",
        "backslashes": "Keep \\n and \\\\ as they are",
        "percent signs": "Keep 100% and %s as they are",
        "globs": "Keep * and {a,b} and !x as they are",
        "blanks at the beginning of a line": "Keep\n  these as they are",
        "many lines": "Keep\nthese\n\nlines\nas\nthey\nare",
    },
    ".ralph/PROMPT-layout.md": {
        "blanks at its beginning": "    begun by four blanks\n",
        "several empty lines": "Keep\n\n\n\nthese\n",
        "blanks at the end of a line": "Keep  \nthese\n",
    },
    ".ralph/PROMPT-long.md": {
        "letters beyond ASCII": "The plan \u2013 “done” ✓\n",
        "headings": "# The plan\n\nDo it.\n\n# The end\n",
        "comments": "<!-- for the agent -->\n\nDo it.\n",
        "numbered lines": "1. one of the steps\n\n2. another one\n",
        "no newline at its end": "Do the next task.\n\nThen end",
        "many lines": "One of many lines.\n" * 121,
    },
}
"""What the prompts hold that hold several things: each by itself tells which of them does not arrive."""


def part_file(what: str) -> str:
    """The file with a prompt that holds only this, whose name has no blanks."""
    return f".ralph/PROMPT-{what.replace(' ', '-')}.md"


FILES = {
    PROMPT_FILE: PROMPT,
    ".ralph/PROMPT-hard.md": "Keep  \"these\" 'quotes', $(touch rb-evaluated) and `touch rb-evaluated`,\n\n"
    "  $HOME, \\n, \\\\, %s, *, {a,b}, !x and \t tabs\nas they are: here\nthe parser\nthen\nstart it\n",
    ".ralph/PROMPT-dash.md": "- [ ] begin with a dash\n- [ ] and go on\n",
    ".ralph/PROMPT blank name.md": "The name of this file has blanks.\n",
    ".ralph/PROMPT-long.md": "# The plan \u2013 wie vereinbart\n\n<!-- for the agent -->\n\n"
    + "".join(f"{n}. one of many steps; it is “done” when its tests pass ✓\n\n" for n in range(1, 121))
    + "# The end of the plan",
    ".ralph/PROMPT-layout.md": "    begun by four blanks\n\n\n\nand three empty lines; two blanks break  \n"
    "this line.\n",
    ".ralph/PROMPT-size.md": "One of many lines.\n" * 2500,
    ".ralph/PROMPT-crlf.md": "Lines that were written\r\non another system.\r\n",
} | dict.fromkeys(LISTED, "")
FILES |= {part_file(what): text for parts in PROMPT_PARTS.values() for what, text in parts.items()}

SESSION = "6f1c2a9e-0b7d-4c55-9a41-3d2e8f70b1c6"
OTHER_SESSIONS = ("ses_0b7d4c559a41ffeVR5bw0BfWza", "T-6f1c2a9e")  # some drivers take only their CLI's own ids
LONG_SESSION = "session-2026-11-28T00-19-00-6f1c2a9e-0b7d-4c55-9a41-3d2e8f70b1c6-" + "0123456789abcdef" * 4

MISSING = ".ralph/no such prompt.md"
FOLDER = ".ralph"
"""A path that is there, and no prompt."""

ALLOWED = ("Read", "Bash(git *)", "Write(*)", "Edit(*.md)")
MANY = (*ALLOWED, *(f"mcp__server__tool_{number}" for number in range(1, 41)))
"""As long a list as projects have."""

_PLAIN = re.compile(r"[\w #.:-]*")


class Build(NamedTuple):
    """One call of ``driver_build_command`` and the settings it is made under; None leaves a setting unset."""

    prompt: str = PROMPT_FILE
    context: str = ""
    session: str = ""
    resume: str | None = "false"
    output: str | None = "json"
    mode: str | None = "bypassPermissions"
    tools: str | None = ""
    extra: tuple[str, ...] = ()
    host: str = ""
    """Code that is run before, in the same call: how this host differs from others."""

    @property
    def is_plain(self) -> bool:
        """Whether every driver has to build a command for it: nothing in it is strange."""
        usual = (self.prompt, self.extra, self.host) == (PROMPT_FILE, (), "") and bool(self.mode and self.output)
        return usual and _PLAIN.fullmatch(self.context) is not None

    def settings(self) -> str:
        pairs = {
            "CLAUDE_USE_CONTINUE": self.resume,
            "CLAUDE_OUTPUT_FORMAT": self.output,
            "CLAUDE_PERMISSION_MODE": self.mode,
            "CLAUDE_ALLOWED_TOOLS": self.tools,
        }
        return "\n".join(
            f"{n}={quote(v)}" if v is not None else f"\\builtin unset -v {n}" for n, v in pairs.items()
        )


class Received(NamedTuple):
    """What the program at the far end of a command is given.

    direct: its arguments and its stdin. beside: its environment, and the files that its arguments name.
    known: whether it was started; otherwise `direct` is the command itself. refusal: what a program on the way says
    that starts nothing. unfollowed: a program on the way that is not followed: nothing of this can be
    judged.
    """

    direct: tuple[str, ...]
    beside: tuple[str, ...] = ()
    known: bool = True
    refusal: str = ""
    unfollowed: str = ""

    @property
    def line(self) -> list[str]:
        return list(self.direct[:-1] if self.known else self.direct)

    def count(self, text: str, *, aside: bool = True) -> int:
        """How often a text arrives there, as it is or in a form from which it can be had back.

        aside: what is beside the command counts, too.
        """
        beside = self.beside if aside else ()
        for values in (self.direct, beside):
            if found := sum(value.count(text) for value in values):
                return found
        return sum(value.count(text) for value in decoded((*self.direct, *beside)))


class LiveCommand(NamedTuple):
    """One call of ``driver_prepare_live_command``; the value of `result` is LIVE_CMD_ARGS.

    command, left: CLAUDE_CMD_ARGS before and after it. arrived: what arrives of it at its far end.
    """

    result: HookResult
    command: list[str]
    left: list[str]
    arrived: Received = Received((), known=False)

    @property
    def received(self) -> Received:
        """What arrives of it at its far end; `ProbeFailed` when that is not followed."""
        return followed(self.arrived)

    @property
    def argv(self) -> list[str] | None:
        return list(self.result.value) if isinstance(self.result.value, list) else None


def followed(arrived: Received) -> Received:
    if arrived.unfollowed:
        raise ProbeFailed(why_unjudged(arrived.unfollowed))
    return arrived


# -- texts found back --------------------------------------------------------------------------------------------


def decoded(values: Iterable[str]) -> list[str]:
    """What the far end can have back of these: what is JSON, base64, quoted for a shell, or percent-encoded."""
    found: dict[str, None] = {}
    for value in values:
        inner = [text for text in _decode(value) if text != value]
        found.update(dict.fromkeys(inner))
        for text in inner:
            found.update(dict.fromkeys(more for more in _decode(text) if more != text))
    return list(found)


def _decode(value: str) -> Iterator[str]:
    yield from strings_in_json(value)
    yield from _base64(value)
    if re.search(r"[\\']", value):
        with contextlib.suppress(ValueError):
            yield from shlex.split(_ANSI_C.sub(_plain_quotes, value))
    if re.search(r"%[0-9A-Fa-f]{2}", value):
        yield unquote(value, errors="surrogateescape")


_ANSI_C = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "E": "\x1b", "e": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def _plain_quotes(found: re.Match[str]) -> str:
    """``$'...'``, as ``%q`` of bash writes it, in quotes that every shell knows."""

    def byte(escape: re.Match[str]) -> bytes:
        text = escape[1]
        return bytes((int(text, 8) & 255,)) if text.isdigit() else _ESCAPES.get(text, text).encode()

    parts = re.split(r"(\\(?:[0-7]{1,3}|.))", found[1], flags=re.DOTALL)
    whole = b"".join(
        byte(escape) if (escape := re.fullmatch(r"\\([0-7]{1,3}|.)", part, re.DOTALL)) else encoded(part)
        for part in parts
    )
    return shlex.quote(whole.decode("utf-8", "surrogateescape"))


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def spoilt_json(value: str) -> bool:
    text = re.sub(r"^--?[\w-]+=", "", value).strip()
    if not re.match(r'\{\s*"[\w-]+"\s*:', text) or not text.endswith("}"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return True
    return False


def strings_in_json(value: str) -> Iterator[str]:
    """The strings of the first JSON value in a text; none when that is no JSON."""
    start = re.search(r"[{\[\"]", value)
    if start is None:
        return
    try:
        left = [json.JSONDecoder().raw_decode(value[start.start() :])[0]]
    except (ValueError, RecursionError):
        return
    while left:
        node = left.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, dict):
            left += node.values()
        elif isinstance(node, list):
            left += node


def _base64(value: str) -> Iterator[str]:
    for word in re.findall(r"[A-Za-z0-9+/_-]{16,}={0,2}", value.replace("\n", "")):
        if len(word) % 4 == 0:
            try:
                yield base64.b64decode(word.translate({45: 43, 95: 47}), validate=True).decode()
            except (binascii.Error, ValueError):
                continue
