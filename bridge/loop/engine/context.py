"""One run of a loop: what the runner and its stages share."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bridge.base.git.repository import Repository
from bridge.base.process import stopping
from bridge.loop.engine.caps import Tally
from bridge.loop.engine.events import LeftoversEnded, Notice, RunNote, TurnRecorded
from bridge.loop.engine.notify import Notifier
from bridge.loop.engine.observers import Observers, RunFacts
from bridge.loop.engine.policy import Moment
from bridge.loop.engine.state import LoopState
from bridge.loop.engine.turn_records import TurnRecord, begun
from bridge.loop.turn.tool import mapped

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from pathlib import Path

    from bridge.base.git.tree import TreeState
    from bridge.loop.engine.active_run import ActiveRun
    from bridge.loop.engine.caps import Caps
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.handler import Clock, Turn, TurnHandler
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.policy import Decision
    from bridge.loop.turn.tool import Tool
    from bridge.scripts.stream.analysis import PermanentFailure
    from bridge.scripts.stream.events.base import Usage

S = TypeVar("S", bound=LoopState)
T = TypeVar("T")


class LoopContext(Generic[S]):
    """One run of a loop.

    Args:
        tool: the loop's own.
        handler: of the kind of setup.
        settings: how it is run.
        active: holds the project.
        state: where it begins.

    Attributes:
        tool: runs the next turn.
        several: there are further tools, so that records name theirs.
        caps_of: gives the caps with the prices of a tool, by its name.
        state: where it stands.
        tally: what its turns have used.
        number: of the turn that was begun last; 0: none.
        under_way: the record of the turn that runs; None: none does.
        tree: the working tree before the turn; None: git can't be asked.
        doubts: a claim to be complete was refused, and no turn has ended well since.
        permanent: why the last turn failed for good; None: it didn't.
        rotates: the session of the turn that was judged last isn't gone on with: its context is full.
        idle: turns in a row that ended well and came to nothing.
        bars: each says why no further turn may begin after what was used, however the loop stands; None: it may.
        on_spent: called with the record of each turn that is counted.
        on_ran: each looks behind what has just run in the project, in that turn or behind it; says what it undid.
    """

    tally: Tally

    def __init__(
        self,
        tool: Tool,
        handler: TurnHandler[S, Any],
        settings: LoopSettings,
        active: ActiveRun,
        state: S,
        clock: Clock,
    ) -> None:
        self.own = self.tool = tool
        self.handler, self.store = handler, handler.store
        self.settings = settings
        self.active = active
        self.state = state
        self.clock = clock
        self.repository = Repository(settings.project, settings.files, env=settings.env)
        self.began = clock.monotonic()
        self.several = self.doubts = self.rotates = False
        self.caps_of: Callable[[str], Caps] = lambda _name: settings.caps
        self.number = self.idle = 0
        self.under_way: TurnRecord | None = None
        self.tree: TreeState | None = None
        self.permanent: PermanentFailure | None = None
        self.bars: list[Callable[[Tally], Decision | None]] = []
        self.on_spent: list[Callable[[TurnRecord], None]] = []
        self.on_ran: list[Callable[[int], Iterator[str]]] = []
        facts = {"project": str(settings.project), "tool": self.shown(tool.name)}
        self.observers = Observers(Notifier(facts, settings.env or os.environ))

    @property
    def logs(self) -> Path:
        return self.store.logs

    # -- time ----------------------------------------------------------------------------------------

    def now(self) -> float:
        return self.clock.now().timestamp()

    def elapsed(self) -> float:
        return self.clock.monotonic() - self.began

    def moment(self, *, doubted: bool = False) -> Moment:
        return Moment(self.clock.now(), self.elapsed(), doubted)

    def seconds_left(self) -> float | None:
        most = self.settings.limits.max_seconds
        return None if most is None else max(most - self.elapsed(), 0.0)

    def turn_seconds(self) -> float | None:
        left, timeout = self.seconds_left(), self.settings.timeout
        return timeout if left is None else left if timeout is None else min(left, timeout)

    # -- records -------------------------------------------------------------------------------------

    def record(self, event: LoopEvent) -> None:
        self.observers.take(event)
        self.store.record(event)

    def note(self, name: str, *, at: float | None = None, **facts: object) -> None:
        if at is None:
            facts["plan"] = self.handler.progress()
        self.record(RunNote(name, self.now() if at is None else at, facts))

    def observe(self) -> None:
        """Have those listen who want to, by the record that is begun."""
        before = self.active.before
        facts = RunFacts(
            run_id=self.active.run_id,
            project=self.settings.project,
            tool=self.active.tool,
            before=before.trace if before is not None and before.cut_off else "",
            traced=self.active.traced,
        )
        self.observers.add(observe(facts) for observe in self.settings.observers)

    def begin(self) -> None:
        """Begin the history of the run."""
        self.active.capped(self.settings.caps.named())
        self.tally = Tally(self.settings.caps, self.active.spent)
        task = {"task": self.active.task} if self.active.task else {}
        head, branch = self.repository.checked_out()
        self.note("began", at=None, tool=self.active.tool, head=head, branch=branch, **task)

    def ends(self, verdict: str, reason: str, detail: str) -> None:
        """End the history of the run."""
        self.note("ended", verdict=verdict, reason=reason, detail=detail, head=self.repository.head())

    # -- what is told -------------------------------------------------------------------------------

    def through(self, events: Generator[LoopEvent | str, None, T]) -> Generator[LoopEvent, None, T]:
        """Tell of what comes, and give what is returned."""
        return mapped(events, self.tell)

    def tell_all(self, events: Iterable[LoopEvent | str]) -> Generator[LoopEvent, None, None]:
        for event in events:
            yield from self.tell(event)

    def tell(self, event: LoopEvent | str) -> Generator[LoopEvent, None, None]:
        event = Notice(event) if isinstance(event, str) else event
        self.active.follow(event)
        self.record(event)
        further = self.handler.follow_up(event)
        yield event
        yield from further
        stopping.look()

    def end_leftovers(self) -> Generator[LoopEvent, None, None]:
        """End what turns have left running."""
        if groups := self.active.end_leftovers():
            yield from self.tell(LeftoversEnded(groups))

    # -- turns ---------------------------------------------------------------------------------------

    def shown(self, name: str) -> str:
        return name if self.settings.box is None else f"{name} in {self.settings.box.name}"

    def _recorded_tool(self) -> str:
        return self.shown(self.tool.name) if self.several else ""

    def begins(self, number: int, output: Path) -> None:
        """Note that a turn is under way."""
        self.active.turn(number)
        self.number = number
        record = begun(number, self.now(), output, self.settings.project)
        self.under_way = replace(record, tool=self._recorded_tool())

    def counted(self, turn: Turn, outcome: Outcome, seconds: float, ended: float) -> TurnRecord:
        """Count the turn that has ended; no turn is under way any more."""
        plan, project = self.handler.progress(), self.settings.project
        record = turn.record(outcome, seconds, now=ended, plan=plan, project=project)
        record = self.keep(replace(record, tool=self._recorded_tool(), rotated=self.rotates), outcome)
        self.under_way = None
        return record

    def keep(self, record: TurnRecord, outcome: Outcome | None = None) -> TurnRecord:
        """Count a turn of whichever tool, and put it down."""
        record = self.count(self.tally, record, outcome)
        for spent in self.on_spent:
            spent(record)
        self.active.spends(self.tally.spent, record)
        self.record(TurnRecorded(record, _usage(outcome)))
        return record

    def count(self, tally: Tally, record: TurnRecord, outcome: Outcome | None) -> TurnRecord:
        resumed = outcome is not None and outcome.resumed
        caps = self.caps_of(record.tool.partition(" in ")[0] or self.tool.name)
        size = outcome.analysis.size if outcome is not None and outcome.analysis else None
        return tally.add(record, _usage(outcome), self.clock.now(), resumed=resumed, caps=caps, size=size)

    def barred(self, *uncounted: tuple[TurnRecord, Outcome]) -> Decision | None:
        """Say why no further turn may begin; `uncounted` turns are over, too."""
        tally = self.tally.copy()
        for record, outcome in uncounted:
            self.count(tally, record, outcome)
        return next(filter(None, (bar(tally) for bar in self.bars)), None)

    def ran(self, number: int) -> Iterator[str]:
        """Have those look who want to behind whatever runs in the project."""
        for look in self.on_ran:
            yield from look(number)


def _usage(outcome: Outcome | None) -> Usage | None:
    return outcome.analysis.usage if outcome is not None and outcome.analysis else None
