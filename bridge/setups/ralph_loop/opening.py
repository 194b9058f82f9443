"""A session as a stream of the same events as every other loop's."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.loop.events import IterationEnded, IterationStarted, LoopEnded, Notice, OutputText, Waiting
from bridge.loop.policy import LoopState, Verdict
from bridge.loop.turn_records import Totals
from bridge.setups.ralph_loop import decide
from bridge.setups.ralph_loop.arguments import LOOP_MODES, Refusal, Request, parse
from bridge.setups.ralph_loop.events import Display, Ended, HookText
from bridge.setups.ralph_loop.events import Notice as SessionNotice
from bridge.setups.ralph_loop.preflight import default_mode
from bridge.setups.ralph_loop.runner import run_session
from bridge.setups.ralph_loop.start import Options, ready

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from bridge.agent import Agent
    from bridge.loop.active import ActiveRun
    from bridge.loop.events import LoopEvent
    from bridge.setups.model import Setup
    from bridge.setups.ralph_loop.events import SessionEvent
    from bridge.setups.ralph_loop.session import Session

__all__ = ["Opened", "open_loop", "request_of"]


@dataclass(frozen=True, slots=True)
class Opened:
    """A session that may start."""

    agent: Agent
    session: Session
    active: ActiveRun | None

    def events(self) -> Generator[LoopEvent, None, None]:
        """Run it.

        Raises:
            KeyboardInterrupt, SystemExit: it came while the session ran; the summary is written.
        """
        yield from _as_loop_events(run_session(self.agent, self.session, self.active))


@contextmanager
def open_loop(setup: Setup, request: Request, options: Options, tell: Callable[[str], None]) -> Iterator[Opened]:
    """Check everything, load the agent and take the lock, all of which is let go of when the block ends.

    Args:
        setup: where.
        request: a loop mode with its words.
        options: see there.
        tell: gets what sourced files print.

    Raises:
        bridge.errors.BridgeError: see :func:`bridge.setups.ralph_loop.start.ready`.
    """

    def told(text: HookText) -> None:
        tell(text.text.rstrip("\n"))

    with ready(setup.home, setup.project, request, options, told) as (agent, session, active):
        yield Opened(agent, session, active)


def request_of(
    setup: Setup, words: Sequence[str] = (), *, prompt: str | None = None, max_iterations: int | None = None
) -> Request:
    """Read what is asked for.

    Args:
        setup: where.
        words: of the controller's command line; none: build when there is a plan with tasks, else plan.
        prompt: a prompt file, as the project sees it, instead of words.
        max_iterations: wins over the words.

    Raises:
        ConfigurationError: the words make no sense, or ask for no loop.
    """
    if prompt is not None and words:
        raise ConfigurationError("a prompt and words exclude each other\n  next: give one of them")
    request = parse([*words] or (["prompt", prompt] if prompt is not None else [default_mode(setup.home)]))
    if isinstance(request, Refusal) or request.mode not in LOOP_MODES:
        why = request.message if isinstance(request, Refusal) else ""
        why = why or f"{' '.join(words)!r} asks for no loop"
        raise ConfigurationError(f"{why}\n  next: one of {', '.join(LOOP_MODES)}, and what they take")
    return request if max_iterations is None else replace(request, iterations=str(max_iterations))


def _as_loop_events(events: Generator[SessionEvent, None, None]) -> Generator[LoopEvent, None, None]:
    """The lines of the log stay in the log, whose path the events have."""
    began, turn, totals = time.monotonic(), 0, Totals()
    try:
        for event in events:
            match event:
                case Display() | HookText(error=False):
                    yield OutputText(turn, event.text)
                case SessionNotice() | HookText():
                    yield Notice(event.text.rstrip("\n"))
                case IterationStarted():
                    turn = event.iteration
                    yield event
                case IterationEnded():
                    totals = totals if event.turn is None else totals.with_turn(event.turn)
                    yield event
                case Waiting():
                    yield event
                case Ended():
                    if event.signal is not None:
                        raise event.signal
                    complete = event.reason == decide.ENDED_COMPLETE.reason
                    verdict = Verdict.COMPLETE if complete else Verdict.INCOMPLETE
                    seconds = time.monotonic() - began
                    state = LoopState(iteration=turn)
                    yield LoopEnded(verdict, event.reason, event.reason, turn, seconds, state, totals)
    finally:
        events.close()
