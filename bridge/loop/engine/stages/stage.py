"""What has its say around the turns of a loop: one object per feature, with the same few moments."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, Self, TypeVar

from bridge.base.records import dataclass
from bridge.loop.engine.events import LoopEvent
from bridge.loop.engine.outcome import Outcome

if TYPE_CHECKING:
    from types import TracebackType

    from bridge.loop.engine.context import LoopContext
    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Decision

O = TypeVar("O", bound=Outcome)  # noqa: E741
T = TypeVar("T")

Events = Iterable[LoopEvent | str]
"""What people are told of, in this order; a text is a notice."""


@dataclass(kw_only=True)
class TurnReport:
    """A turn that is over, while it is judged.

    Attributes:
        turn: all that is known of it.
        real: what it came to, as its tool left it.
        cli: the program that was run.
        seconds: that it took.
        worked: it changed anything but the loop's own files; None: nobody can tell.
        took: what it did beside its work, for its line.
    """

    turn: Turn
    real: Outcome
    cli: str
    seconds: float
    worked: bool | None = None
    took: list[str] = field(default_factory=list)


class Stage:
    """A feature of the loop. No moment has to be there: each does nothing by default.

    A stage that is to be asked at other times, too, registers with the loop (`bars`, `on_spent`, `on_ran`).
    """

    def __init__(self, loop: LoopContext[Any]) -> None:
        self.loop = loop

    def __enter__(self) -> Self:
        """Make ready, before the project is held."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    # -- the run -------------------------------------------------------------------------------------

    def hold(self) -> Iterable[str]:
        """The project is held, its records aren't begun."""
        return ()

    def open(self) -> Iterable[str]:
        """The records of a run before this one can be read, and are this one's from now on."""
        return ()

    def ended(self) -> Iterable[str]:
        """The last turn is over, and nothing runs any more. Called however the loop ends."""
        return ()

    def last_words(self) -> str:
        """Say what belongs into the loop's last line, as part of a sentence; or ''."""
        return ""

    # -- before a turn -------------------------------------------------------------------------------

    def plan(self, plan: Plan | None) -> Plan | None:
        """Give the plan as the loop is to see it."""
        return plan

    def before_turn(self) -> Events:
        return ()

    def may_begin(self) -> Decision | None:
        """Say why no turn may begin now: an end, or a wait; None: it may."""
        return None

    def begin_turn(self, plan: Plan | None) -> Events:
        """A turn begins, with this plan."""
        del plan
        return ()

    def session(self, own: str | None) -> str | None:
        """Give the session that the turn resumes; `own`: that of the loop's own tool."""
        return own

    def words(self) -> str:
        """Say what the turn is told beside its prompt; or ''."""
        return ""

    def cuts_wait(self, reason: str) -> bool:
        """Whether a wait for this reason is over before its time."""
        del reason
        return False

    # -- behind it -----------------------------------------------------------------------------------

    def ran(self, turn: Turn, started: float) -> Events:
        """It is over, and nothing is read yet of what it has left; `started`: seconds since the epoch."""
        del turn, started
        return ()

    def took(self, report: TurnReport, outcome: O) -> O:
        """Give what it came to as the policy is to see it."""
        del report
        return outcome

    def judge(self, report: TurnReport, decision: Decision, outcome: Outcome) -> Decision:
        """Say what follows instead of `decision`. Asked again where the loop is doubted."""
        del report, outcome
        return decision

    def doubt(self, decision: Decision, number: int, outcome: Outcome | None, report: TurnReport | None) -> Doubt:
        """Look whether a loop that calls itself complete is; behind turns without that, too.

        Args:
            outcome: of the turn that has just ended, and is counted later; None: there was none.
            report: the same turn.
        """
        del decision, number, outcome, report
        yield from ()
        return False

    def settle(self) -> Events:
        """The turn is counted: what was held back until then."""
        return ()

    def counted(self, report: TurnReport, outcome: Outcome) -> None:
        """The turn is counted, and about to be told of."""

    def after_turn(self, report: TurnReport, outcome: Outcome, decision: Decision) -> Events:
        """Say what people have to know of it."""
        del report, outcome, decision
        return ()

    def may_end(self, decision: Decision) -> Generator[LoopEvent | str, None, Decision]:
        """Give the end of the loop as this knows it."""
        yield from ()
        return decision


Doubt = Generator[LoopEvent | str, None, bool]


def each_of(stages: Iterable[Stage], moment: Callable[[Stage], Iterable[T]]) -> Iterator[T]:
    """Give what each of them gives at a moment, one after the other."""
    for stage in stages:
        yield from moment(stage)
