"""A loop looked at again and again, by who watches it: each look reads what is new. Nothing is written."""

from __future__ import annotations

import gzip
import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bridge.base import timestamps
from bridge.base.files import lenient, open_file, read_bytes, read_lines
from bridge.base.git.repository import find_repository
from bridge.base.wording import tame
from bridge.errors import BridgeError
from bridge.loop.engine import turn_records
from bridge.loop.engine.logs import Follower, shown_text
from bridge.loop.engine.run_record import loops, read_run, registry
from bridge.loop.engine.turn_records import NO_TURNS, Totals, TurnRecord
from bridge.loop.report import run_facts
from bridge.loop.report.run_report import commit_id, read_turn
from bridge.loop.setups.overview import loop_at, overview

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.loop.engine.run_record import RunRecord
    from bridge.loop.setups.overview import LoopPlace

_MOST_LOG = 256 * 1024
_MOST_LINES = 4000


class LiveLoop:
    """A loop as it is at the last look.

    Attributes:
        seen: as :func:`bridge.loop.setups.overview.overview` gives it.
        run: the record of its run, or None.
        turns: of that run, in their order.
        totals: what they came to.
    """

    def __init__(self, loop: LoopPlace) -> None:
        self.loop = loop
        self.seen: dict[str, Any] = {}
        self.run: RunRecord | None = None
        self.turns: list[TurnRecord] = []
        self.totals: Totals = NO_TURNS
        self._first_head: str | None = None
        self._turns = _Lines(loop.logs / turn_records.TURNS)
        self._events = _Lines(loop.logs / turn_records.RUNS)

    def look(self, now: float) -> bool:
        """Gives whether another run has begun since the last look.

        Raises:
            bridge.errors.BridgeError: its state can't be read.
        """
        self.seen = overview(self.loop, now)
        run = read_run(self.loop.state)
        before, self.run = self.run, run
        anew = (run and run.run_id) != (before and before.run_id)
        if anew:
            self.turns, self.totals, self._first_head = [], NO_TURNS, None
            self._turns.rewind()
            self._events.rewind()
        for line in self._turns.new():
            turn = read_turn(line) if run is not None and line.get("run") == run.run_id else None
            if turn is not None:
                self.turns.append(turn)
                self.totals = self.totals.with_turn(turn)
        for line in self._events.new():
            if run is not None and line.get("run") == run.run_id and line.get("event") == "began":
                self._first_head = commit_id(line.get("head"))
        return anew

    def cells(self, standing: str) -> tuple[str, ...]:
        """In the list of all loops: project, setup, turn, failed, tokens, cost, where it stands (in words)."""
        until = timestamps.parse_iso(self.seen["waiting"]["until"]) if self.seen["waiting"] else None
        return (
            tame("/".join(self.loop.project.parts[-2:])),
            self.loop.kind,
            str(self.run.turn if self.run else ""),
            str(self.totals.failures),
            run_facts.tokens(self.totals.tokens),
            run_facts.money(self.totals.cost_usd),
            f"waits until {timestamps.clock(until)}" if until else tame(standing),
        )

    @property
    def turn_under_way(self) -> int | None:
        if self.run is None or self.seen.get("state") != "running":
            return None
        return self.run.turn or None

    def diff(self, index: int) -> str:
        """What a turn has committed, as git shows it, or why there is nothing to show.

        Args:
            index: in `turns`; one behind the last: what isn't committed now.
        """
        repository = find_repository(self.loop.project)
        if repository is None:
            return "There is no git repository here."
        options = ("--no-color", "--no-ext-diff", "--stat", "--patch")
        if index >= len(self.turns):
            now = repository.run("diff", *options, repository.head() or repository.empty_tree(), "--")
            return _cut(now.out) or "Nothing differs from the last commit, new files aside."
        before = self.turns[index - 1].head if index else self._first_head
        after = self.turns[index].head
        if before is None or after is None:
            return "Nobody knows which commits this turn began and ended at."
        if before == after:
            return "This turn has committed nothing."
        done = repository.run("diff", *options, before or repository.empty_tree(), after, "--")
        return _cut(done.out) if done.ok else f"git knows {before[:9]} or {after[:9]} no longer."

    def log(self, index: int) -> list[str]:
        """What a turn has said, from the end of its log, as lines for people."""
        path = self.loop.project / self.turns[index].log
        data = b""
        with lenient(), suppress(EOFError):
            if path.is_file():
                data = _tail(path)
            elif path.with_name(f"{path.name}.gz").is_file():
                data = gzip.decompress(read_bytes(path.with_name(f"{path.name}.gz")))[-_MOST_LOG:]
        if not data:
            return [f"{path} is empty, or has been deleted."]
        lines = data.decode("utf-8", "replace").split("\n")[1 if len(data) == _MOST_LOG else 0 :]
        return [text for line in lines for text in shown_text(line)][-_MOST_LINES:]


class _Lines:
    """The JSON objects that a file has got since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._file = -1

    def rewind(self) -> None:
        self._offset = 0

    def new(self) -> Iterator[dict[str, Any]]:
        """A line without an end waits for the next look."""
        with lenient(), open_file(self._path) as file:
            seen = self._path.stat()
            if seen.st_ino != self._file or seen.st_size < self._offset:  # the last one was put aside
                self._file, self._offset = seen.st_ino, 0
            file.seek(self._offset)
            for line in read_lines(file):
                if line is None:
                    self._offset = file.tell()
                    continue
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                with suppress(ValueError, RecursionError):
                    value = json.loads(line)
                    if isinstance(value, dict):
                        yield value


def _tail(path: Path) -> bytes:
    with open_file(path) as file:
        size = path.stat().st_size
        file.seek(max(0, size - _MOST_LOG))
        return file.read(_MOST_LOG)


def _cut(data: bytes) -> str:
    lines = data[: _MOST_LOG * 2].decode("utf-8", "replace").splitlines()
    cut = len(lines) > _MOST_LINES or len(data) > _MOST_LOG * 2
    return "\n".join([*lines[:_MOST_LINES], *(["..."] if cut else [])])


def running_loops(known: dict[str, LiveLoop], now: float) -> dict[str, LiveLoop]:
    """The loops of this machine that are at work, by their runs; those that are known are looked at again."""
    found = {}
    for each in loops(registry()):
        loop = known[each.run_id].loop if each.run_id in known else loop_at(each.project, each.state)
        if loop is not None:
            live = known.get(each.run_id) or LiveLoop(loop)
            try:
                live.look(now)
            except BridgeError:
                continue
            found[each.run_id] = live
    return found


class AgentText:
    """What the agent says, and the log of the loop's steps where it has one: what is new since the last look."""

    def __init__(self, loop: LoopPlace) -> None:
        self._loop = loop
        self._texts: dict[Path, Follower] = {path: Follower(path) for path in loop.texts}
        self._steps = None if loop.steps is None else Follower(loop.steps, tail=0)
        self._block: list[str] = []

    def lines(self, *, rest: bool = False) -> list[str]:
        """The new lines of text; with `rest` also what has no newline yet."""
        current = self._loop.texts
        for path in current:
            if path not in self._texts:  # a new turn, or a new session
                self._texts[path] = Follower(path, tail=sys.maxsize)
        found: list[str] = []
        for path, follower in list(self._texts.items()):
            over = path not in current
            found += self._of(follower, rest=rest or over)
            if over:
                del self._texts[path]
        return [tame(line, keep="\t") for line in found]

    def steps(self) -> list[str]:
        return [] if self._steps is None else [tame(line) for line in self._steps.lines()]

    def _of(self, follower: Follower, *, rest: bool) -> Iterator[str]:
        """A result repeats the message before it: that is shown once."""
        for line in follower.lines(rest=rest):
            block = shown_text(line)
            if not line.startswith("{"):
                yield from block
            elif block and block != self._block:
                self._block = block
                yield from block
