"""``.claude/ralph/logs/loop.log``: what a loop decided, and what it warned of, in both modes."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bridge.setups.wiggum.layout import Layout

__all__ = ["note"]


def note(layout: Layout, text: str, level: Literal["INFO", "WARN", "ERROR"] = "INFO") -> None:
    """Append a line: UTC time, level, text. In one write, so that lines of two processes don't mix.

    What can't be written is left out: a full disk must not end a loop for the sake of its log.
    """
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    with suppress(OSError):
        layout.log.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(layout.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(descriptor, f"[{moment}] [{level}] {line}\n".encode("utf-8", "surrogateescape"))
        finally:
            os.close(descriptor)
