"""The outer loop of a project, ready to run: the project held, the state prepared, the tool loaded."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.loop.events import IterationEnded, IterationStarted, LoopEnded, Notice, Waiting
from bridge.loop.outcome import Outcome
from bridge.loop.policy import Decision, Verdict
from bridge.loop.policy import LoopState as EngineState
from bridge.loop.turn_records import Totals, TurnRecord
from bridge.resources import os_text
from bridge.setups.projects import other_folders
from bridge.setups.wiggum.files import FILES, usable
from bridge.setups.wiggum.outer import RETRY_DELAY, Ended, Paused, TurnEnded, TurnStarted, run_outer
from bridge.setups.wiggum.policy import EXIT_CODES
from bridge.setups.wiggum.start import prepare
from bridge.setups.wiggum.state import ENV_MAX_ITERATIONS, ENV_PROMISE, read_environment
from bridge.setups.wiggum.store import log_names
from bridge.setups.wiggum.tools import TURN_MINUTES

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from bridge.git.work import Probe
    from bridge.loop.active import ActiveRun
    from bridge.loop.events import LoopEvent
    from bridge.loop.turn_records import Result
    from bridge.setups.wiggum.files import Layout
    from bridge.setups.wiggum.outer import OuterEvent
    from bridge.setups.wiggum.start import Request
    from bridge.setups.wiggum.state import EnvironmentDefaults, State
    from bridge.setups.wiggum.tools import AgentTool, DriverTool


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """How the tool is run.

    Attributes:
        live: show events as they come, where a driver can.
        timeout: seconds that a turn may take.
        retry_delay: seconds to wait after the first failed turn.
        settings: globals for the script.
    """

    live: bool = True
    timeout: float = TURN_MINUTES * 60
    retry_delay: float = RETRY_DELAY
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OuterLoop:
    """A loop that may start, or that is over because there is nothing left to do.

    Attributes:
        layout: the project.
        probe: tells whether a turn changed files.
        active: holds the project's lock and record.
        state: where the loop stands.
        name: of the tool, such as ``driver codex``.
        tool: runs the agent.
        retry_delay: seconds to wait after the first failed turn.
    """

    layout: Layout
    probe: Probe
    active: ActiveRun
    state: State
    name: str
    tool: DriverTool | AgentTool
    retry_delay: float

    def outer_events(self) -> Generator[OuterEvent, None, State]:
        """Run it; see :func:`bridge.setups.wiggum.outer.run_outer`."""
        return run_outer(
            self.layout, self.probe, self.state, self.tool, retry_delay=self.retry_delay, active=self.active
        )

    def events(self) -> Generator[LoopEvent, None, None]:
        """Run it, told in the events that every other loop has, too."""
        return _as_loop_events(self.layout, self.outer_events())


@contextmanager
def open_outer(
    layout: Layout,
    request: Request,
    wanted: ToolOptions,
    tell: Callable[[str], None],
    *,
    probe: Probe | None = None,
    command: Sequence[str] | None = None,
) -> Iterator[OuterLoop]:
    """Take the project's lock, prepare the state and load the tool, all of which is let go of when the block ends.

    Args:
        layout: the project.
        request: what is asked for.
        wanted: how the tool is run.
        tell: gets what people should know of it.
        probe: tells whether a turn changed files; None: a new one.
        command: for whoever finds the project busy; None: this process's own.

    Raises:
        bridge.errors.ProjectBusy: another loop is at work there.
        bridge.errors.LoopRefused, bridge.errors.ConfigurationError: see :func:`bridge.setups.wiggum.start.prepare`.
        bridge.errors.BridgeError: the tool can't be loaded.
    """
    from bridge.git.work import Probe
    from bridge.loop.active import ActiveRun

    probe = probe or Probe(layout.project, FILES)
    with usable():
        layout.folder.mkdir(parents=True, exist_ok=True)
    command = sys.argv if command is None else command
    others = other_folders(layout.folder, layout.project)
    with ExitStack() as stack:
        run = ActiveRun(layout.folder, layout.project, command=command, tool=request.tool or "", others=others)
        active = stack.enter_context(run)
        for notice in active.notices:
            tell(notice)
        # What was asked for by name first: a name that leads nowhere shall leave no loop behind.
        tool = _tool(stack, layout, request.tool, wanted, tell) if request.tool else None
        prepared = prepare(layout, probe, request, datetime.now(UTC))
        for notice in prepared.notices:
            tell(notice)
        name = request.tool or prepared.state.tool or "driver claude-code"
        if tool is None:
            active.uses(name)
            tool = _tool(stack, layout, name, wanted, tell)
        yield OuterLoop(layout, probe, active, prepared.state, name, tool, wanted.retry_delay)


def environment_defaults(most: int | None, promise: str | None) -> EnvironmentDefaults:
    """What the environment says of those limits that nobody has given.

    Raises:
        ConfigurationError: it says what makes no sense.
    """
    beside = {ENV_MAX_ITERATIONS: most, ENV_PROMISE: promise}
    found = read_environment({name: os_text(os.environ.get(name, "")) for name in beside if beside[name] is None})
    if found.wrong:
        raise ConfigurationError(f"{found.wrong[0]}\n  next: put the variable right, or unset it")
    return found


def _tool(
    stack: ExitStack, layout: Layout, name: str, wanted: ToolOptions, tell: Callable[[str], None]
) -> DriverTool | AgentTool:
    from bridge.loop.night import night
    from bridge.setups.plain.opening import agent_of, driver_of
    from bridge.setups.wiggum.tools import AgentTool, DriverTool

    waits = night(os.environ)
    kind, _, script = name.partition(" ")
    folder, settings = layout.project, dict(wanted.settings)
    if kind == "agent":
        agent = agent_of(folder, script, settings, timeout=waits.hook_seconds)
        return AgentTool(agent=stack.enter_context(agent), timeout=wanted.timeout, night=waits)
    driver = stack.enter_context(driver_of(folder, script, settings, tell))
    return DriverTool(driver=driver, live=wanted.live, timeout=wanted.timeout, night=waits)


def _as_loop_events(layout: Layout, events: Generator[OuterEvent, None, State]) -> Generator[LoopEvent, None, None]:
    totals = Totals()
    with closing(events):
        for event in events:
            match event:
                case IterationStarted():  # of the engine within a turn, which may start more than once
                    continue
                case TurnStarted():
                    before = event.state.iteration
                    log = log_names(layout, before + 1, 0).output
                    yield IterationStarted(before + 1, (), None, True, None, log, EngineState(iteration=before))
                case TurnEnded():
                    yield from map(Notice, event.decision.warnings)
                    ended, turn = _turn_ended(layout, event)
                    totals = totals.with_turn(turn)
                    yield ended
                case Paused():
                    until = datetime.now().astimezone() + timedelta(seconds=event.seconds)
                    number, times = event.state.iteration, event.failures
                    detail = f"{times} turns in a row failed" if times > 1 else "the turn failed"
                    state = EngineState(iteration=number, failures=times)
                    yield Waiting(number, "retry", detail, until, event.seconds, True, state)
                case Ended():
                    over, number = event.state, event.state.iteration
                    verdict = Verdict.COMPLETE if over.exit_code == 0 else Verdict.INCOMPLETE
                    reason, seconds = over.outcome or "ended", event.seconds
                    yield LoopEnded(verdict, reason, over.reason, number, seconds, EngineState(number), totals)
                case _:
                    yield event


def _turn_ended(layout: Layout, event: TurnEnded) -> tuple[IterationEnded, TurnRecord]:
    number, decision, failure = event.state.iteration, event.decision, event.decision.failure
    turn = event.record
    if turn is None:
        result: Result = "failed" if failure else "success"
        turn = TurnRecord(number, time.time() - event.seconds, event.seconds, result, error=failure)
    timed_out = turn.result == "timeout"
    outcome = Outcome(turn.status or 0, timed_out=timed_out, is_error=bool(failure), error=failure)
    verdict = Verdict.CONTINUE
    if decision.outcome is not None:
        verdict = Verdict.INCOMPLETE if EXIT_CODES[decision.outcome] else Verdict.COMPLETE
    after = EngineState(iteration=number)
    follows = Decision(verdict, decision.outcome or "", decision.reason)
    log = layout.project / turn.log if turn.log else layout.log
    return IterationEnded(number, outcome, follows, event.seconds, log, after, turn=turn), turn
