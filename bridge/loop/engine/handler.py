"""What the loop asks of a kind of setup beside decisions and files: plan, requests, judgement of a turn."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from bridge.base.process import stopping
from bridge.base.records import dataclass
from bridge.loop.engine.state import LoopState
from bridge.loop.engine.turn_records import TurnRecord

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path

    from bridge.base.git.repository import Changes, Repository
    from bridge.base.git.tree import TreeState
    from bridge.loop.engine.active_run import ActiveRun
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Decision
    from bridge.loop.engine.store import Store
    from bridge.loop.engine.turn_records import Result
    from bridge.loop.turn.tool import Command, Tool, TurnRequest, TurnResult


S = TypeVar("S", bound=LoopState)
O = TypeVar("O", bound="Outcome")  # noqa: E741


@dataclass(kw_only=True)
class Turn:
    """A turn that is over: all that is known of it before anybody judges it.

    Attributes:
        tool: ran it.
        request: what was asked.
        command: what was run.
        result: what the tool did.
        plan: the fix plan before it, or None.
        sessions: sessions are resumed in this loop.
        now: the time.
        seconds_left: that a further turn might take; None: any number.
        repository: of the project.
        tree: its working tree before the turn; None: git can't be asked.
    """

    tool: Tool
    request: TurnRequest
    command: Command
    result: TurnResult
    plan: Plan | None
    sessions: bool
    now: datetime
    seconds_left: float | None
    repository: Repository
    tree: TreeState | None

    @cached_property
    def changes(self) -> Changes | None:
        """What has changed since it began, as git sees it when this is asked first; None: git can't be asked."""
        return self.repository.changes(self.tree)

    def record(
        self, outcome: Outcome, seconds: float, *, now: float, plan: tuple[int, int] | None, project: Path
    ) -> TurnRecord:
        """Sum it up; `plan` is how far that has come by now."""
        failure, changes = outcome.failure, self.changes
        result: Result = "failed" if failure else "success"
        if outcome.timed_out or outcome.idle:
            result = "timeout"
        elif failure and outcome.limit is not None:
            result = "limit"
        return TurnRecord(
            turn=self.request.number,
            began=now - seconds,
            seconds=seconds,
            result=result,
            status=outcome.status,
            error=failure,
            session=outcome.session_id,
            files_changed=changes.count if changes else None,
            committed=changes.committed if changes else None,
            log=os.path.relpath(self.request.logs.for_people, project),
            refused=outcome.analysis.denied_commands if outcome.analysis else (),
            plan=plan,
            head=changes.head if changes else None,
            permanent=outcome.permanent.reason.value if outcome.permanent else None,
        )


class TurnHandler(ABC, Generic[S, O]):
    """What one kind of setup does around a turn. It reads what other programs, or an earlier run of the loop, may
    have put into its files; what is written is declared in the table of its store.

    Args:
        store: writes the files.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def open(self, active: ActiveRun) -> Iterable[str]:
        """Make ready: the project is ours from now on. Return what people should know."""
        return active.notices

    def ready(self, seconds: float) -> bool:  # noqa: ARG002
        """Wait for what begins a turn, at most so long; say whether it has come."""
        return True

    def load(self, state: S) -> tuple[S, Iterable[str]]:
        """Put into the state what the files say before a turn; say what is wrong with them. Writes nothing."""
        return state, ()

    def read_plan(self) -> Plan | None:
        """Return the fix plan as it lies on disk; None: there is none, or it doesn't concern the loop."""
        return None

    def progress(self) -> tuple[int, int] | None:
        """Say how many tasks of the plan are done, and how many there are; None without a plan."""
        plan = self.read_plan()
        return None if plan is None else (plan.done, plan.total)

    @abstractmethod
    def begin_turn(self, state: S, plan: Plan | None, session: str | None) -> TurnRequest:
        """Say what is asked of the tool in the turn that follows `state`: prompt, context, names of unused logs.

        Its time and who listens are filled in by the loop.
        """

    @abstractmethod
    def take_in(self, state: S, turn: Turn) -> O: ...

    def check(self, outcome: O, turn: Turn) -> Generator[LoopEvent, None, O]:  # noqa: ARG002
        """Hold a turn against what the setup itself asks of it."""
        yield from ()
        return outcome

    def keep(self, state: S, outcome: O, decision: Decision) -> Iterable[str]:  # noqa: ARG002
        """Keep what a turn came to before it is recorded as over; return what people should know."""
        return ()

    def between(self, state: S, outcome: O, turn: Turn) -> Generator[LoopEvent, None, S]:  # noqa: ARG002
        yield from ()
        return state

    def others_at_work(self) -> bool:
        """Whether the tool is at work for this loop beside the turn that has just ended."""
        return False

    def show(self, data: bytes) -> None:
        """Take what a turn prints, as it comes: the filtered text of a live run, else its raw output."""
        self.store.show(data)

    def hook_is_slow(self, text: str) -> None:
        """Take the notice about a hook while it is still running; called from another thread."""

    def pushes(self) -> bool:
        """Whether what a turn commits is pushed behind it, by what the setup does between turns."""
        return False

    def follow_up(self, event: LoopEvent) -> Iterable[LoopEvent]:  # noqa: ARG002
        """Give what is shown behind an event, which is recorded by now."""
        return ()

    def stopped(self) -> bool:
        """Whether somebody has asked for the loop's end; asked while it waits."""
        return False

    def ended_by(self, error: BaseException) -> Decision | None:  # noqa: ARG002
        """Make an error or a signal the ordinary end of a loop, where the setup has it so; None: it is raised."""
        return None

    def close(self) -> None:
        """Let go of everything. Called however the loop ends, when `open` was."""
        self.store.close()


class Clock(Protocol):
    """The time, and the passing of it. Tests have one of their own."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def wait(self, seconds: float) -> None:
        """Wait; a signal's exception ends the wait."""


class WallClock:
    def now(self) -> datetime:
        return datetime.now().astimezone()

    def monotonic(self) -> float:
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        stopping.sleep(seconds)
