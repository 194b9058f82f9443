"""The facts of a run as rows of words, the same in every format; what nobody knows is called unknown. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.base import timestamps
from bridge.base.amounts import known_sum
from bridge.base.wording import duration, one_line, plural, usd
from bridge.loop.engine.rotation import size_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bridge.loop.engine.turn_records import TurnRecord
    from bridge.loop.report.run_report import Run

UNKNOWN = "unknown"
TURN_COLUMNS = ("turn", "began", "took", "result", "tokens", "cost", "files", "log")


def rows(run: Run) -> Iterator[tuple[str, str]]:
    totals = run.totals
    yield "outcome", one_line(f"{run.state}{_because(run)}")
    yield "tool", one_line(run.tool) or UNKNOWN
    if run.task:
        yield "task", one_line(run.task, 300)
    yield "branch", UNKNOWN if run.branch is None else one_line(run.branch) or "none"
    if run.pull_request is not None:
        yield "pull request", one_line(pull_words(run.pull_request), 400)
    yield "began", timestamps.local(run.began)
    yield "ended", UNKNOWN if run.ended is None else timestamps.local(run.ended)
    yield "duration", UNKNOWN if run.seconds is None else duration(run.seconds)
    yield "at work", duration(totals.seconds)
    yield "waiting", _listed((f"{reason} {duration(seconds)}" for reason, seconds in run.waited.items()), "none")
    yield "turns", f"{totals.turns}"
    yield "failures", _listed((f"{count} {kind}" for kind, count in run.failures.items()), "none")
    yield "tokens", tokens(totals.tokens)
    yield "cost", money(totals.cost_usd)
    for tool, of in run.by_tool.items():
        turns = f"{plural(of.turns, 'turn')}, {of.failures} failed"
        yield f"by {one_line(tool)}", f"{turns}, {tokens(of.tokens)} tokens, {money(of.cost_usd)}"
    for each in run.changes:
        yield "changed", f"{timestamps.clock(each.at)} to {one_line(each.tool)}: {one_line(each.why, 200)}"
    for turn in run.turns:
        if turn.rotated and turn.context_tokens is not None:
            size = size_words(turn.context_tokens, turn.context_window)
            yield "fresh session", f"behind turn {turn.turn}, whose context held {size}"
    yield "tasks", _tasks(run)
    yield "commits", UNKNOWN if run.commits is None else str(len(run.commits))
    yield "files changed", _files(run)
    if run.checks:
        failed = [f"behind turn {each.turn} it {each.why}" for each in run.checks if each.why]
        yield "checks", _listed(failed, "none") if failed else f"{len(run.checks)} passed"
    yield "refused tools", _listed(run.refused, "none")


def turn_row(turn: TurnRecord) -> tuple[str, ...]:
    """The cells of a turn, as `TURN_COLUMNS` names them."""
    return (
        f"{turn.turn} {turn.kind}".strip(),
        timestamps.clock(turn.began),
        duration(turn.seconds),
        turn.result,
        tokens(used(turn)),
        money(turn.cost_usd),
        UNKNOWN if turn.files_changed is None else str(turn.files_changed),
        turn.log,
    )


def used(turn: TurnRecord) -> float | None:
    """A turn's tokens, in and out; None: it doesn't tell."""
    return known_sum((turn.input_tokens, turn.output_tokens))


def pull_words(pull: Mapping[str, Any]) -> str:
    """How a pull request stands: number, state, checks, address, and why it didn't come further."""
    state = "draft" if pull["draft"] and pull["state"] == "OPEN" else pull["state"].lower()
    known = f"#{pull['number']}, {state}, checks {pull['checks'] or 'unknown'}: {pull['url']}"
    return f"{known} ({one_line(pull['detail'], 200)})" if pull["detail"] else known


def tokens(count: float | None) -> str:
    return UNKNOWN if count is None else f"{count:,.0f}"


def money(amount: float | None) -> str:
    return UNKNOWN if amount is None else usd(amount)


def _because(run: Run) -> str:
    why = run.detail or run.reason
    return f": {why}{f' ({run.reason})' if run.detail and run.reason else ''}" if why else ""


def _files(run: Run) -> str:
    """The files of commits, and what turns changed that committed nothing, where a file counts in each."""
    left = sum(turn.files_changed or 0 for turn in run.turns if not turn.committed)
    if run.files is None:
        return f"{left:.0f} in turns" if left else UNKNOWN
    return f"{len(run.files)} in commits, {left:.0f} in turns without one" if left else str(len(run.files))


def _tasks(run: Run) -> str:
    before, after = run.plans
    if after is None:
        return UNKNOWN if before is None else f"{before[0]} of {before[1]} were done at the beginning"
    gained = "" if before is None else f", {after[0] - before[0]:+} in this run"
    return f"{after[0]} of {after[1]} done{gained}"


def _listed(words: Iterable[str], nothing: str) -> str:
    return ", ".join(map(one_line, words)) or nothing
