"""What a run may use: tokens and money, and when a loop has to end, or wait, because of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, NamedTuple

from bridge import timestamps
from bridge.clis import cli_of_script
from bridge.errors import ConfigurationError
from bridge.loop.night import numbers
from bridge.loop.policy import Decision, Verdict
from bridge.wording import usd

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from datetime import datetime

    from bridge.loop.turn_records import TurnRecord

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


class Spent(NamedTuple):
    """What a run has used so far, the runs that it goes on with included.

    Attributes:
        cost_usd, tokens: in and out; of turns that told.
        hour: the clock hour that was counted last, as ``2026112219``; '' before the first turn.
        hour_tokens: used in it.
        session: the session that was counted last, of a tool whose count grows over a whole session; or ''.
        session_counts: tokens in, out and cached of that session so far.
    """

    cost_usd: float = 0.0
    tokens: float = 0.0
    hour: str = ""
    hour_tokens: float = 0.0
    session: str = ""
    session_counts: tuple[float, ...] = (0.0, 0.0, 0.0)

    def with_turn(self, record: TurnRecord, now: datetime) -> Spent:
        """Count a turn that ends now."""
        tokens, hour = (record.input_tokens or 0) + (record.output_tokens or 0), timestamps.hour(now.timestamp())
        return self._replace(
            cost_usd=self.cost_usd + (record.cost_usd or 0.0),
            tokens=self.tokens + tokens,
            hour=hour,
            hour_tokens=tokens + (self.hour_tokens if hour == self.hour else 0.0),
        )

    def anew(self) -> Spent:
        """What the next run begins with that doesn't go on with this one: its hour and its session are the same."""
        return self._replace(cost_usd=0.0, tokens=0.0)


NOTHING = Spent()


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
        """What is capped, by name, prices aside."""
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
        name = tool.rpartition(" ")[2]
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


def read_caps(env: Mapping[str, str]) -> Caps:
    """Read the caps of the environment.

    Raises:
        ConfigurationError: a value is no number; names the variable.
    """
    return Caps(**numbers(env, VARIABLES))
