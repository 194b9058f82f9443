"""What is new in what a loop's agent says, and which loops there are, for who watches them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bridge import timestamps
from bridge.cli import _standing
from bridge.errors import BridgeError
from bridge.loop.logs import Follower, shown_text
from bridge.loop.runs import loops, registry
from bridge.report import facts
from bridge.report.live import LiveLoop
from bridge.setups.overview import loop_at
from bridge.wording import tame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.setups.overview import LoopPlace


class Said:
    """What the agent says, and the log of the loop's steps where it has one: what is new since the last look."""

    def __init__(self, loop: LoopPlace) -> None:
        self._loop = loop
        self._texts: dict[Path, Follower] = {path: Follower(path) for path in loop.texts}
        self._steps = None if loop.steps is None else Follower(loop.steps, tail=0)
        self._block: list[str] = []

    def lines(self, *, rest: bool = False) -> list[str]:
        """Return the new lines of text; with `rest` also what has no newline yet."""
        current = self._loop.texts
        for path in current:
            if path not in self._texts:  # a new turn, or a new session
                self._texts[path] = Follower(path, tail=sys.maxsize)
        found: list[str] = []
        for path, follower in list(self._texts.items()):
            over = path not in current
            found += self._said(follower, rest=rest or over)
            if over:
                del self._texts[path]
        return [tame(line, keep="\t") for line in found]

    def steps(self) -> list[str]:
        """Return the new lines of the log of steps."""
        return [] if self._steps is None else [tame(line) for line in self._steps.lines()]

    def _said(self, follower: Follower, *, rest: bool) -> Iterator[str]:
        """A result says once more what the message before it said."""
        for line in follower.lines(rest=rest):
            block = shown_text(line)
            if not line.startswith("{"):
                yield from block
            elif block and block != self._block:
                self._block = block
                yield from block


def running(known: dict[str, LiveLoop], now: float) -> dict[str, LiveLoop]:
    """The loops of this machine that are at work, by their runs; those that are known are looked at again."""
    found = {}
    for each in loops(registry()):
        place = known[each.run_id].loop if each.run_id in known else loop_at(each.project, each.state)
        if place is not None:
            live = known.get(each.run_id) or LiveLoop(place)
            try:
                live.look(now)
            except BridgeError:
                continue
            found[each.run_id] = live
    return found


def loop_cells(live: LiveLoop, now: float) -> tuple[str, ...]:
    """A loop's cells in the list of all: project, setup, turn, failed, tokens, cost, where it stands."""
    until = timestamps.parse_iso(live.seen["waiting"]["until"]) if live.seen["waiting"] else None
    return (
        tame("/".join(live.loop.project.parts[-2:])),
        live.loop.kind,
        str(live.run.turn if live.run else ""),
        str(live.totals.failures),
        facts.tokens(live.totals.tokens),
        facts.money(live.totals.cost_usd),
        f"waits until {timestamps.clock(until)}" if until else tame(_standing.words(live.seen, now)),
    )
