"""What CLIs print, recorded, with the text that a person should see; and how what a script shows compares."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_LABEL = re.compile(r"\W*(?:assistant|agent|claude|codex|cursor|opencode|amp|cline)\W*", re.IGNORECASE)
"""Who speaks: what stands in front of a text."""

_NOTICE = re.compile(r"\W*(?:(?:using|running|calling) )?(?:a )?tools?(?: (?:call|use|used))?\W*", re.IGNORECASE)
"""That a tool is used, without its name."""

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

_FOLDER = Path(__file__).parent / "data" / "events"


class Recording(NamedTuple):
    """One run of one CLI: the events, and what is in them.

    texts: what the assistant said, in order. tools: names of the tools that it used. never: words that stand
    only in the prompt, in thoughts and in the output of tools. session: the id, None where there is none.
    today: whether the CLI still prints this shape. asks: the word that asks for it, where several can be had.
    """

    name: str
    clis: tuple[str, ...]
    today: bool
    lines: tuple[bytes, ...]
    texts: tuple[str, ...]
    tools: tuple[str, ...]
    never: tuple[str, ...]
    session: str | None
    asks: tuple[str, ...] = ()

    @property
    def at_the_end(self) -> bool:
        """Whether it is one document, printed when all is done."""
        return self.asks == ("json",)

    def saying(self, text: str) -> list[int]:
        """Numbers of the lines that carry this text: others than the summary at the end, if there are."""
        carry = [number for number, line in enumerate(self.lines) if carries(line, text)]
        return [number for number in carry if b'"result"' not in self.lines[number]] or carry

    @property
    def bad_lines(self) -> tuple[bytes, ...]:
        """Lines as a CLI leaves them that was ended: half of an event that would carry a text, and `BAD_LINES`."""
        event = self.lines[self.saying(self.texts[-1])[0]]
        at = max(event.find(form) for form in _forms(self.texts[-1]))
        return (*((event[: at + 3].rstrip() + b"\n",) if at > 0 else ()), *BAD_LINES)

    def in_pieces(self) -> Recording | None:
        """It, with each text in two pieces, cut within a word; None where its CLI prints no text in pieces."""
        lines: list[bytes] = []
        for line in self.lines:
            text = next((t for t in self.texts if b'"delta":true' in line and quoted(t) in line), None)
            if text is None:
                lines.append(line)
            else:
                at = 1 + re.search(r"\w\w", text).start()  # type: ignore[union-attr]
                lines += [line.replace(quoted(text), quoted(piece)) for piece in (text[:at], text[at:])]
        return self._replace(lines=tuple(lines)) if len(lines) > len(self.lines) else None

    def upto_last_text(self) -> Recording:
        return self._replace(lines=self.lines[: 1 + max(self.saying(self.texts[-1]))])


@cache
def recordings() -> dict[str, Recording]:
    """All of them, by name."""
    found = {}
    for path in sorted(_FOLDER.glob("*.expected.json")):
        name = path.name.removesuffix(".expected.json")
        data = json.loads(path.read_text())
        lines = (_FOLDER / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
        plain: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in data.items()
        }
        found[name] = Recording(name=name, lines=tuple(lines), **plain)
    return found


def streamed() -> list[Recording]:
    """Those that are printed event by event."""
    return [recording for recording in recordings().values() if not recording.at_the_end]


def recordings_of(cli: str, line: Iterable[str] | None = None) -> list[Recording]:
    """Those of the CLI with this name or path, today's shape first; none when it isn't known.

    line: the command line; then none but those that it asks for.
    """
    base = os.path.basename(cli)
    mine = [r for r in recordings().values() if base in r.clis]
    if line is not None:
        words = {word.rpartition("=")[2].strip("'\"") for argument in line for word in argument.split()}
        mine = [r for r in mine if not r.asks or words.intersection(r.asks)]
    return sorted(mine, key=lambda r: (not r.today, r.name))


def quoted(text: str) -> bytes:
    """A text as it stands within a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


def _forms(text: str) -> tuple[bytes, bytes]:
    """How a text may stand in a line: as it is within JSON, or with nothing but ASCII."""
    return quoted(text), json.dumps(text)[1:-1].encode()


def carries(line: bytes, text: str) -> bool:
    return any(form in line for form in _forms(text))


def plain(text: str) -> str:
    """Text without its blanks, to compare what may be laid out in another way."""
    return "".join(text.split())


class Comparison(NamedTuple):
    """What was shown, compared with a recording.

    missing: texts that are not there. broken: texts whose blanks and line breaks were changed.
    repeated: texts that are there more than once. leaked: words that must not be shown. extra: what else is
    there, but for notices that a tool is used.
    """

    missing: tuple[str, ...]
    broken: tuple[str, ...]
    repeated: tuple[str, ...]
    leaked: tuple[str, ...]
    extra: str
    notices: bool

    @property
    def shows(self) -> bool:
        return not self.missing and not self.broken

    @property
    def nothing_else(self) -> bool:
        return not (self.repeated or self.leaked or self.extra)


def compare(shown: str, recording: Recording) -> Comparison:
    missing: list[str] = []
    broken: list[str] = []
    repeated: list[str] = []
    rest = shown
    for text in recording.texts:
        exact, parts = rest.count(text), list(filter(None, re.split(r"\s+", text)))
        loose = re.compile(r"\s*".join(re.escape(char) for part in parts for char in part))
        if exact == 0:
            (broken if loose.search(rest) else missing).append(text)
            rest = loose.sub("\n", rest)
        elif exact > 1:
            repeated.append(text)
        rest = rest.replace(text, "\n")
    leaked = tuple(word for word in recording.never if word in shown)
    extra, notices = [], False
    for line in rest.splitlines():
        if not re.search(r"\w", line) or _LABEL.fullmatch(line):
            continue
        if '"type"' not in line and (_NOTICE.fullmatch(line) or _names_a_tool(line, recording.tools)):
            notices = True
            continue
        extra.append(line.strip())
    return Comparison(tuple(missing), tuple(broken), tuple(repeated), leaked, "\n".join(extra), notices)


def _names_a_tool(line: str, tools: tuple[str, ...]) -> bool:
    names = "|".join(map(re.escape, tools))
    return re.search(rf"(?<![A-Za-z])(?:{names})(?:ToolCall)?(?![A-Za-z])", line, re.IGNORECASE) is not None
