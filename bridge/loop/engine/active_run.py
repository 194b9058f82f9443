"""The run of this process: nobody else's loop meanwhile, recorded as it goes, and nothing of it left behind."""

from __future__ import annotations

import time
from contextlib import ExitStack, nullcontext, suppress
from typing import TYPE_CHECKING, Self

from bridge.base import timestamps
from bridge.base.files import confine, make_folder, usable
from bridge.base.log import logger
from bridge.base.process import leftovers
from bridge.base.process.table import environments_visible, identify
from bridge.base.wording import one_line, plural
from bridge.errors import BridgeError
from bridge.loop.engine import run_record
from bridge.loop.engine.events import (
    CheckEnded,
    CheckProgress,
    CheckStarted,
    ReviewEnded,
    ReviewStarted,
    ReviewTurnEnded,
    ReviewTurnStarted,
    interruption,
)
from bridge.loop.engine.lock import lent_for, one_loop
from bridge.loop.engine.run_record import registered
from bridge.loop.engine.set_aside import Aside
from bridge.loop.engine.turn_records import NOTHING
from bridge.loop.sandbox.unexamined import require_looked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path
    from types import TracebackType

    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.run_record import Pause, RunRecord
    from bridge.loop.engine.turn_records import Spent, TurnRecord


class ActiveRun:
    """A context manager: when the block begins, no other loop is at work in the project and what a killed one had
    left running is ended; when it ends, so has all that this loop's tool has started. Entered again while it is
    held, it stays what it is, and the first block that ends lets go of it.

    Args:
        folder: the folder of the loop's state; made if need be.
        command: the command line, for whoever finds the lock held.
        tool: what it runs, such as ``driver codex``.
        others: folders of state that loops of other kinds would hold in the same project.
        setup: see :class:`bridge.loop.engine.run_record.RunRecord`.
        now: the time, in seconds since the epoch.
    """

    def __init__(
        self,
        folder: Path,
        project: Path,
        *,
        command: Sequence[str],
        tool: str = "",
        others: Iterable[Path] = (),
        setup: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        confine(project)
        self._folder = folder
        self._project = project
        self._command = command
        self.tool = tool
        self._others = others
        self._setup = setup
        self._now = now
        self._held = ExitStack()
        self._renew: Callable[[], None] = lambda: None
        self._run: RunRecord | None = None
        self._reason = self._detail = ""
        self._over = False
        self.before: RunRecord | None = None
        """The run before this one."""
        self.notices: tuple[str, ...] = ()
        """What people should be told of it."""
        self.worked: set[str] = set()
        """Names of the tools with which a turn has gone well, in this run or in one before it of the same tasks."""

    def __enter__(self) -> Self:
        """Take the lock, end what a killed run has left, write the record.

        Raises:
            ProjectBusy: another loop is at work; says which.
            ProjectUnusable: the folder can't be written to.
        """
        if self._run is not None:
            return self
        with usable("the folder for logs"):
            make_folder(self._folder)
        self._renew = self._held.enter_context(one_loop(self._folder, self._project, others=self._others))
        try:
            require_looked(self._project)
            before = self.before = run_record.read_run(self._folder)
            self.notices = (*_taken_over(before), *run_record.end_leftovers(self._project, before))
            lock = lent_for(self._folder)
            self.worked = set() if lock is None else lock.worked
            if lock is None:
                self.notices += tuple(Aside(self._project, self._folder).recover())
            for notice in self.notices:
                logger().warning("%s: %s", self._project, notice)
            self._run = run_record.begin_run(
                self._folder,
                command=self._command,
                now=self._now(),
                tool=self.tool,
                spent=_carried(before),
                task="" if lock is None else lock.task,
                setup=self._setup,
            )
            self._held.enter_context(registered(self._run, self._project, self._folder))
            self._held.enter_context(leftovers.guarded(self._project))
        except BaseException:
            self._held.close()
            raise
        return self

    @property
    def run_id(self) -> str:
        assert self._run is not None
        return self._run.run_id

    def renew(self) -> None:
        """Take the lock and write the record anew if a tool has deleted them. To be called from time to time."""
        self._renew()
        if not (self._folder / run_record.FILE).exists():
            self._write()

    @property
    def task(self) -> str:
        """Which of several tasks the run is about, for people; ''."""
        assert self._run is not None
        return self._run.task

    @property
    def spent(self) -> Spent:
        """What the run has used so far, what it took over from a run that was cut off included."""
        assert self._run is not None
        return self._run.spent

    def spends(self, spent: Spent, turn: TurnRecord) -> None:
        """Note what the run has used by now, and how full its session is behind this turn."""
        if turn.kind or turn.context_tokens is None:
            self._write(spent=spent)
            return
        size = run_record.SessionContext(turn.context_tokens, turn.context_window, turn.rotated)
        self._write(spent=spent, context=size)

    def capped(self, caps: dict[str, float]) -> None:
        if caps:
            self._write(caps=caps)

    def uses(self, tool: str) -> None:
        self.tool = tool
        self._write(tool=tool)

    def traced(self, trace: str) -> None:
        self._write(trace=trace)

    def program(self, pid: int | None) -> None:
        """Note the tool's process (None: it has ended), so that whoever comes after a crash can end it.

        Only where no mark shows it: the record must not be replaced while a box is made around the project, or
        that fails, and a pid in a file that a tool can write is to be believed nowhere else.
        """
        if not environments_visible():
            self._write(agent=None if pid is None else identify(pid))

    def turn(self, number: int) -> None:
        self._write(turn=number, turn_began=self._now(), pause=None, look=None)

    def waiting(self, pause: Pause | None) -> None:
        if self._run is not None and self._run.pause != pause:
            self._write(pause=pause)

    def follow(self, event: LoopEvent) -> None:
        """Say of a check or a review that it is under way, and when it is over."""
        match event:
            case CheckProgress():
                self.renew()
            case CheckStarted():
                self._looks("check", event.command)
            case ReviewTurnStarted():
                self._looks("review", event.tool)
            case ReviewStarted():
                self._looks("review", " ".join(event.argv[:1]))
            case CheckEnded() | ReviewTurnEnded() | ReviewEnded():
                self._write(look=None)

    def _looks(self, kind: str, by: str) -> None:
        self._write(look=run_record.Look(kind, one_line(by, 200), self._now()))

    def end_leftovers(self) -> int:
        """End what the tool has left running, return how many process groups those were."""
        if groups := leftovers.end(self._project):
            counted = plural(groups, "process group")
            logger().info("%s: what the tool had left running was ended: %s", self._project, counted)
        return groups

    def over(self, reason: str, detail: str = "") -> None:
        """The loop ends in order, for this reason; without it, the record says that it did not."""
        self._reason, self._detail = reason, detail

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._over:
            return
        self._over = True
        self._reason = self._reason or _reason_of(error)
        try:
            self.end_leftovers()
            if self._reason:
                # A disk that is full has ended the loop: that is the error to tell of, and not the second one.
                with nullcontext() if error is None else suppress(BridgeError):
                    self._write(end=self._reason, detail=self._detail, agent=None, pause=None, look=None)
        finally:
            self._held.close()

    def _write(self, **changes: object) -> None:
        if self._run is not None:
            self._run = run_record.write_run(self._folder, self._run, now=self._now(), **changes)


def _reason_of(error: BaseException | None) -> str:
    """Why a loop ends that has not said so itself; '' for what nobody expects."""
    if error is None or isinstance(error, Exception):
        return f"error: {str(error).splitlines()[0]}" if isinstance(error, BridgeError) and str(error) else ""
    return interruption(error)[1]


def _carried(before: RunRecord | None) -> Spent:
    """What a run begins with: all that a run used that was cut off; of any other, what its hour and session did."""
    if before is None:
        return NOTHING
    return before.spent if before.cut_off else before.spent.anew()


def _taken_over(before: RunRecord | None) -> tuple[str, ...]:
    if before is None or before.end is not None:
        return ()
    since = timestamps.local(before.since)
    return (f"the lock of process {before.pid}, which began {since} and did not end in order, is taken over",)
