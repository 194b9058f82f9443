"""Where a loop stands, told from the record of its run and its lock, in every setup alike. Nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.loop.lock import is_locked
from bridge.loop.runs import read_run

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.runs import RunRecord

Word = Literal["none", "starting", "running", "waiting", "ended", "killed"]


class Standing(NamedTuple):
    """Where a loop stands.

    Attributes:
        word: ``none`` has run yet; ``starting``: its lock is held and its record not written; ``killed``: it is not
            running and did not end in order.
        run: the record of the run at work, or of the last one; None without.
    """

    word: Word
    run: RunRecord | None

    @property
    def running(self) -> bool:
        """A loop is at work, or waits."""
        return self.word in ("starting", "running", "waiting")


def standing(folder: Path) -> Standing:
    """Look at the folder of a loop's state.

    Raises:
        bridge.errors.ProjectUnusable: its files can't be read.
    """
    # The lock before the record: a loop writes why it ends before it lets go of the lock.
    locked = is_locked(folder)
    run = read_run(folder)
    if not locked and run is not None and run.end is None and run.alive:  # it has only just begun
        locked, run = is_locked(folder), read_run(folder)
    if locked and (run is None or run.end is not None or not run.alive):
        return Standing("starting", run)
    if run is None:
        return Standing("none", None)
    if run.end is not None:
        return Standing("ended", run)
    if not (locked and run.alive):
        return Standing("killed", run)
    return Standing("waiting" if run.pause is not None else "running", run)


def holder_pid(folder: Path) -> int | None:
    """Give the process whose loop is at work (0: it has not said yet who it is), or None."""
    where = standing(folder)
    if not where.running:
        return None
    return where.run.pid if where.run is not None and where.word != "starting" else 0
