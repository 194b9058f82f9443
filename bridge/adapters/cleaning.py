"""From what came between two prompts to what a command printed: its echo goes, the rest is rendered."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.adapters.escapes import SEQUENCE, plain, visible
from bridge.adapters.patterns import compiled, without_end, without_start
from bridge.adapters.prompts import PromptDetector
from bridge.adapters.render import render, trimmed

if TYPE_CHECKING:
    from bridge.adapters.schema_model import AdapterFile, Interleave

_SKIPPED = re.compile(rf"(?:[\r\n]|{SEQUENCE.pattern})*")
_LINE_END = re.compile(r"(?:\x1b\[[0-?]*[ -/]*[@-~]|\x1b[=>]|\r)*(?:\n|\x1bE)(?:\x1b\[\?2004l\r?)?")
_ZSH_NO_LINE_END = re.compile(
    r"(?:\x1b\[1m)?\x1b\[7m[%#]\x1b\[27m(?:\x1b\[[0-9;]*m)* {20,}\r \r(?:\r|\x1b\[[0-9;]*[mJK])*(\Z)?"
)
"""How zsh marks output without line end: it fills the line, and then goes back to its start."""
_JLINE_BRACKET = re.compile(r"([)\]}])\x1b\[\d*A(?:\x1b\[\d*[CDG])?\r*(?:\r*\n)+(?:\x1b\[\d*C)?\x1b\[K\1")
"""How JLine shows which bracket was closed: it goes to that earlier line and back, and draws the closing one."""


def clean(adapter: AdapterFile, window: bytes, sent: str, *, exact: bool, prompt: str | None = None) -> str:
    """The output of one command; an echo that isn't found is left where it is.

    Args:
        window: what came since `sent` was written (without the Enter key), up to the prompt, without announcements.
        exact: the window begins at the announced start of the command: there is no echo in it.
        prompt: pattern of the prompt, which line editors may draw again before the echo.
    """
    text = window.decode("utf-8", "surrogateescape")
    text = _JLINE_BRACKET.sub(r"\1", without_fill(text))
    output = adapter.output
    sgr = not output.strip_ansi
    if exact:
        shown = render(text, sgr=sgr)
        # A REPL begins a fresh line; it doesn't know that the terminal's echo has done so already.
        return shown.rstrip("\n") if adapter.family == "shell" else trimmed(shown)
    if output.strip_input_echo and output.input_echo_strategy != "none":
        end = echo_end(text, sent, prompt=prompt)
        return trimmed(
            render(text[end:], sgr=sgr) if end is not None else _echo_stripped(text, sent, prompt, sgr=sgr)
        )
    return trimmed(render(text, sgr=sgr))


def without_fill(text: str) -> str:
    """`text` without the rows that zsh fills; each is a line end, but for one at the end."""
    if "\r \r" not in text:
        return text
    return _ZSH_NO_LINE_END.sub(lambda match: "\n" if match[1] is None else "", text)


def _echo_stripped(text: str, sent: str, prompt: str | None, *, sgr: bool) -> str:
    """The output of a line editor that moved about: its echo is looked for in what the line became."""
    seen = render(text, sgr=sgr)
    for stripped in (
        strip_deterministic(seen, sent),
        strip_fuzzy(seen, sent, prompt),
        strip_deterministic(seen, sent.expandtabs(8).rstrip()),
    ):
        if stripped != seen:
            return stripped
    first, _, rest = trimmed(seen).partition("\n")
    # Indented by the editor itself.
    return rest if sent.strip() and plain(first).strip() == sent.strip() else seen


def strip_deterministic(output: str, sent: str) -> str:
    """`output` without the echo of `sent` at its start, wherever it was wrapped; unchanged if it isn't there."""
    end = _walk(output, 0, sent, ansi=False)
    return output if end is None else output[end:].lstrip("\r\n")


def strip_fuzzy(output: str, sent: str, prompt: str | None = None) -> str:
    """The same for line editors that draw their prompt again: it is skipped first, and colours anywhere."""
    end = _walk(output, _after_prompt(output, prompt), sent, ansi="\x1b" not in sent)
    return output if end is None else output[end:].lstrip("\r\n")


def echo_end(text: str, sent: str, prompt: str | None = None) -> int | None:
    """Where the echo of `sent` and its line end are over in `text`, as it came from the terminal, or None.

    Control sequences are skipped, and exactly one line end is taken away, so that blank lines of the output stay.
    """
    for start in {0: None, _after_prompt(text, prompt): None}:
        end = _walk(text, start, sent, ansi="\x1b" not in sent)
        # Without a line end after it this was one of many drafts: editors redraw the line for every key.
        if end is not None and (line_end := _LINE_END.match(text, end)):
            return line_end.end()
    return None


def _walk(text: str, position: int, sent: str, *, ansi: bool) -> int | None:
    """The position after the last character of `sent` in `text`; None if there is none, or it isn't there."""
    if not sent:
        return None
    for char in sent:
        if char in "\r\n":
            continue
        while not text.startswith(char, position):
            if ansi and (skipped := SEQUENCE.match(text, position)):
                position = skipped.end()
            elif position < len(text) and text[position] in "\r\n":
                position += 1
            else:
                return None
        position += 1
    return position


def _after_prompt(text: str, prompt: str | None) -> int:
    skipped = _SKIPPED.match(text)
    position = skipped.end() if skipped else 0
    if prompt is None:
        return position
    match = compiled(without_end(without_start(prompt))).match(text, position)
    return match.end() if match else position


def out_of_band_text(text: bytes, primary: str | None) -> str:
    """What came after a prompt, without colours, and without the prompt if it was drawn once more after it."""
    raw = without_fill(text.decode("utf-8", "surrogateescape"))
    shown = plain(visible(raw).text).replace("\r\n", "\n")
    if primary:
        detector = PromptDetector(primary)
        detector.feed(shown.encode("utf-8", "surrogateescape"))
        if detector.at_end is not None:
            shown = shown[: shown.rfind(detector.at_end.text)]
    return trimmed(shown).strip("\r\n") if shown.strip() else ""


def without_prompts(output: str, primary: str | None) -> str:
    """`output` without the lines that are a prompt and nothing else: of programs that print on after their prompt,
    it is a matter of milliseconds whether such a prompt ended the command.
    """
    if not primary:
        return output
    pattern = compiled(primary)
    return "\n".join(line for line in output.split("\n") if not (line.strip() and pattern.fullmatch(plain(line))))


def interleaved(output: str, before: str, after: str, rule: Interleave) -> tuple[str, str]:
    """The output of a command, and what is kept apart from it: with the strategy ``none`` that is all of it.

    `before` came between the last prompt and the command, `after` after its own prompt.
    """
    apart = "\n".join(each for each in (before, after) if each)
    if not apart or rule.strategy == "none" or rule.capture_as == "out_of_band":
        return output, apart
    if rule.capture_as == "discard":
        return output, ""
    return "\n".join(each for each in (before, output, after) if each), apart


def echoed_keys(keys: str) -> bytes:
    """How a terminal echoes keys that aren't read: control characters as ``^A``."""
    return "".join(f"^{chr(ord(each) ^ 64)}" if each < " " or each == "\x7f" else each for each in keys).encode()
