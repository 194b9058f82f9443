"""What was typed comes back as echo; these functions find where it ends and the output begins."""

from __future__ import annotations

import re

from bridge.adapters.patterns import compiled

__all__ = ["echo_end", "strip_deterministic", "strip_fuzzy"]

_ANSI = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]|[\x00-\x02\x07]")
_LINE_ENDS = re.compile(r"[\r\n]*")
_ONE_LINE_END = re.compile(r"(?:\x1b\[[0-?]*[ -/]*[@-~]|\x1b[=>]|\r)*(?:\n|\x1bE)(?:\x1b\[\?2004l\r?)?")


def strip_deterministic(output: str, sent: str, enter: str = "") -> str:
    """`output` without the echo of `sent` at its start, or unchanged when it isn't there.

    Line ends in the echo are passed over, wherever the terminal wrapped it; nothing else may differ.
    """
    payload = _payload(sent, enter)
    end = _walk(output, 0, payload, ansi=False) if payload else None
    return output if end is None else output[_after(_LINE_ENDS, output, end) :]


def strip_fuzzy(output: str, sent: str, enter: str = "", prompt: str | None = None) -> str:
    """The same for line editors that draw their prompt again: it is passed over first, and colours anywhere."""
    payload = _payload(sent, enter)
    if not payload:
        return output
    ansi = "\x1b" not in payload
    end = _walk(output, _behind_prompt(output, prompt), payload, ansi=ansi)
    return output if end is None else output[_after(_LINE_ENDS, output, end) :]


def echo_end(text: str, sent: str, enter: str = "", prompt: str | None = None) -> int | None:
    """Where the echo of `sent` and its line end are over in `text`, as it came from the terminal.

    None if it isn't there. Unlike the strippers, which see cleaned text, this one sees control sequences and passes
    over them, and takes away exactly one line end, so that blank lines of the output stay.
    """
    payload = _payload(sent, enter)
    if not payload:
        return None
    for start in {0: None, _behind_prompt(text, prompt): None}:
        end = _walk(text, start, payload, ansi="\x1b" not in payload)
        # Without a line end behind it this was one of many drafts: editors draw the line anew for every key.
        if end is not None and (line_end := _ONE_LINE_END.match(text, end)):
            return line_end.end()
    return None


def _payload(sent: str, enter: str) -> str:
    return sent[: -len(enter)] if enter and sent.endswith(enter) else sent


def _after(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _walk(text: str, position: int, payload: str, *, ansi: bool) -> int | None:
    """Walk over `payload` in `text`; the position behind its last character, or None."""
    for char in payload:
        if char in "\r\n":
            continue
        while True:
            if position >= len(text):
                return None
            if text[position] == char:
                break
            if ansi and (skipped := _ANSI.match(text, position)):
                position = skipped.end()
            elif text[position] in "\r\n":
                position += 1
            else:
                return None
        position += 1
    return position


def _behind_prompt(text: str, prompt: str | None) -> int:
    position = 0
    while position < len(text):
        if text[position] in "\r\n":
            position += 1
        elif skipped := _ANSI.match(text, position):
            position = skipped.end()
        else:
            break
    if prompt is None:
        return position
    core = prompt.removeprefix("^")
    core = core.removesuffix("$") if not core.endswith("\\$") else core
    match = compiled(core).match(text, position)
    return match.end() if match else position
