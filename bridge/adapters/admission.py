"""What is refused before anything is typed: open brackets, and lines that the terminal would cut."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.adapters.parens import judge
from bridge.adapters.payload import CANONICAL_LIMIT
from bridge.errors import IncompleteInput, LineTooLong

if TYPE_CHECKING:
    from bridge.adapters.model import AdapterFile

__all__ = ["line_limit", "refuse_incomplete", "refuse_long", "short"]

_MACOS_LIMIT = 1023


def refuse_incomplete(adapter: AdapterFile, command: str) -> None:
    """``multiline_detect: balanced_parens``.

    Raises:
        IncompleteInput: brackets or strings are open.
    """
    given = adapter.input
    if given.multiline_detect != "balanced_parens":
        return
    verdict = judge(command, given.balanced_parens)
    if not verdict.complete:
        raise IncompleteInput(
            f"incomplete input: {verdict.reason}; nothing was sent to {adapter.name}\n"
            f"  command: {short(command)}\n  next: balance it"
        )


def line_limit(*, canonical: bool | None) -> int | None:
    """Bytes of one line, its end included, that a terminal takes; None when it doesn't edit lines."""
    if not canonical:
        return None
    return CANONICAL_LIMIT if os.uname().sysname == "Linux" else _MACOS_LIMIT


def refuse_long(adapter: AdapterFile, text: str, limit: int | None) -> None:
    """Refuse what the terminal would cut.

    Raises:
        LineTooLong: some line of `text` is longer than `limit`.
    """
    longest = max(len(line.encode("utf-8", "surrogateescape")) for line in text.split("\n")) + 1
    if limit is not None and longest > limit:
        raise LineTooLong(
            f"a line of {longest - 1} bytes: the terminal of {adapter.name} takes {limit - 1} and "
            "would drop the rest\n  next: break the line, or give the adapter "
            "an input.tempfile.invocation_template"
        )


def short(text: str) -> str:
    """The first line of a command, for messages."""
    line = text.strip().partition("\n")[0]
    return repr(line if len(line) <= 60 else line[:57] + "...")
