"""``.claude/ralph/logs/loop.log``: what a loop decided, and what it warned of, in both modes."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from bridge.errors import BridgeError
from bridge.loop.logs import append_line

if TYPE_CHECKING:
    from bridge.setups.wiggum.layout import Layout

__all__ = ["LOG_BYTES", "note"]

LOG_BYTES = 10 * 1024 * 1024
"""Size at which such a log is put aside as ``NAME.1``; four of those are kept."""


def note(layout: Layout, text: str, level: Literal["INFO", "WARN", "ERROR"] = "INFO") -> None:
    """Append a line: UTC time, level, text. In one write, so that lines of two processes don't mix.

    What can't be written is left out: a full disk must not end a loop for the sake of its log.
    """
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    with suppress(OSError, BridgeError):
        append_line(layout.log, f"[{moment}] [{level}] {line}", max_bytes=LOG_BYTES)
