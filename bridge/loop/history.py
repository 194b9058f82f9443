"""When each run of a loop began, waited and ended: ``logs/runs.jsonl``, in the same shape in every setup.

What their turns came to is in :mod:`bridge.loop.turn_records`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge import timestamps
from bridge.loop.logs import append_line
from bridge.loop.turn_records import KEPT, MOST_BYTES
from bridge.records import to_json

if TYPE_CHECKING:
    from pathlib import Path

    Progress = tuple[int, int] | None

FILE = "runs.jsonl"


class RunHistory:
    """Writes down what happens to one run.

    Args:
        folder: of the logs; made if need be.
        run_id: of the run.
        tool: what it runs, such as ``driver codex``.

    Each method raises :class:`bridge.errors.ProjectUnusable` when the file can't be written.
    """

    def __init__(self, folder: Path, *, run_id: str, tool: str) -> None:
        self._path = folder / FILE
        self._run, self._tool = run_id, tool

    def began(self, now: float, head: str, branch: str, plan: Progress) -> None:
        """It begins, at this commit and on this branch ('' without one), so many tasks done and so many in all."""
        self._write("began", now, tool=self._tool, head=head, branch=branch, plan=plan)

    def waited(self, reason: str, detail: str, began: float, seconds: float) -> None:
        """It has waited."""
        self._write("waited", began, reason=reason, detail=detail, seconds=round(seconds, 3))

    def ended(self, now: float, verdict: str, reason: str, detail: str, head: str, plan: Progress) -> None:
        """It ends: ``complete``, ``incomplete`` or ``interrupted``."""
        facts = {"verdict": verdict, "reason": reason, "detail": detail}
        self._write("ended", now, **facts, head=head, plan=plan)

    def _write(self, event: str, at: float, **facts: object) -> None:
        line = {"schema": 1, "run": self._run, "event": event, "at": timestamps.iso_precise(at), **facts}
        append_line(self._path, to_json(line, compact=True), max_bytes=MOST_BYTES, keep=KEPT)
