"""What a bmalph loop writes on an event, without the loop."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from bridge.loop.engine.events import (
    IterationEnded,
    IterationStarted,
    LoopEvent,
    RunOpened,
    RunProgress,
    TurnPrepared,
)
from bridge.loop.engine.loop_settings import LoopSettings
from bridge.loop.engine.policy import GO_ON, Decision
from bridge.loop.engine.store import Store
from bridge.loop.engine.turn_records import TurnRecord
from bridge.loop.setups.bmalph import state_files
from bridge.loop.setups.bmalph.handler import BmalphHandler
from bridge.loop.setups.bmalph.policy import BmalphOutcome, BmalphState
from bridge.loop.setups.dot_ralph import rc
from bridge.loop.setups.dot_ralph.settings import resolve
from bridge.loop.setups.dot_ralph.state_files import FIRST, LAST, FolderSetup
from tests.setups.bmalph.conftest import NOW

if TYPE_CHECKING:
    from bridge.loop.engine.run_record import RunRecord
    from bridge.loop.setups.dot_ralph.folder import Folder


NOWHERE = Path("/nowhere/log")


def store(folder: Folder, now: float = NOW, **changes: Any) -> Store:
    settings: Any = SimpleNamespace(max_calls_per_hour=100, session_continuity=True)
    known: dict[str, Any] = {
        "reset": state_files.reset,
        "status": state_files.status,
        "further": state_files.further,
    }
    setup = FolderSetup(folder=folder, settings=settings, driver="codex", started="t", **(known | changes))
    return Store(folder.path, (*FIRST, *state_files.FILES, *LAST), setup=setup, now=lambda: now)


def record(folder: Folder, event: LoopEvent, now: float = NOW, **changes: Any) -> None:
    store(folder, now, **changes).record(event)


def prepared(**state: Any) -> TurnPrepared:
    return TurnPrepared(BmalphState(**state))


def started(number: int, state: BmalphState | None = None, session: str | None = None) -> IterationStarted:
    return IterationStarted(number, ("codex",), session, False, None, NOWHERE, state or BmalphState())


def progress(last_line: str = "", count: int = 0, elapsed: float = 0.0) -> RunProgress:
    return RunProgress(1, elapsed, last_line, "", count)


def ended(
    number: int = 1,
    outcome: BmalphOutcome | None = None,
    decision: Decision = GO_ON,
    session: str | None = None,
    **state: Any,
) -> IterationEnded:
    """`session` is the one that the turn resumed; that which it left is `session_id`, of the state."""
    return IterationEnded(
        iteration=number,
        outcome=outcome or BmalphOutcome(),
        decision=decision,
        seconds=1.0,
        log=NOWHERE,
        state=BmalphState(iteration=number, **state),
        sessions=True,
        turn=TurnRecord(turn=number, began=NOW, seconds=1.0, result="success"),
        session_id=session,
    )


def handler(folder: Folder, now: float = NOW) -> BmalphHandler:
    settings = resolve(folder, env={}, rc=rc.read(folder, {}))
    return BmalphHandler(folder, settings, LoopSettings(project=folder.project), driver="codex", now=lambda: now)


def opened(folder: Folder, before: RunRecord | None, now: float = NOW) -> tuple[str, ...]:
    """Begin a run; return what people should know."""
    active: Any = SimpleNamespace(before=before, notices=(), run_id="1-a", tool="driver codex")
    found = handler(folder, now)
    found.store.open(active, BmalphState())
    told = tuple(found.open(active))
    found.store.record(RunOpened(before))
    return told
