"""The outer loop: the agent is started anew, with a fresh context, for each turn."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from bridge.errors import BridgeError, ConfigurationError, ProgramNotFound, ProgramNotStarted
from bridge.files import write_atomic
from bridge.loop.backoff import back_off
from bridge.loop.events import IterationStarted, Notice, OutputText, Waiting, interruption
from bridge.loop.runs import Pause
from bridge.loop.turn_records import NO_TURNS, Totals, TurnRecord, TurnRecords, interrupted
from bridge.setups.wiggum import files, turns
from bridge.setups.wiggum.policy import Decision, closed, minutes_over
from bridge.setups.wiggum.prompt import turn_prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from bridge.git.tree import TreeState
    from bridge.git.work import Probe
    from bridge.loop.active import ActiveRun
    from bridge.loop.events import LoopEvent
    from bridge.setups.wiggum.files import Layout
    from bridge.setups.wiggum.state import State


RETRY_DELAY = 0.5
"""Seconds to wait after the first failed turn, unless another delay is asked for."""

_SLICE = 0.2
"""Seconds: how soon a pause notices that it is to end."""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn is about to start; `state` says which."""

    state: State


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn is over: how it was, what follows, its seconds; the sum of the turns, and its own record."""

    state: State
    decision: Decision
    seconds: float
    totals: Totals = NO_TURNS
    record: TurnRecord | None = None


@dataclass(frozen=True, slots=True)
class Paused:
    """The loop waits for some seconds: so many turns in a row have failed."""

    state: State
    seconds: float
    failures: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The loop is over; `state.outcome` says how, `totals` what its turns came to."""

    state: State
    seconds: float
    totals: Totals = NO_TURNS


if TYPE_CHECKING:
    OuterEvent = LoopEvent | TurnStarted | TurnEnded | Paused | Ended


class Tool(Protocol):
    """What runs the agent for one turn: a driver or an agent script."""

    def turn(
        self, layout: Layout, number: int, seconds: float | None
    ) -> Generator[LoopEvent | turns.Limited, None, turns.AgentReply]:
        """Run the agent on :attr:`Layout.turn_prompt` for so many seconds at most, yielding what it shows."""


def run_outer(
    layout: Layout,
    probe: Probe,
    state: State,
    tool: Tool,
    *,
    retry_delay: float = RETRY_DELAY,
    active: ActiveRun | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Generator[OuterEvent, None, State]:
    """Run the loop to its end; the last event is :class:`Ended`, and its state is returned.

    A signal in the middle of a turn leaves that turn in the state: the next start ends it.

    Args:
        layout: the project; the caller holds its lock.
        probe: tells whether a turn changed files.
        state: as :func:`bridge.setups.wiggum.start.prepare` gives it.
        tool: runs the agent.
        retry_delay: seconds to wait after a failed turn, doubled with each one in a row: what fails at once, as a
            CLI without its key does, must not use up all iterations within a second.
        active: holds the project's lock and record; None: nobody else knows of this loop.
        now: the time.

    Raises:
        bridge.errors.BridgeError: the agent can't be started, or a file can't be written.
    """
    began = time.monotonic()
    failures = 0
    kept = _Kept(layout, probe, active)
    while state.outcome is None:
        if files.is_cancelled(layout):
            state = closed(state, "cancelled", "stopped by hand", now())
            files.clear_cancel(layout)
            files.log(layout, f"iteration {state.iteration}: the loop was stopped by hand")
            break
        if over := minutes_over(state, time.monotonic() - began):
            state = closed(state, "max_minutes", over, now())
            files.log(layout, f"iteration {state.iteration}: the loop ends, max_minutes: {over}", "WARN")
            break
        state = turns.begin(layout, probe, state, now())
        _write_prompt(layout, state)
        files.save(layout, state)
        if active is not None:
            active.renew()
            active.turn(state.iteration + 1)
        kept.begin()
        yield TurnStarted(state)
        started = time.monotonic()
        left = None if state.max_minutes is None else max(began + state.max_minutes * 60 - started, 0.0)
        reply = yield from _turn(layout, state, tool, left, active, kept)
        reply = replace(reply, elapsed=time.monotonic() - began)
        state, decision = turns.end(layout, probe, state, reply, now())
        files.save(layout, state)
        record = kept.end(reply)
        yield TurnEnded(state, decision, time.monotonic() - started, kept.totals, record)
        if decision.outcome is not None:
            continue
        failures = failures + 1 if decision.failure else 0
        pause = back_off(retry_delay, failures) if failures else 0.0
        if state.max_minutes is not None:
            pause = min(pause, began + state.max_minutes * 60 - time.monotonic())
        if pause > 0:
            files.log(layout, f"iteration {state.iteration}: waiting {pause:.3g} s, {failures} failed in a row")
            if active is not None:
                times = f"{failures} turns in a row failed" if failures > 1 else "the turn failed"
                active.waiting(Pause("retry", times, time.time() + pause))
            yield Paused(state, pause, failures)
            _wait(layout, pause)
    if layout.state.exists():
        files.finish(layout, state)
    if active is not None:
        if groups := active.end_leftovers():
            files.log(layout, f"what the agent had left running was ended: {groups} process groups")
        active.over(state.outcome or "ended")
    yield Ended(state, time.monotonic() - began, kept.totals)
    return state


class _Kept:
    """The records of one run, and their sum.

    Args:
        layout: the project.
        probe: knows its repository, if there is one.
        active: knows the run; None: nothing is written down.
    """

    def __init__(self, layout: Layout, probe: Probe, active: ActiveRun | None) -> None:
        self.totals = NO_TURNS
        self._git = probe.git
        self._tree: TreeState | None = None
        self._began = 0.0
        self.under_way = False
        """The agent runs."""
        self._records = None
        if active is not None:
            self._records = TurnRecords(layout.folder / "logs", run_id=active.run_id, tool=active.tool)

    def begin(self) -> None:
        """A turn begins."""
        self._began = time.time()
        self.under_way = True
        self._tree = self._git.look() if self._git else None

    def end(self, reply: turns.AgentReply) -> TurnRecord | None:
        """A turn is over, its checkpoint included; return its record, where there is one."""
        if reply.record is None:
            return None
        changes = self._git.changes(self._tree) if self._git else None
        count, committed = (changes.count, changes.committed) if changes else (None, None)
        record = replace(reply.record, files_changed=count, committed=committed)
        self._keep(record)
        return record

    def limited(self, record: TurnRecord) -> None:
        """A provider's limit has ended a run, which is repeated behind it."""
        self.under_way = False
        self._keep(record)

    def interrupted(self, number: int, why: str) -> None:
        """A turn ends together with the loop, unless it only waits for a limit's end."""
        if not self.under_way:
            return
        record = TurnRecord(number, self._began, 0.0, "interrupted")
        self._keep(interrupted(record, why, time.time()))

    def _keep(self, record: TurnRecord) -> None:
        self.totals = self.totals.with_turn(record)
        if self._records is not None:
            self._records.write(record)


def _turn(
    layout: Layout, state: State, tool: Tool, seconds: float | None, active: ActiveRun | None, kept: _Kept
) -> Generator[LoopEvent, None, turns.AgentReply]:
    try:
        events = tool.turn(layout, state.iteration + 1, seconds)
        with closing(events):
            while True:
                try:
                    event = next(events)
                except StopIteration as stop:
                    reply: turns.AgentReply = stop.value
                    return reply
                if isinstance(event, turns.Limited):
                    kept.limited(event.record)
                    continue
                if isinstance(event, IterationStarted | OutputText):
                    kept.under_way = True
                if isinstance(event, Notice):
                    files.log(layout, f"iteration {state.iteration + 1}: {event.text}", "WARN")
                if active is not None and isinstance(event, Waiting) and event.first:
                    active.waiting(Pause(event.reason, event.detail, event.until.timestamp()))
                elif active is not None and isinstance(event, IterationStarted | OutputText):
                    active.waiting(None)
                yield event
    except (ProgramNotFound, ProgramNotStarted, ConfigurationError) as error:
        files.log(layout, f"iteration {state.iteration + 1} could not begin: {error}", "ERROR")
        files.save(layout, replace(state, turn=None))  # it never began, so it doesn't count
        raise
    except (KeyboardInterrupt, SystemExit, GeneratorExit) as error:
        with suppress(BridgeError):
            kept.interrupted(state.iteration + 1, interruption(error)[1])
        files.log(layout, f"iteration {state.iteration + 1} is interrupted; the next start ends it", "WARN")
        raise


def _wait(layout: Layout, seconds: float) -> None:
    """Let time pass until it is over, or somebody asks for the loop's end."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and not files.is_cancelled(layout):
        time.sleep(min(left, _SLICE))


def _write_prompt(layout: Layout, state: State) -> None:
    text = files.read_text(layout.prompt)
    if text is None or not text.strip():
        raise ConfigurationError(
            f"{layout.prompt} is {'missing' if text is None else 'empty'}\n  next: write it anew"
        )
    with files.usable():
        layout.folder.mkdir(parents=True, exist_ok=True)
        write_atomic(layout.turn_prompt, turn_prompt(text, state, state.iteration + 1))
