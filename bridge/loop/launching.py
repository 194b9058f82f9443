"""From what the agent is told to a run of its CLI: the driver's command, the live filter, the process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.errors import HookError, ProgramNotFound, ProgramNotStarted
from bridge.loop.commands import denial_help, prepare_command, stdin_of
from bridge.loop.turn import Turn, live_filter, not_started
from bridge.process.argv import check_sizes, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from bridge.loop.events import LoopEvent
    from bridge.loop.options import LoopSettings
    from bridge.loop.ports import LoopDriver, RunLogs, Store
    from bridge.loop.turn import Run

__all__ = ["Launcher"]


class Launcher:
    """Starts the runs of one loop. The first one shows that the driver and the CLI work at all: what fails then
    is raised; what worked before and fails later is a failed run, no more.

    Args:
        driver: the tool.
        settings: the loop's.
        store: is told of each process and each event.
    """

    def __init__(self, driver: LoopDriver, settings: LoopSettings, store: Store) -> None:
        self._driver = self.reviewer = driver
        self._settings = settings
        self._store = store
        self._show: Callable[[bytes], bytes] | None = None
        self._filtered = False

    def supports_sessions(self) -> bool:
        """Say whether runs can be resumed."""
        return self._driver.supports_sessions()

    def recover_session_id(self, output_file: str) -> str | None:
        """Return the session id in a run's output."""
        return self._driver.recover_session_id(output_file)

    def denial_help(self) -> str:
        """Say what can be done about refused tools."""
        return denial_help(self._driver)

    def command(self, context: str, session: str | None, *, first: bool) -> tuple[list[str], bool, str]:
        """Let the driver build the command; return it, whether it is the live form, and why it is broken or ''.

        What the system would refuse to start is found out here, before anybody is told that it has started.

        Raises:
            bridge.errors.HookError: a hook of the driver failed, in the first run.
            bridge.errors.ProgramNotFound, ProgramNotStarted: the program is not there, in the first run.
            bridge.errors.ArgumentTooLong: the system would refuse the command line.
            bridge.errors.ConfigurationError: it built no command.
        """
        try:
            argv, live = prepare_command(self._driver, self._settings, context=context, session_id=session)
            env = os.environ if self._settings.env is None else self._settings.env
            check_sizes(resolve(argv, cwd=self._settings.project, env=env), env)
        except (HookError, ProgramNotFound, ProgramNotStarted) as error:
            if first:
                raise
            # The CLI was there before, and may be again: CLIs replace themselves when they update.
            return [], False, str(error) if isinstance(error, HookError) else _first_line(error)
        return argv, live, ""

    def run(
        self, iteration: int, argv: list[str], logs: RunLogs, *, live: bool, timeout: float | None
    ) -> Generator[LoopEvent, None, Run]:
        """Run the command that was built last; yields what happens, returns how it ended.

        Raises:
            bridge.errors.ProgramNotFound, ProgramNotStarted: in the first run.
            bridge.errors.BridgeError: a file can't be written, the process doesn't end.
        """
        if live and not self._filtered:
            self._show = yield from live_filter(self._driver.stream_filter)
            self._filtered = True
        show = (self._show or (lambda _line: b"")) if live else None
        turn = Turn(self._settings, self._store, iteration, show)
        events = turn.run(argv, logs, stdin=stdin_of(self._driver), timeout=timeout)
        try:
            while True:
                event = next(events)
                self._store.record(event)
                yield event
        except StopIteration as stop:
            run: Run = stop.value
            return run
        except (ProgramNotFound, ProgramNotStarted) as error:
            if iteration == 1:
                raise
            return not_started(_first_line(error))
        finally:
            events.close()


def _first_line(error: BaseException) -> str:
    """What is wrong; the lines behind it say what to do."""
    return str(error).split("\n", 1)[0]
