"""What a run that did not end in order has left: sorted at the next start.

The original can't tell what a crashed run has left from what a living one says: exit signals of the crash
end the next run before it starts (trap T7).

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

from typing import TYPE_CHECKING

from bridge.loop.runs import read_run, sweep
from bridge.records import delete, read_object
from bridge.setups.dot_ralph.files import status
from bridge.setups.dot_ralph.files.small import clear_exit_signals, read_exit_signals

if TYPE_CHECKING:
    from bridge.loop.runs import RunRecord
    from bridge.setups.dot_ralph.folder import Folder

_HEARTBEAT = (".heartbeat_marker", ".write_heartbeat_pid", ".write_heartbeat_seen", ".write_heartbeat_triggered")


def sort_out(folder: Folder, before: RunRecord | None, now: float) -> tuple[str, ...]:
    """Sort what is left of the run before, with the project's lock held; return what people should be told."""
    told = _sort(folder, before, now) if before is None or before.end is None else ()
    for name in _HEARTBEAT:
        delete(folder / name)
    sweep(folder.path, folder.logs)
    return told


def stale_files(folder: Folder) -> list[str]:
    """Name the files that a run has left which did not end in order, as :func:`sort_out` would sort them."""
    run = read_run(folder.path)
    if run is not None and (run.end is not None or run.alive):
        return []
    found = [".exit_signals"] if read_exit_signals(folder) else []
    if (folder / ".response_analysis").exists() and found:
        found.append(".response_analysis")
    if (read_object(folder / "progress.json") or {}).get("status") == "executing":
        found.append("progress.json")
    return found


def _sort(folder: Folder, before: RunRecord | None, now: float) -> tuple[str, ...]:
    told: tuple[str, ...] = ()
    who = (
        "a run that did not end in order" if before is None else f"run {before.run_id}, which did not end in order"
    )
    if read_exit_signals(folder):
        told = (f"exit signals of {who} are dropped",)
        clear_exit_signals(folder)
    delete(folder / ".response_analysis")
    if (read_object(folder / "progress.json") or {}).get("status") == "executing":
        status.write_finished(folder, succeeded=False, now=now)
    return told
