"""Output that belongs to no command (``output.async_interleave``): what it is, and where it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.adapters.patterns import compiled
from bridge.adapters.prompts import PromptDetector
from bridge.adapters.render import trimmed
from bridge.adapters.view import plain, visible

if TYPE_CHECKING:
    from bridge.adapters.model import Interleave

__all__ = ["aside", "placed", "without_prompts"]


def aside(text: bytes, primary: str | None) -> str:
    """What came behind a prompt, without colours, and without the prompt if it was drawn once more behind it."""
    shown = plain(visible(text.decode("utf-8", "surrogateescape")).text).replace("\r\n", "\n")
    if primary:
        detector = PromptDetector(primary)
        detector.feed(shown.encode("utf-8", "surrogateescape"))
        if detector.standing is not None:
            shown = shown[: shown.rfind(detector.standing.text)]
    return trimmed(shown).strip("\r\n") if shown.strip() else ""


def without_prompts(output: str, primary: str | None) -> str:
    """`output` without the lines that are a prompt and nothing else.

    For programs that draw their prompt and then go on printing: whether such a prompt ended the command or came too
    late to be noticed is a matter of milliseconds.
    """
    if not primary:
        return output
    pattern = compiled(primary)
    return "\n".join(line for line in output.split("\n") if not (line.strip() and pattern.fullmatch(plain(line))))


def placed(output: str, before: str, after: str, rule: Interleave) -> tuple[str, str]:
    """The output of a command, and what is told apart from it.

    Args:
        output: what the command printed.
        before: what came between the last prompt and this command.
        after: what came behind its own prompt, where that was waited for.
        rule: ``none`` tells it apart whatever `capture_as` says: nobody asked for it.
    """
    apart = "\n".join(each for each in (before, after) if each)
    if not apart or rule.strategy == "none" or rule.capture_as == "out_of_band":
        return output, apart
    if rule.capture_as == "discard":
        return output, ""
    return "\n".join(each for each in (before, output, after) if each), apart
