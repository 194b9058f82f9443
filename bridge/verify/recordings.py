"""What CLIs print, recorded, with the text that a person should see; and how what a script shows compares.

Ours lie in ``data/events``. An author's lies beside ``NAME.sh``: in ``NAME.events.jsonl`` each line is one that the
CLI has printed. A line ``{"ralph-bridge": {...}}`` marks the line above it: which text in it the assistant says,
what must not be shown of it, which tool it names, the session's id.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

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
        """Whether it is one document, printed when all is done, and not an event a line."""
        return not self.lines[0].startswith(b'{"')

    def saying(self, text: str) -> list[int]:
        """Numbers of the lines that carry this text: others than the summary at the end, if there are."""
        carry = [number for number, line in enumerate(self.lines) if carries(line, text)]
        return [number for number in carry if b'"result"' not in self.lines[number]] or carry

    @property
    def bad_lines(self) -> tuple[bytes, ...]:
        """Lines of a CLI that was ended: half of each event that would carry a text, and `BAD_LINES`."""
        events = [self.lines[number] for number in self.saying(self.texts[-1])]
        cuts = [(event, max(map(event.find, _forms(self.texts[-1])))) for event in events]
        return (*(event[: at + 3].rstrip() + b"\n" for event, at in cuts if at > 0), *BAD_LINES)

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

    missing: texts that are not there. broken: texts whose blanks, line breaks or asterisks were changed.
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
        letters = [re.escape(char) for part in parts for char in part]
        loose = re.compile(r"\s*".join(letters))
        if not exact and not loose.search(rest):  # an unquoted variable: its * became names of files
            loose = re.compile(r"\s*".join(".*?" if letter == r"\*" else letter for letter in letters))
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
    return Comparison(
        missing=tuple(missing), broken=tuple(broken), repeated=tuple(repeated), leaked=leaked,
        extra="\n".join(extra), notices=notices,
    )  # fmt: skip


def _names_a_tool(line: str, tools: tuple[str, ...]) -> bool:
    names = "|".join(map(re.escape, tools))
    return re.search(rf"(?<![A-Za-z])(?:{names})(?:ToolCall)?(?![A-Za-z])", line, re.IGNORECASE) is not None


_MARK = "ralph-bridge"
_KEYS = ("text", "never", "tool", "session")
EXAMPLE = '{"ralph-bridge": {"text": "what the assistant says in the line above"}}'


def path_beside(script: str | PathLike[str]) -> Path:
    path = Path(script)
    return path.parent / (path.name.removesuffix(".sh") + ".events.jsonl")  # of a folder too, "." among them


def recording_beside(script: str | PathLike[str], cli: str = "") -> Recording | None:
    """The recording that lies beside a script; None where there is none that marks a text.

    Raises:
        ConfigurationError: it can't be read, or holds a mark that isn't one.
    """
    path = path_beside(script)
    try:
        data = path.read_bytes() if path.is_file() else b""
    except OSError as error:
        raise ConfigurationError(f"{path} can't be read: {error.strerror}") from error
    if not data.strip():
        return None
    lines: list[bytes] = []
    marks: dict[str, list[str]] = {key: [] for key in _KEYS}
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        where = f"{path}:{number}"
        if (mark := _mark(line, where)) is None:
            lines.append(line)
            continue
        above = next((each for each in reversed(lines) if each.strip()), b"")
        for key, value in mark.items():
            _check_mark(where, key, value, above)
            marks[key].append(value)
    return _marked(path, cli, lines, marks) if marks["text"] else None


def unmarked(script: str | PathLike[str]) -> str:
    """What has to be done so that a script is judged by the recording beside it, which there isn't, or not yet."""
    path = path_beside(script)
    try:
        begun = path.is_file() and bool(path.read_bytes().strip())
    except OSError:
        begun = False
    if begun:
        where = f"{path.name} beside the script"
        return f"{where} marks no text of the assistant: below an event that holds one, add {EXAMPLE}"
    return f"record a run in {path.name} beside the script, and mark what is said in it (docs/verify.md)"


def _marked(path: Path, cli: str, lines: list[bytes], marks: dict[str, list[str]]) -> Recording:
    texts = tuple(marks["text"])
    for text in texts:
        if sum(text in other for other in texts) > 1:
            raise ConfigurationError(
                f"{path}: the text {text!r} stands in more than one of the marked texts, so that nobody can tell "
                "whether it is shown once\n  next: record a run whose texts differ, or mark only the longer one"
            )
    if leaked := [word for word in marks["never"] if any(word in text for text in texts)]:
        raise ConfigurationError(
            f"{path}: {leaked[0]!r} is marked as what must not be shown, and stands in a marked text, too\n"
            "  next: mark a word that only the prompt or a tool's output has"
        )
    if len(set(marks["session"])) > 1:
        raise ConfigurationError(
            f"{path} marks several sessions: {', '.join(sorted(set(marks['session'])))}\n"
            "  next: mark one, that with which the run is resumed"
        )
    session = next(iter(marks["session"]), None)
    clis = (cli,) if cli else ()
    return Recording(
        name=path.name, clis=clis, today=True, lines=tuple(lines), texts=texts, tools=tuple(marks["tool"]),
        never=tuple(marks["never"]), session=session,
    )  # fmt: skip


def _mark(line: bytes, where: str) -> dict[str, Any] | None:
    """What a line marks; None for a line of the CLI."""
    if _MARK.encode() not in line:
        return None
    try:
        read = json.loads(line)
    except ValueError as error:
        if re.match(rb'\s*\{\s*"ralph-bridge"', line):
            raise ConfigurationError(f"{where}: a mark that is no JSON ({error}); expected: {EXAMPLE}") from error
        return None
    if not isinstance(read, dict) or _MARK not in read:
        return None
    mark = read[_MARK]
    if set(read) != {_MARK} or not isinstance(mark, dict) or not mark:
        shown = line.decode(errors="replace").strip()[:120]
        raise ConfigurationError(f"{where}: {shown} is no mark; expected: {EXAMPLE}")
    if unknown := sorted(set(mark) - {*_KEYS}):
        raise ConfigurationError(f"{where}: {unknown[0]!r} marks nothing; expected {', '.join(_KEYS)}")
    return mark


def _check_mark(where: str, key: str, value: Any, above: bytes) -> None:
    if not isinstance(value, str) or not re.search(r"\w\w" if key == "text" else r"\S", value):
        expected = "a text with a word in it" if key == "text" else "a text"
        raise ConfigurationError(f"{where}: {key} is {json.dumps(value)[:80]}; expected {expected}")
    if not carries(above, value):
        shown = above.decode(errors="replace").strip()[:120]
        raise ConfigurationError(
            f"{where}: the {key} {value!r} isn't in the line above: {shown!r}\n"
            "  next: put the mark below the line that holds it, and copy what it marks from there"
        )
