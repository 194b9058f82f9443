"""What the engine needs of others: the tool, the project's files, the time. Protocols only."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path

    from bridge.loop.decide import State
    from bridge.loop.events import LoopEvent
    from bridge.loop.plan import Plan
    from bridge.loop.turn import Run

__all__ = ["Clock", "LoopDriver", "RunLogs", "Store", "Tool", "WallClock"]


class LoopDriver(Protocol):
    """What the loop needs of a :class:`bridge.Driver`."""

    def build_command(self, prompt_file: str, loop_context: str = "", session_id: str = "") -> list[str]:
        """Return the command for one run."""

    def prepare_live_command(self) -> list[str]:
        """Return the live form of the command that was built last."""

    def supports_sessions(self) -> bool:
        """Say whether runs can be resumed."""

    def supports_live_output(self) -> bool:
        """Say whether events come while the CLI runs."""

    def stream_filter(self) -> str:
        """Return the jq program that turns events into text."""

    def recover_session_id(self, output_file: str) -> str | None:
        """Return the session id in a run's output."""

    def set(self, name: str, value: str) -> object:
        """Set a global of the script."""


class Tool(Protocol):
    """What runs the turns of one loop: a driver's CLI (:class:`bridge.loop.launching.Launcher`), or an agent script
    (:class:`bridge.loop.agent_turns.AgentTurns`)."""

    @property
    def reviewer(self) -> LoopDriver | None:
        """What can review the work between two turns, or None."""

    def supports_sessions(self) -> bool:
        """Say whether turns can be resumed."""

    def recover_session_id(self, output_file: str) -> str | None:
        """Return the session id in a turn's output."""

    def denial_help(self) -> str:
        """Say what can be done about refused tools; '' without advice."""

    def command(self, context: str, session: str | None, /, *, first: bool) -> tuple[list[str], bool, str]:
        """Make ready for a turn; return the command, whether output comes live, and why it can't be run or ''."""

    def run(
        self, iteration: int, argv: list[str], logs: RunLogs, /, *, live: bool, timeout: float | None
    ) -> Generator[LoopEvent, None, Run]:
        """Run the turn that was made ready last, for so many seconds at most; yields what happens, returns how it
        ended."""


class RunLogs(NamedTuple):
    """Files for one run: its stdout, its stderr, and the whole stream of a live run, if that is kept."""

    output: Path
    stderr: Path
    stream: Path | None = None


class Store(Protocol):
    """The project's files, as one kind of setup keeps them.

    The engine tells it everything (:meth:`record` gets each event before anyone else does), and asks it for what
    other programs, or an earlier run of the loop, may have put there.
    """

    def begin(self) -> Iterable[str]:
        """Take hold of the project; return what people should be told."""

    def load(self, state: State) -> tuple[State, Iterable[str]]:
        """Put into the state what the files say before a run, and tell what was wrong with them."""

    def read_plan(self) -> Plan | None:
        """Return the fix plan as it lies on disk."""

    def new_logs(self, iteration: int) -> RunLogs:
        """Return names for the logs of a run that no earlier run has used."""

    def agent(self, pid: int | None) -> None:
        """Note the CLI's process; None: it has ended."""

    def show(self, data: bytes) -> None:
        """Take what a run prints, as it comes: the filtered text of a live run, else its raw output."""

    def record(self, event: LoopEvent) -> None:
        """Write down what follows from an event."""

    def end(self) -> None:
        """Let go of the project. Called however the loop ends, when `begin` was."""


class Clock(Protocol):
    """The time, and the passing of it. Tests have one of their own."""

    def now(self) -> datetime:
        """Return the local time, with its zone."""

    def monotonic(self) -> float:
        """Return seconds that only grow."""

    def wait(self, seconds: float) -> None:
        """Wait; a signal's exception ends the wait."""


class WallClock:
    """The real one."""

    def now(self) -> datetime:
        """Return the local time, with its zone."""
        return datetime.now().astimezone()

    def monotonic(self) -> float:
        """Return seconds that only grow."""
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        """Sleep; a signal's exception ends the sleep."""
        time.sleep(seconds)
