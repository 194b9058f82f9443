"""Runs by id: ``.ralph_bridge.json`` says which loop is at work, or was, and whether it ended in order.

The original can't tell what a crashed run has left from what a living one says: exit signals of the crash
end the next run before it starts (trap T7). Here a run that ended in order says so, and what any other has
left is sorted at the next start:

| file | after an orderly end | after anything else |
|---|---|---|
| ``.exit_signals``, ``.response_analysis`` | stay | emptied, deleted |
| ``progress.json`` saying ``executing`` | - | ``failed`` |
| heartbeat files, unfinished temporary files | deleted | deleted |
| ``.call_count`` | stays for its clock hour | stays for its clock hour |
| sessions | stay | stay: the next run resumes |
| breaker | stays; OPEN within its cooldown stays OPEN | the same |
| ``.loop_diff_summary``, findings, gates | stay | stay |
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from bridge.files import LEFTOVER
from bridge.process.table import Identity, alive, identify
from bridge.setups.bmalph.files import stamps, status
from bridge.setups.bmalph.files.counters import clear_exit_signals, read_exit_signals
from bridge.setups.bmalph.files.records import delete, read_object, usable, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.setups.bmalph.folder import Folder

__all__ = ["FILE", "Run", "begin_run", "end_run", "note_agent", "read_run", "stale_leftovers"]

FILE = ".ralph_bridge.json"
_HEARTBEAT = (".heartbeat_marker", ".write_heartbeat_pid", ".write_heartbeat_seen", ".write_heartbeat_triggered")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the loop.

    Attributes:
        run_id: unlike that of any other run.
        pid, started, boot: the loop's process, see :class:`~bridge.process.table.Identity`.
        since: when it began, in seconds since the epoch.
        command: its command line.
        agent: the same three of the agent's process, or None.
        end: why it ended, when it ended in order; else None.
    """

    run_id: str
    pid: int
    started: str
    boot: str
    since: float
    command: str
    agent: Identity | None = None
    end: str | None = None

    @property
    def alive(self) -> bool:
        """Whether its process lives."""
        return alive(Identity(self.pid, self.started, self.boot))


def read_run(folder: Folder) -> Run | None:
    """Return the last run, None when there is none or its record is not to be understood."""
    record = read_object(folder / FILE) or {}
    agent = record.get("agent")
    with suppress(TypeError, ValueError, KeyError, OverflowError):
        since = stamps.parse_iso(record["since"])
        return Run(
            run_id=str(record["run_id"]),
            pid=int(record["pid"]),
            started=str(record["started"]),
            boot=str(record["boot"]),
            since=0.0 if since is None else since,
            command=str(record["command"]),
            agent=Identity(int(agent["pid"]), str(agent["started"]), str(agent["boot"])) if agent else None,
            end=None if record.get("end") is None else str(record["end"]),
        )
    return None


def begin_run(folder: Folder, *, command: Sequence[str], now: float) -> tuple[Run, tuple[str, ...]]:
    """Begin a run, with the project's lock held: sort what is left of the one before, and write the record.

    Args:
        folder: the loop's folder; it exists.
        command: the command line, for whoever finds the lock held.
        now: the time.

    Returns:
        The run, and what people should be told (level INFO).
    """
    before = read_run(folder)
    told = []
    if before is None or before.end is None:
        told = _sort(folder, before, now)
    for name in _HEARTBEAT:
        delete(folder / name)
    _sweep(folder)
    me = identify()
    shown = " ".join(command)
    run = Run(f"{int(now)}-{secrets.token_hex(4)}", me.pid, me.started, me.boot, now, shown[:500])
    _write(folder, run)
    return run, tuple(told)


def end_run(folder: Folder, run: Run, reason: str) -> Run:
    """Note that a run ended in order: complete, halted, limit reached, interrupted."""
    run = replace(run, end=reason, agent=None)
    _write(folder, run)
    return run


def note_agent(folder: Folder, run: Run, pid: int | None) -> Run:
    """Note the agent's process (None: it has ended), so that whoever comes after a crash can end it."""
    run = replace(run, agent=None if pid is None else identify(pid))
    _write(folder, run)
    return run


def stale_leftovers(folder: Folder) -> list[str]:
    """Name the files that a run has left which did not end in order, as :func:`begin_run` would sort them."""
    run = read_run(folder)
    if run is not None and (run.end is not None or run.alive):
        return []
    found = [".exit_signals"] if read_exit_signals(folder) else []
    if (folder / ".response_analysis").exists() and found:
        found.append(".response_analysis")
    if (read_object(folder / "progress.json") or {}).get("status") == "executing":
        found.append("progress.json")
    return found


def _sort(folder: Folder, before: Run | None, now: float) -> list[str]:
    told = []
    who = (
        "a run that did not end in order" if before is None else f"run {before.run_id}, which did not end in order"
    )
    if read_exit_signals(folder):
        told.append(f"exit signals of {who} are dropped")
        clear_exit_signals(folder)
    delete(folder / ".response_analysis")
    if (read_object(folder / "progress.json") or {}).get("status") == "executing":
        status.write_finished(folder, succeeded=False, now=now)
    return told


def _sweep(folder: Folder) -> None:
    with usable(folder.path):
        for place in (folder.path, folder.logs):
            for name in os.listdir(place) if place.is_dir() else ():
                if LEFTOVER.fullmatch(name):
                    delete(place / name)


def _write(folder: Folder, run: Run) -> None:
    record: dict[str, Any] = {"schema": 1, **asdict(run), "since": stamps.iso(run.since)}
    record["agent"] = run.agent._asdict() if run.agent else None
    write_json(folder / FILE, record)
