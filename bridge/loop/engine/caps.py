"""What a run may use: tokens and money, and when a loop has to end, or wait, because of them. Pure."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from bridge.base import timestamps
from bridge.base.clis import cli_of_script
from bridge.base.records import dataclass
from bridge.base.wording import usd
from bridge.errors import ConfigurationError
from bridge.loop.engine.policy import Decision, Verdict
from bridge.loop.engine.turn_records import NO_TURNS, NOTHING, Spent, TurnRecord

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import datetime

    from bridge.scripts.stream.events.base import ContextSize, Usage

VARIABLES = {
    "max_cost": "RALPH_BRIDGE_MAX_COST",
    "max_tokens": "RALPH_BRIDGE_MAX_TOKENS",
    "tokens_per_hour": "RALPH_BRIDGE_TOKENS_PER_HOUR",
    "price_in": "RALPH_BRIDGE_PRICE_IN",
    "price_out": "RALPH_BRIDGE_PRICE_OUT",
}
"""Field to the variable that sets it, in the environment and in settings files."""

REASONS = ("max_cost", "max_tokens", "cost_unknown", "tokens_unknown")
"""Why a run ends that may use no more."""

WARN_AT = 0.8
"""The part of a cap at which people are warned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What a run may use; None: any amount.

    Attributes:
        max_cost: US dollars.
        max_tokens: tokens in and out.
        tokens_per_hour: the same, per clock hour; then the loop waits for the next one.
        price_in, price_out: US dollars per million tokens, for a tool that tells no money.
    """

    max_cost: float | None = None
    max_tokens: float | None = None
    tokens_per_hour: float | None = None
    price_in: float | None = None
    price_out: float | None = None

    def named(self) -> dict[str, float]:
        names = ("max_cost", "max_tokens", "tokens_per_hour")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def over(self, other: Caps) -> Caps:
        """Fill in from `other` what isn't set here."""
        return replace(other, **{name: value for name in VARIABLES if (value := getattr(self, name)) is not None})

    def check(self, tool: str) -> None:
        """Refuse caps that can't be held.

        Args:
            tool: such as ``driver codex``.

        Raises:
            ConfigurationError: a value makes no sense; one price without the other; the tool never tells what is
                to be capped.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            least = "0 or more" if field.name.startswith("price") else "more than 0"
            if value is not None and not (value > 0 or (value == 0 and least == "0 or more")):
                raise ConfigurationError(f"{field.name} is {value!r}, expected a number, {least}")
        if (self.price_in is None) != (self.price_out is None):
            given, missing = ("in", "out") if self.price_out is None else ("out", "in")
            raise ConfigurationError(
                f"a price for tokens {given} and none for tokens {missing}\n  next: give --price-{missing}, too"
            )
        name = tool.rpartition(" ")[2].partition("@")[0]
        cli = cli_of_script(name)
        if cli is None:
            return
        if not cli.reports_tokens and (self.max_tokens or self.tokens_per_hour or self.max_cost):
            raise ConfigurationError(
                f"{name} never tells how many tokens it uses: no cap on tokens or cost can be held\n"
                "  next: leave the cap out, and use --max-iterations or --max-minutes"
            )
        if self.max_cost is not None and self.price_in is None and not cli.reports_cost:
            raise ConfigurationError(
                f"{name} never tells what it costs: --max-cost can't be held\n"
                "  next: give the prices with --price-in and --price-out, or cap with --max-tokens"
            )

    def priced(self, record: TurnRecord) -> TurnRecord:
        """Put in what a turn cost by the prices, where the tool tells tokens and no money."""
        given, made = record.input_tokens, record.output_tokens
        if record.cost_usd is not None or self.price_in is None or self.price_out is None:
            return record
        if given is None and made is None:
            return record
        return replace(record, cost_usd=((given or 0) * self.price_in + (made or 0) * self.price_out) / 1e6)

    def reached(self, spent: Spent, untold: Collection[str], now: datetime) -> Decision | None:
        """Say that no further turn may start, or only in the next hour; None: it may.

        Args:
            spent: so far.
            untold: what a turn that went well did not tell: ``cost``, ``tokens`` or both.
            now: local time, with its zone.
        """
        ends = Verdict.INCOMPLETE
        if self.max_cost is not None and spent.cost_usd >= self.max_cost:
            return Decision(ends, "max_cost", f"{usd(spent.cost_usd)} of at most {usd(self.max_cost)} are spent")
        if self.max_tokens is not None and spent.tokens >= self.max_tokens:
            used = f"{spent.tokens:,.0f} of at most {self.max_tokens:,.0f} tokens are used"
            return Decision(ends, "max_tokens", used)
        if self.max_cost is not None and "cost" in untold:
            why = "a turn told no cost: --max-cost can't be held without --price-in and --price-out"
            return Decision(ends, "cost_unknown", why)
        if (self.max_tokens or self.tokens_per_hour) and "tokens" in untold:
            return Decision(ends, "tokens_unknown", "a turn told no tokens: no cap on them can be held")
        most = self.tokens_per_hour
        if most is None or spent.hour != timestamps.hour(now.timestamp()) or spent.hour_tokens < most:
            return None
        used = f"{spent.hour_tokens:,.0f} of at most {most:,.0f} tokens of this hour are used"
        wait = timestamps.next_hour(now.timestamp()) - now.timestamp()
        return Decision(Verdict.CONTINUE, "tokens_per_hour", used, wait)

    def warnings(self, before: Spent, after: Spent) -> Iterator[str]:
        """Tell of each cap of which a turn has used so much that its end is near."""
        for cap, was, used, shown in (
            (self.max_cost, before.cost_usd, after.cost_usd, usd),
            (self.max_tokens, before.tokens, after.tokens, "{:,.0f} tokens".format),
        ):
            if cap is not None and was < WARN_AT * cap <= used < cap:
                yield f"{used / cap:.0%} of the cap is used: {shown(used)} of {shown(cap)}"


class Tally:
    """Adds up the turns of one run. Pure.

    Args:
        caps: with the prices of tokens.
        spent: what a run that this one goes on with had used.
    """

    def __init__(self, caps: Caps, spent: Spent = NOTHING) -> None:
        self._caps = caps
        self.totals = NO_TURNS
        self.spent = spent
        self.untold: set[str] = set()

    def copy(self) -> Tally:
        made = Tally(self._caps, self.spent)
        made.totals, made.untold = self.totals, {*self.untold}
        return made

    def add(
        self,
        record: TurnRecord,
        usage: Usage | None,
        now: datetime,
        *,
        resumed: bool = False,
        caps: Caps | None = None,
        size: ContextSize | None = None,
    ) -> TurnRecord:
        """Count a turn; return its record with what it used.

        Args:
            usage: what the tool says; None: nothing. Of a count that grows over a whole session (codex), only what
                has been added since the session's last turn is this turn's.
            now: local time, with its zone.
            resumed: it went on with a session.
            caps: with the prices of its tool; None: those of the run.
            size: of its session's context, as far as the tool says.
        """
        if usage is not None:
            record = (caps or self._caps).priced(self._used(record, usage, resumed=resumed))
        if size is not None:
            record = replace(record, context_tokens=_tokens(size, record), context_window=size.window)
        if record.result == "success":
            if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
                self.untold.add("tokens")
            if record.cost_usd is None:
                self.untold.add("cost")
        self.totals = self.totals.with_turn(record)
        self.spent = self.spent.with_turn(record, now)
        return record

    def _used(self, record: TurnRecord, usage: Usage, *, resumed: bool) -> TurnRecord:
        counts: tuple[float | None, ...] = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
        if usage.cumulative and record.session and None not in counts[:2]:
            before = dict(self.spent.sessions).get(record.session)
            self.spent = self.spent.with_session(record.session, tuple(count or 0.0 for count in counts))
            if before is not None:
                pairs = zip(counts, before, strict=True)
                counts = tuple(None if now is None else max(now - then, 0) for now, then in pairs)
            elif resumed:  # nobody has counted that session: which part is this turn's can't be known
                counts = None, None, None
        given, made, cached = counts
        return replace(
            record, input_tokens=given, output_tokens=made, cached_tokens=cached, cost_usd=usage.total_cost_usd
        )


def _tokens(size: ContextSize, record: TurnRecord) -> float | None:
    """How full a context is; of a tool that only counts all calls of a turn, their mean, as the last is no less."""
    if size.tokens is not None or not size.calls or record.input_tokens is None:
        return size.tokens
    return (record.input_tokens + (record.output_tokens or 0)) // size.calls
