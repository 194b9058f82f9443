"""Which tool runs a loop's next turn: its own, unless that is at a limit, or the task has proved too hard for it.

A session never moves from one tool to another: each goes on with its own when its turn comes again, and what the
setup's own files say is always about the loop's own tool.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from bridge import timestamps
from bridge.amounts import amount, whole
from bridge.loop.outcome import Outcome
from bridge.loop.policy import MARGIN, Decision, LoopState, Verdict, session_after
from bridge.session_id import validate_session_id
from bridge.stream.analysis import Limit, PermanentReason, is_overload
from bridge.wording import one_line, plural, usd

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    from bridge.loop.caps import Caps
    from bridge.loop.plan import Plan
    from bridge.loop.records import TurnRecord
    from bridge.loop.settings import LoopSettings
    from bridge.turn.tool import Tool

O = TypeVar("O", bound=Outcome)  # noqa: E741

PROBES = (300.0, 600.0, 1200.0, 2400.0, 3600.0)
"""Seconds after which a tool whose limit has no known end is tried again: the first time, the second, and so on."""

OVERLOAD_SECONDS, OVERLOAD_TURNS = 300.0, 6
"""A provider that has been overloaded for so long, or so often in a row, is left for another."""

_FARTHEST = 8 * 86_400.0
"""Seconds: a limit that is said to last longer is looked at then all the same."""

_NOT_STARTED = 127
"""Exit status of a turn whose program could not be started."""

_PAID = (PermanentReason.NO_CREDIT, PermanentReason.SUBSCRIPTION_ENDED)


# -- what is wanted ----------------------------------------------------------------------------------


class Candidate(NamedTuple):
    """A further tool of a loop.

    Attributes:
        name: as records call it, such as ``driver codex@gpt-5:high``.
        open: loads it for the settings of a loop, and sees whether its CLI is there; raises BridgeError.
        prices: US dollars per million tokens, in and out, where it tells no cost; None: those of the loop.
        max_cost, max_tokens: that it may use in a run, in US dollars, and in and out; None: any.
    """

    name: str
    open: Callable[[LoopSettings], AbstractContextManager[Tool]]
    prices: tuple[float, float] | None = None
    max_cost: float | None = None
    max_tokens: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserves:
    """The further tools of a loop.

    Attributes:
        fallback: in this order, for as long as those in front of them are at a limit.
        escalate: takes the task that stays open; None: no tool does.
        after: so many turns on a task, or failures in a row, without its being done.
    """

    fallback: tuple[Candidate, ...] = ()
    escalate: Candidate | None = None
    after: int = 0

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return (*self.fallback, *([self.escalate] if self.escalate else []))

    @property
    def shown(self) -> str:
        """In a few words."""
        named = [f"at a limit {', '.join(each.name for each in self.fallback)}"] if self.fallback else []
        hard = [f"after {plural(self.after, 'turn')} on a task {self.escalate.name}"] if self.escalate else []
        return " · ".join((*named, *hard))


# -- how things stand --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How one tool stands.

    Attributes:
        session: to go on with, of a tool that isn't the loop's own; or None.
        until: it is at a limit until then, in seconds since the epoch; 0: it isn't.
        why: what its provider says about that.
        probes: how often in a row it was at a limit without a known end.
        overloads: turns in a row that its provider was overloaded in; since when, in seconds since the epoch.
        failures: failed turns in a row.
        cost, tokens: used in this run, and in those that it goes on with.
    """

    session: str | None = None
    until: float = 0.0
    why: str = ""
    probes: int = 0
    overloads: int = 0
    overloaded_since: float = 0.0
    failures: int = 0
    cost: float = 0.0
    tokens: float = 0.0

    def after(self, outcome: Outcome, now: float) -> Standing:
        """Say how it stands after a turn of its own; `now` in seconds since the epoch."""
        session = session_after(LoopState(session_id=self.session, failures=self.failures), outcome)
        if outcome.failure is None:
            return Standing(session=session, cost=self.cost, tokens=self.tokens)
        overloaded = not outcome.timed_out and is_overload(said(outcome))
        after = replace(
            self,
            session=session,
            until=0.0,
            failures=self.failures + 1,
            overloads=self.overloads + 1 if overloaded else 0,
            overloaded_since=(self.overloaded_since or now) if overloaded else 0.0,
        )
        limit = real_limit(outcome)
        lasting = after.overloads >= OVERLOAD_TURNS or now - after.overloaded_since >= OVERLOAD_SECONDS
        if limit is None and overloaded and lasting:
            limit = Limit("usage", None, said(outcome))
        if limit is None:
            return after
        until = (limit.resets_at or 0.0) + MARGIN
        if not (known := until > now):
            until = now + PROBES[min(self.probes, len(PROBES) - 1)]
        return replace(
            after,
            until=min(until, now + _FARTHEST),
            why=one_line(limit.words, 200),
            probes=0 if known else self.probes + 1,
        )


def said(outcome: Outcome) -> str:
    """Give a CLI's own words about a turn that failed."""
    return outcome.error or (outcome.analysis.error if outcome.analysis else None) or ""


def real_limit(outcome: Outcome) -> Limit | None:
    """Give the limit that only another tool gets around: no limit per minute, and whatever has to be paid for."""
    if outcome.failure is None or outcome.timed_out:
        return None
    if (limit := outcome.limit) is not None:
        return None if limit.kind == "rate" else limit
    permanent = outcome.permanent
    return Limit("usage", None, permanent.text) if permanent and permanent.reason in _PAID else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """What the plan's next open task has cost so far.

    Attributes:
        task: '': no plan names one.
        turns: on it; without a task nobody can say what they were for.
        failures: failed turns in a row.
        hard: it has proved too hard for the loop's own tool, and stays so until it is done; where there is no task,
            until a turn goes well.
    """

    task: str = ""
    turns: int = 0
    failures: int = 0
    hard: bool = False

    def at(self, task: str) -> Attempts:
        return self if task == self.task else Attempts(task=task)

    def after(self, outcome: Outcome, most: int) -> Attempts:
        """Take in a turn that no limit ended; `most`: turns or failures, 0: any number."""
        turns, failures = self.turns + 1, self.failures + 1 if outcome.failure is not None else 0
        hard = 0 < most <= max(failures, turns if self.task else 0)
        return replace(
            self, turns=turns, failures=failures, hard=hard or (self.hard and (failures > 0 or bool(self.task)))
        )


# -- the tools ---------------------------------------------------------------------------------------


class Crew:
    """The tools of a loop, loaded while the block runs.

    Args:
        own: the loop's own.
        settings: of the loop, with what it wants of others.
    """

    def __init__(self, own: Tool, settings: LoopSettings) -> None:
        self._reserves = settings.reserves or Reserves()
        self._settings = settings
        self._tools = {own.name: own}
        self._standings = {own.name: Standing()}
        self._attempts = Attempts()
        self._stack = ExitStack()
        self.own = own
        self.at_work = own.name

    def __enter__(self) -> Self:
        """Load them.

        Raises:
            bridge.errors.BridgeError: one can't be loaded, or its CLI isn't there, or can't be told its model.
        """
        if self._settings.model:
            self.own.try_model()
        with ExitStack() as stack:
            for candidate in self._reserves.candidates:
                if candidate.name not in self._tools:
                    self._tools[candidate.name] = stack.enter_context(candidate.open(self._settings))
                    self._standings[candidate.name] = Standing()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def alone(self) -> bool:
        return len(self._tools) == 1

    def caps(self, name: str) -> Caps:
        """Give the loop's caps with the prices of this tool."""
        gates = self._settings.gates
        review = [gates.review.tool] if gates is not None and gates.review is not None else []
        candidates = (*self._reserves.candidates, *review)
        prices = next((each.prices for each in candidates if each.name == name and each.prices), None)
        caps = self._settings.caps
        return caps if prices is None else replace(caps, price_in=prices[0], price_out=prices[1])

    def check(self) -> None:
        """See whether each tool tells what its caps are about.

        Raises:
            bridge.errors.ConfigurationError: one doesn't.
        """
        for name in self.names:
            self.caps(name).check(name)
        for each in self._reserves.candidates:
            replace(self.caps(each.name), max_cost=each.max_cost, max_tokens=each.max_tokens).check(each.name)

    @property
    def names(self) -> Sequence[str]:
        return [*self._tools]

    def tool(self, name: str) -> Tool:
        return self._tools[name]

    def session(self, name: str, own: str | None) -> str | None:
        """Give the session that a turn of this tool resumes; `own`: that of the loop's own."""
        return own if name == self.own.name else self._standings[name].session

    def choose(self, plan: Plan | None, now: float) -> str | None:
        """Name the tool of the next turn; None: all are at a limit."""
        self._attempts = self._attempts.at((plan.next_task or "") if plan is not None else "")
        return next((name for name in self._order() if self._is_free(name, now)), None)

    def spent(self, record: TurnRecord) -> None:
        """Add what a turn of its tool has used."""
        name = record.tool.partition(" in ")[0]
        if not record.kind and (stands := self._standings.get(name)) is not None:
            tokens = (record.input_tokens or 0) + (record.output_tokens or 0)
            cost = stands.cost + (record.cost_usd or 0)
            self._standings[name] = replace(stands, cost=cost, tokens=stands.tokens + tokens)

    def _used_up(self, name: str) -> str:
        """Say which cap of its own a tool has reached; ''."""
        stands = self._standings[name]
        for each in self._reserves.candidates if name != self.own.name else ():
            if each.name == name and each.max_cost is not None and stands.cost >= each.max_cost:
                return f"{name} has spent {usd(stands.cost)} of its {usd(each.max_cost)}"
            if each.name == name and each.max_tokens is not None and stands.tokens >= each.max_tokens:
                return f"{name} has used {stands.tokens:,.0f} of its {each.max_tokens:,.0f} tokens"
        return ""

    def _is_free(self, name: str, now: float) -> bool:
        return self._standings[name].until <= now and not self._used_up(name)

    def _order(self) -> list[str]:
        hard = [self._reserves.escalate.name] if self._reserves.escalate and self._attempts.hard else []
        return [*hard, self.own.name, *(each.name for each in self._reserves.fallback)]

    def why(self, name: str, now: float) -> str:
        """Say why it is this one's turn."""
        if self._reserves.escalate and name == self._reserves.escalate.name and self._attempts.hard:
            task, failed = one_line(self._attempts.task, 80), plural(self._attempts.failures, "turn")
            if 0 < self._reserves.after <= self._attempts.failures or not task:
                return f"{failed} in a row failed"
            return f"{plural(self._attempts.turns, 'turn')} did not get {task!r} done"
        limited = [each for each in self._order() if self._standings[each].until > now]
        if limited and self._order().index(limited[0]) < self._order().index(name):
            stands = self._standings[limited[0]]
            return f"{limited[0]} is at a limit until {timestamps.local(stands.until)}: {stands.why}"
        return "its limit is over" if self.at_work != name and not limited else "it is its turn again"

    def wait(self, now: float) -> Decision | None:
        """Give the wait for the limit that ends first, where all are at one; None: there is a tool."""
        if self.alone or any(self._is_free(name, now) for name in self._order()):
            return None
        used_up = [*filter(None, map(self._used_up, self._order()))]
        first = min(
            (name for name in self._order() if not self._used_up(name)),
            key=lambda name: self._standings[name].until,
        )
        stands = self._standings[first]
        detail = "; ".join((f"all tools are at a limit; {first} is the first to be back: {stands.why}", *used_up))
        return Decision(Verdict.CONTINUE, "api_limit", detail, stands.until - now)

    def took(self, name: str, outcome: O, now: float, *, own_session: str | None) -> O:
        """Take in a turn; give it as the loop's policy is to see it.

        Args:
            name: of its tool.
            outcome: what it came to.
            now: seconds since the epoch.
            own_session: that of the loop's own tool, which no other's turn ends.
        """
        if self.alone:
            return outcome
        stands = self._standings[name] = self._standings[name].after(outcome, now)
        limited = stands.until > now
        if not limited:
            self._attempts = self._attempts.after(outcome, self._reserves.after)
        if name != self.own.name and outcome.status == _NOT_STARTED:  # a failed turn; others go on
            until = now + PROBES[min(stands.probes, len(PROBES) - 1)]
            why = one_line(outcome.error or "its program could not be started", 200)
            self._standings[name] = replace(stands, until=until, why=why, probes=stands.probes + 1)
        limit = real_limit(outcome)
        if limit is None and limited:
            limit = Limit("usage", None, stands.why)
        elif limit is None and stands.overloads:  # else the loop ends by its failures before the provider is left
            limit = Limit("rate", None, one_line(said(outcome), 200))
        if limit is not None:
            analysis = replace(outcome.analysis, permanent=None) if outcome.analysis else None
            outcome = replace(outcome, limit=limit, analysis=analysis)
        if name == self.own.name:
            return outcome
        return replace(outcome, session_id=own_session, resumed=False, dead_session=False)

    def instead(self, decision: Decision, name: str, now: float) -> Decision:
        """Say what follows instead of a wait for the limit of the tool that was at work."""
        if self.alone or decision.reason != "api_limit" or self._standings[name].until <= now:
            return decision
        return self.wait(now) or replace(decision, wait=0.0)

    # -- what is kept --------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """Give how they stand, for a run that goes on with this one."""
        return {
            "schema": 1,
            "own": self.own.name,
            "at_work": self.at_work,
            "tools": {
                name: {
                    "session": each.session,
                    "until": timestamps.iso(each.until) if each.until else None,
                    "why": each.why,
                    "probes": each.probes,
                    "cost_usd": each.cost,
                    "tokens": each.tokens,
                }
                for name, each in self._standings.items()
            },
            "attempts": {
                "task": self._attempts.task,
                "turns": self._attempts.turns,
                "failures": self._attempts.failures,
                "hard": self._attempts.hard,
            },
        }

    def take_over(self, found: Mapping[str, Any] | None, now: float, *, goes_on: bool) -> None:
        """Go on from what an earlier run has kept, which anybody may have written to since.

        Args:
            found: what it has kept.
            now: seconds since the epoch.
            goes_on: what its tools have used counts for this run, too.
        """
        tools = (found or {}).get("tools")
        for name, each in tools.items() if isinstance(tools, dict) else ():
            if name in self._standings and isinstance(each, dict):
                until = timestamps.parse_iso(each.get("until")) or 0.0
                self._standings[name] = Standing(
                    session=None if name == self.own.name else validate_session_id(str(each.get("session") or "")),
                    until=min(until, now + _FARTHEST),
                    why=one_line(str(each.get("why") or ""), 200),
                    probes=min(whole(each.get("probes")) or 0, len(PROBES)),
                    cost=float(amount(each.get("cost_usd")) or 0) if goes_on else 0.0,
                    tokens=float(amount(each.get("tokens")) or 0) if goes_on else 0.0,
                )
        attempts = (found or {}).get("attempts")
        if isinstance(attempts, dict):
            self._attempts = Attempts(
                task=str(attempts.get("task") or ""),
                turns=whole(attempts.get("turns")) or 0,
                failures=whole(attempts.get("failures")) or 0,
                hard=attempts.get("hard") is True,
            )
