"""What keeps the next loop from starting, cleared by hand: told by its files, so it takes no kind of setup."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bridge.errors import ProjectBusy
from bridge.setups.dot_ralph.folder import locate
from bridge.setups.dot_ralph.signs import frankbria
from bridge.setups.frankbria.layout import folder_of
from bridge.setups.projects import at_work, project_lock

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.setups.dot_ralph.folder import Folder


def reset(project: Path) -> list[str]:
    """Close every open circuit breaker, and drop exit signals that an earlier run has left.

    Sessions, plans and counts of calls stay: none of them keeps a loop from starting.

    Args:
        project: the project's folder.

    Returns:
        What was done, a sentence each; empty when there was nothing to do.

    Raises:
        ProjectBusy: a loop is at work; names its process.
        ProjectUnusable: a file can't be read or written.
        bridge.errors.ConfigurationError: the state of a wiggum loop can't be read.
    """
    if (pid := at_work(project)) is not None:
        raise ProjectBusy(
            f"a loop is at work in {project} (process {pid or 'unknown'}): nothing is reset under its hands\n"
            f"  next: wait for it (`ralph-bridge status`), or end it{f': kill {pid}' if pid else ''}"
        )
    folder = folder_of(project) if frankbria(project) else locate(project)
    return [*_bmalph(folder), *_wiggum(project)]


def _bmalph(folder: Folder) -> list[str]:
    from bridge.setups.dot_ralph import controls
    from bridge.setups.dot_ralph.files import breaker, small

    told: list[str] = []
    if not folder.path.is_dir():
        return told
    now = time.time()
    found, corrupt = breaker.load(folder, now), breaker.is_corrupt(folder)
    signals = small.read_exit_signals(folder)
    if not (found.is_open or corrupt or signals):
        return told
    with project_lock(folder.path, folder.project):
        if found.is_open or corrupt:
            was = "could not be read" if corrupt else f"was OPEN ({found.reason or 'no reason given'})"
            controls.reset_circuit(folder, now)
            told.append(f"the circuit breaker {was}: it is CLOSED now, and the session is reset")
        if signals:
            small.clear_exit_signals(folder)
            told.append("exit signals of an earlier run are dropped")
    return told


def _wiggum(project: Path) -> list[str]:
    from bridge.setups.wiggum import controls, files
    from bridge.setups.wiggum.files import Layout

    layout = Layout(project)
    if not (layout.state.exists() or layout.folder.is_dir()):
        return []
    state = files.latest_state(layout)
    if state is None or not state.breaker.is_open:
        return []
    return [f"wiggum's {controls.reset(layout)}"]
