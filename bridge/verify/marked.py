"""``NAME.events.jsonl`` beside ``NAME.sh``: one run of its CLI, in which the author has marked what is what.

Each line is one that the CLI has printed, as it is. A line ``{"ralph-bridge": {...}}`` marks the line above it:
which text in it the assistant says, what must not be shown of it, which tool it names, the session's id.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.errors import ConfigurationError
from bridge.verify.recordings import Recording, carries

if TYPE_CHECKING:
    from os import PathLike

SUFFIX = ".events.jsonl"
"""What the name of a recording ends in, where that of the script ends in .sh."""
MARK = "ralph-bridge"
_KEYS = ("text", "never", "tool", "session")
_EXAMPLE = '{"ralph-bridge": {"text": "what the assistant says in the line above"}}'


def path_beside(script: str | PathLike[str]) -> Path:
    path = Path(script)
    return path.with_name(path.name.removesuffix(".sh") + SUFFIX)


def recording_beside(script: str | PathLike[str], cli: str = "") -> Recording | None:
    """The recording that lies beside a script; None where there is none, or nothing but blank lines in it.

    Args:
        script: the path of the script.
        cli: the name of its CLI.

    Raises:
        ConfigurationError: it can't be read, it marks no text, or a mark that isn't one.
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
            _check(where, key, value, above)
            marks[key].append(value)
    return _recording(path, cli, lines, marks)


def _recording(path: Path, cli: str, lines: list[bytes], marks: dict[str, list[str]]) -> Recording:
    texts = tuple(marks["text"])
    if not texts:
        raise ConfigurationError(
            f"{path} marks no text of the assistant\n  next: below an event that holds one, add {_EXAMPLE}"
        )
    for text in texts:
        if sum(text in other for other in texts) > 1:
            raise ConfigurationError(
                f"{path}: the text {text!r} stands in more than one of the marked texts, so that nobody can tell "
                "whether it is shown once\n  next: record a run whose texts differ, or mark only the longer one"
            )
    if any(word in text for word in marks["never"] for text in texts):
        word = next(word for word in marks["never"] if any(word in text for text in texts))
        raise ConfigurationError(
            f"{path}: {word!r} is marked as what must not be shown, and stands in a marked text, too\n"
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
    if MARK.encode() not in line:
        return None
    try:
        read = json.loads(line)
    except ValueError as error:
        if re.match(rb'\s*\{\s*"ralph-bridge"', line):
            raise ConfigurationError(f"{where}: a mark that is no JSON ({error}); expected: {_EXAMPLE}") from error
        return None
    if not isinstance(read, dict) or MARK not in read:
        return None
    mark = read[MARK]
    if set(read) != {MARK} or not isinstance(mark, dict) or not mark:
        shown = line.decode(errors="replace").strip()[:120]
        raise ConfigurationError(f"{where}: {shown} is no mark; expected: {_EXAMPLE}")
    if unknown := sorted(set(mark) - {*_KEYS}):
        raise ConfigurationError(f"{where}: {unknown[0]!r} marks nothing; expected {', '.join(_KEYS)}")
    return mark


def _check(where: str, key: str, value: Any, above: bytes) -> None:
    if not isinstance(value, str) or not re.search(r"\w\w" if key == "text" else r"\S", value):
        expected = "a text with a word in it" if key == "text" else "a text"
        raise ConfigurationError(f"{where}: {key} is {json.dumps(value)[:80]}; expected {expected}")
    if not carries(above, value):
        shown = above.decode(errors="replace").strip()[:120]
        raise ConfigurationError(
            f"{where}: the {key} {value!r} isn't in the line above: {shown!r}\n"
            "  next: put the mark below the line that holds it, and copy what it marks from there"
        )
