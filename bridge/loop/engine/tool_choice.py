"""Which tool runs a loop's next turn: its own, unless that is at a limit, or the task has proved too hard for it.

A session never moves from one tool to another: each goes on with its own when its turn comes again, and what the
setup's own files say is always about the loop's own tool.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from bridge.base import timestamps
from bridge.base.amounts import amount, whole
from bridge.base.records import dataclass
from bridge.base.wording import one_line, plural, usd
from bridge.loop.engine.loop_settings import Reserves
from bridge.loop.engine.outcome import Outcome
from bridge.loop.engine.policy import ASK_AGAIN, MARGIN, Decision, Limits, Verdict, session_after
from bridge.loop.engine.standstill import sentence
from bridge.loop.engine.state import LoopState
from bridge.loop.turn.tool import NOT_STARTED
from bridge.scripts.session_id import validate_session_id
from bridge.scripts.stream.analysis import Limit, PermanentReason, is_overload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from bridge.loop.engine.caps import Caps
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.turn_records import TurnRecord
    from bridge.loop.turn.tool import Tool

O = TypeVar("O", bound=Outcome)  # noqa: E741

PROBES = (300.0, 600.0, 1200.0, ASK_AGAIN)
"""Seconds after which a tool whose limit has no known end is tried again: the first time, the second, and so on."""

OVERLOAD_SECONDS, OVERLOAD_TURNS = 300.0, 6
"""A provider that has been overloaded for so long, or so often in a row, is left for another."""

_FARTHEST = 8 * 86_400.0
"""Seconds: a limit that somebody has put down as longer is looked at then all the same."""

_FAILURES = Limits().same_failures
"""Failures in a row after which a stand-in is set aside."""

_WHY = 200
"""Characters."""

_PAID = (PermanentReason.NO_CREDIT, PermanentReason.SUBSCRIPTION_ENDED)


# -- what is wanted ----------------------------------------------------------------------------------


# -- how things stand --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How one tool stands.

    Attributes:
        session: to go on with, of a tool that isn't the loop's own; or None.
        until: it is at a limit until then, in seconds since the epoch; 0: it isn't.
        again: and is tried again then, which is earlier where nobody is sure of that.
        why: what its provider says about that.
        aside: it is no limit, but something else for which it can't work now.
        probes: how often in a row it was at a limit without a known end.
        overloads: turns in a row that its provider was overloaded in; since when, in seconds since the epoch.
        failures: failed turns in a row.
        cost, tokens: used in this run, and in those that it goes on with.
    """

    session: str | None = None
    until: float = 0.0
    again: float = 0.0
    why: str = ""
    aside: bool = False
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
            again=0.0,
            aside=False,
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
        if until <= now:
            return after.probed(limit.words, now)
        until = min(until, now + limit.window + MARGIN)
        again = until if limit.exact else min(until, now + ASK_AGAIN)
        return replace(after, until=until, again=again, why=one_line(limit.words, _WHY), probes=0)

    def probed(self, why: str, now: float, *, aside: bool = False) -> Standing:
        """Say how it stands where nobody knows when it can work again."""
        until = now + PROBES[min(self.probes, len(PROBES) - 1)]
        why = one_line(why, _WHY)
        return replace(self, until=until, again=until, why=why, aside=aside, probes=self.probes + 1)


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


def _unfit(outcome: Outcome, stands: Standing, cli: str) -> str:
    """Say why a stand-in can't work for now, after a turn of its own; '': it can."""
    if outcome.failure is None or outcome.timed_out or stands.until:
        return ""
    if outcome.permanent is not None:
        return sentence(outcome.permanent, cli)
    if outcome.status == NOT_STARTED:
        return outcome.error or "its program could not be started"
    if stands.failures >= _FAILURES and not stands.overloads:
        return f"{stands.failures} turns in a row failed, the last: {outcome.failure}"
    return ""


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

    Attributes:
        at_work: the name of the tool of the last turn.
        news: what people are to know of that turn; ''.
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
        self.news = ""

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
        return self._standings[name].again <= now and not self._used_up(name)

    def _how(self, name: str) -> str:
        """Say why it can't work now."""
        stands = self._standings[name]
        until = "is set aside" if stands.aside else f"is at a limit until {timestamps.local(stands.until)}"
        return f"{name} {until}: {stands.why}"

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
            return self._how(limited[0])
        if name in limited:
            return "it is asked again whether its limit is over"
        return "its limit is over" if self.at_work != name and not limited else "it is its turn again"

    def wait(self, now: float) -> Decision | None:
        """Give the wait for the limit that ends first, where all are at one; None: there is a tool."""
        if self.alone or any(self._is_free(name, now) for name in self._order()):
            return None
        used_up = [*filter(None, map(self._used_up, self._order()))]
        able = [name for name in self._order() if not self._used_up(name)]
        first = min(able, key=lambda name: self._standings[name].again)
        stands = self._standings[first]
        if any(self._standings[name].aside for name in able):
            about = [*map(self._how, able)]
        else:
            about = [f"all tools are at a limit; {first} is the first to be back: {stands.why}"]
        return Decision(Verdict.CONTINUE, "api_limit", "; ".join((*about, *used_up)), stands.again - now)

    def took(self, name: str, outcome: O, now: float, *, own_session: str | None, cli: str = "") -> O:
        """Take in a turn; give it as the loop's policy is to see it.

        A stand-in that can't work ends no loop whose own tool only has to wait: it is set aside for a while, and
        its turn counts as one that a limit ended.

        Args:
            name: of its tool.
            now: seconds since the epoch.
            own_session: that of the loop's own tool, which no other's turn ends.
            cli: the program that was run.
        """
        self.news = ""
        if self.alone:
            return outcome
        stands = self._standings[name].after(outcome, now)
        if name != self.own.name and (why := _unfit(outcome, stands, cli)):
            stands = stands.probed(why, now, aside=True)
            if not self._standings[name].aside:
                self.news = f"{name} is set aside until {timestamps.local(stands.until)}: {one_line(why, 500)}"
        self._standings[name] = stands
        if stands.until <= now:
            self._attempts = self._attempts.after(outcome, self._reserves.after)
        limit = real_limit(outcome)
        if limit is None and stands.until > now:
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
        if self.alone or decision.reason != "api_limit" or self._standings[name].again <= now:
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
                    "aside": each.aside,
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
                until = min(timestamps.parse_iso(each.get("until")) or 0.0, now + _FARTHEST)
                self._standings[name] = Standing(
                    session=None if name == self.own.name else validate_session_id(str(each.get("session") or "")),
                    until=until,
                    again=min(until, now + ASK_AGAIN),
                    why=one_line(str(each.get("why") or ""), _WHY),
                    aside=each.get("aside") is True,
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
