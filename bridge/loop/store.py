"""What the loop asks of a setup beside decisions: its own files, its own words. And the time."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from bridge.git.repository import ALL_WORK
from bridge.loop.caps import Caps
from bridge.loop.policy import Limits, LoopState, Pauses
from bridge.turn.tool import TurnSettings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path

    from bridge.git.repository import Changes, Files, Repository
    from bridge.git.tree import TreeState
    from bridge.loop.active import ActiveRun
    from bridge.loop.events import LoopEvent
    from bridge.loop.outcome import Outcome
    from bridge.loop.plan import Plan
    from bridge.loop.policy import Decision
    from bridge.turn.tool import Command, Tool, TurnRequest, TurnResult


S = TypeVar("S", bound=LoopState)
O = TypeVar("O", bound="Outcome")  # noqa: E741


@dataclass
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


class Store(ABC, Generic[S, O]):
    """The files of one kind of setup.

    The loop tells it everything (:meth:`record` gets each event before anyone else does), and asks it for what
    other programs, or an earlier run of the loop, may have put there.
    """

    @property
    @abstractmethod
    def logs(self) -> Path:
        """The folder of the logs, which gets the records of the turns."""

    def open(self, active: ActiveRun) -> Iterable[str]:
        """Make ready: the project is ours from now on. Return what people should be told."""
        return active.notices

    def load(self, state: S) -> tuple[S, Iterable[str]]:
        """Put into the state what the files say before a turn, and tell what was wrong with them."""
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
    def take_in(self, state: S, turn: Turn) -> O:
        """Say what a turn came to."""

    def check(self, outcome: O, turn: Turn) -> O:  # noqa: ARG002
        """Have the work checked, after the agent's words were shown."""
        return outcome

    def keep(self, state: S, outcome: O, decision: Decision) -> Iterable[str]:  # noqa: ARG002
        """Put down what a turn came to before it is recorded as over; return what people should be told."""
        return ()

    def between(self, state: S, outcome: O, turn: Turn) -> Generator[LoopEvent, None, S]:  # noqa: ARG002
        """Do what this setup does between two turns that went well."""
        yield from ()
        return state

    def show(self, data: bytes) -> None:
        """Take what a turn prints, as it comes: the filtered text of a live run, else its raw output."""

    def hook_is_slow(self, text: str) -> None:
        """Take the notice about a hook while it is still running; called from another thread."""

    @abstractmethod
    def record(self, event: LoopEvent) -> Iterable[LoopEvent]:
        """Write down at once what follows from an event; return lines of the setup's own log, to be shown."""

    def stopped(self) -> bool:
        """Whether somebody has asked for the loop's end; asked while it waits."""
        return False

    def ended_by(self, error: BaseException) -> Decision | None:  # noqa: ARG002
        """Make an error or a signal the ordinary end of a loop, where the setup has it so; None: it is raised."""
        return None

    def close(self) -> None:
        """Let go of its files. Called however the loop ends, when `open` was."""


class Clock(Protocol):
    """The time, and the passing of it. Tests have one of their own."""

    def now(self) -> datetime:
        """Return the local time, with its zone."""

    def monotonic(self) -> float:
        """Return seconds that only grow."""

    def wait(self, seconds: float) -> None:
        """Wait; a signal's exception ends the wait."""


class WallClock:
    """The real one."""

    def now(self) -> datetime:
        """Return the local time, with its zone."""
        return datetime.now().astimezone()

    def monotonic(self) -> float:
        """Return seconds that only grow."""
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        """Sleep; a signal's exception ends the sleep."""
        time.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings(TurnSettings):
    """How to run a loop.

    Attributes:
        prompt: the prompt file, as the tool gets to see it.
        limits: when to give up.
        pauses: how long to wait before a turn is repeated.
        promise: the completion promise to look for, or None.
        timeout: seconds that one turn may take, or None.
        caps: what the run may use.
        files: which of the project's files are no work.
    """

    prompt: str = ".ralph/PROMPT.md"
    limits: Limits = field(default_factory=Limits)
    pauses: Pauses = field(default_factory=Pauses)
    promise: str | None = None
    timeout: float | None = None
    caps: Caps = field(default_factory=Caps)
    files: Files = ALL_WORK
