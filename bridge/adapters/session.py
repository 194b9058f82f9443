"""One running program: commands in, results out."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Self

from bridge.adapters.admission import line_limit, refuse_incomplete, refuse_long, short
from bridge.adapters.life import Life, Options
from bridge.adapters.line import DRAWN, Command
from bridge.adapters.modes import mode_named
from bridge.adapters.payload import cd_command, delivery
from bridge.adapters.probing import check_probe, probe_failure
from bridge.errors import ConfigurationError, SessionBusy, SessionEnded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.adapters.model import AdapterFile
    from bridge.adapters.result import Result
    from bridge.adapters.starting import Script

__all__ = ["COLUMNS", "Session"]

COLUMNS = 8192
"""Width of the terminal: line editors wrap what is longer, and then move the cursor about."""
ROWS = 50
_GRACE = 2.0
"""Seconds that an interrupted program has to come back to its prompt."""


class Session:
    """A program that was started by :meth:`bridge.Adapter.start`. Not for several threads.

    Use it as a context manager, or close it: the program, its jobs and its files go with it.
    """

    def __init__(
        self,
        adapter: AdapterFile,
        script: Script | None,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        columns: int = COLUMNS,
        rows: int = ROWS,
        ready_timeout: float = 30.0,
        output_limit: int = 32 * 1024 * 1024,
        listener: Callable[[bytes], None] | None = None,
        idle_timeout: float | None = None,
        probe: bool = False,
    ) -> None:
        """Start the program and wait until it takes commands; the parameters are those of ``Adapter.start``."""
        self.adapter = adapter
        self._script = script
        self._options = Options(
            folder=cwd or os.path.expanduser("~"),
            env=dict(os.environ if env is None else env),
            size=(rows, columns),
            ready_timeout=ready_timeout,
            output_limit=output_limit,
            listener=listener,
        )
        self._idle_timeout = idle_timeout
        self._last_used = time.monotonic()
        self._restarted = False
        self._closed = True
        self._begin()
        if probe and adapter.probe is not None:
            try:
                check_probe(self, self._life.stream)
            except BaseException:
                self._life.abandon()
                raise

    # life

    def _begin(self) -> None:
        self._life = Life(self.adapter, self._script, self._options)
        self._place, self._terminal, self._line = self._life.place, self._life.terminal, self._life.line
        self._exchange = self._life.exchange
        self._closed = False
        self._last_used = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self._terminal.pid

    @property
    def alive(self) -> bool:
        """Whether the program still runs."""
        return not self._closed and not self._terminal.ended

    @property
    def busy(self) -> bool:
        """Whether a command has not come back to a prompt."""
        return self._line.pending is not None

    @property
    def cwd(self) -> str | None:
        """The working folder, as far as the program announces it."""
        return self._line.cwd

    @property
    def announcements(self) -> int:
        """How often the program has announced its working folder.

        What it says with the prompt that stands is counted: it may come behind the announcement of that prompt.
        """
        if self._line.pending is None and not self._terminal.ended:
            self._line.settle()
            self._line.pump_for(0.0 if self._line.genuine else DRAWN)
        return self._line.announcements

    @property
    def ready_seconds(self) -> float:
        """How long the program took from its start to its first prompt."""
        return self._line.ready_seconds

    def close(self) -> None:
        """End the program: its shutdown command, the grace that the adapter gives it, then by force."""
        if self._closed:
            return
        self._closed = True
        self._life.end()

    def restart(self) -> None:
        """End the program and start it anew; what it knew is lost."""
        self.close()
        self._begin()
        self._restarted = True

    # commands

    def run(self, command: str, *, timeout: float | None = 60.0, interrupt: bool = True) -> Result:
        """Run one command, of one line or several, and wait for the prompt behind it.

        Args:
            command: code of the program's language; lines end in ``\\n``, a last one is not needed.
            timeout: seconds until it is given up; None waits for ever.
            interrupt: press the adapter's interrupt key at the deadline, so that the program can be used further;
                a job of the program that doesn't heed it is ended.
                Without it the command goes on; :meth:`wait` gets its result later.

        Raises:
            SessionBusy: an earlier command has not ended.
            SessionEnded: the program is gone (and the adapter doesn't say ``restart_on: [crash]``; after a time
                without commands, ``restart_on: [idle_timeout]``).
            IncompleteInput: brackets are open; nothing was sent.
            LineTooLong: the terminal would cut a line, and the adapter has no other way in.
        """
        self._usable()
        refuse_incomplete(self.adapter, command)
        exchange = self._exchange
        self._line.settle()
        path = self._place.new(self.adapter)
        payload = delivery(self.adapter, command, path, limit=self._limit())
        if payload.body is not None:
            self._place.write(path, payload.body)
        refuse_long(self.adapter, payload.text, self._limit())
        state = Command(
            command, payload, restarted=self._restarted, path=path if payload.body is not None else None
        )
        self._restarted = False
        exchange.begin(state)
        return self._finish(timeout, interrupt=interrupt)

    def _finish(self, timeout: float | None, *, interrupt: bool) -> Result:
        result = self._exchange.complete(timeout, interrupt=interrupt, grace=_GRACE)
        self._last_used = time.monotonic()
        return result

    def wait(self, timeout: float | None = 60.0, *, interrupt: bool = False) -> Result:
        """Wait for the command that is running (one that timed out, or asked for input).

        Raises:
            SessionBusy: there is none to wait for.
        """
        if self._line.pending is None:
            raise SessionBusy("no command is running\n  next: run one")
        return self._finish(timeout, interrupt=interrupt)

    def probe(self) -> bool:
        """Whether the adapter's probe gives what it should."""
        return self.adapter.probe is None or probe_failure(self) is None

    def cd(self, folder: str | os.PathLike[str]) -> Result:
        """Change the program's working folder.

        Raises:
            ConfigurationError: the adapter has no cd_command, or doesn't say how to quote.
        """
        command = cd_command(self.adapter, os.path.abspath(folder))
        if command is None:
            raise ConfigurationError(
                f"adapter {self.adapter.name} can't change folders\n"
                "  next: give it capabilities.cd_command and cd_command_quote"
            )
        return self.run(command)

    # keys

    def send(self, text: str | bytes) -> None:
        """Write to the program as if typed; for a command that asks for input. Ends with the caller's own Enter."""
        self._terminal.write(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))

    def interrupt(self, *, timeout: float = _GRACE) -> bool:
        """Press the interrupt key; whether the program is at its prompt within `timeout` seconds.

        Raises:
            ConfigurationError: the adapter says that there is no safe key.
        """
        if self.adapter.signals.interrupt is None:
            raise ConfigurationError(
                f"adapter {self.adapter.name} has no interrupt key (signals.interrupt is null)\n"
                "  next: close the session"
            )
        return self._exchange.interrupt(timeout)

    def eof(self) -> None:
        """Press the end-of-file key; does nothing when the adapter has none."""
        if self.adapter.signals.eof:
            self.send(self.adapter.signals.eof)

    def suspend(self, *, timeout: float = _GRACE) -> bool:
        """Press the suspend key; whether the program is at its prompt within `timeout` seconds."""
        if not self.adapter.signals.suspend:
            raise ConfigurationError(f"adapter {self.adapter.name} has no suspend key (signals.suspend is null)")
        return self._exchange.press(self.adapter.signals.suspend, timeout)

    @property
    def mode(self) -> str | None:
        """The mode that the program was in at its last prompt; None for adapters without modes."""
        return self._line.mode.name

    def enter(self, mode: str, *, timeout: float = _GRACE) -> bool:
        """Press the key that enters a mode; whether its prompt is there within `timeout` seconds.

        Raises:
            ConfigurationError: there is no such mode, or the adapter gives it no `enter_key`.
        """
        self._usable()
        found = mode_named(self.adapter.modes, mode)
        if found is None or not found.enter_key:
            why = "has no mode" if found is None else "gives no enter_key to mode"
            names = ", ".join(each.name for each in self.adapter.modes if each.enter_key) or "none"
            raise ConfigurationError(
                f"adapter {self.adapter.name} {why} {mode!r}\n  modes with an enter_key: {names}"
            )
        self._line.settle()
        return self._life.modes.switch(found.enter_key, mode, timeout)

    def leave(self, *, timeout: float = _GRACE) -> bool:
        """Leave the mode that the program is in, by its `exit_key` or its exit commands.

        Modes that are nested are left one after the other. Whether the program is in its default mode in the end.

        Args:
            timeout: seconds for each step.
        """
        self._usable()
        return self._life.modes.leave(timeout)

    def collect(self, seconds: float) -> str:
        """Output that belongs to no command and comes within `seconds`."""
        return self._exchange.collect(seconds)

    def interact(self, keyboard: int, screen: int) -> int | None:
        """Give the program to somebody at a terminal until it ends; its exit status.

        Args:
            keyboard: descriptor that is read; it is put into raw mode meanwhile when it is a terminal.
            screen: descriptor that is written.
        """
        from bridge.adapters.interact import interact

        return interact(self._terminal, self._life.stream, self._line.greeting, keyboard, screen)

    # checks

    def _usable(self) -> None:
        if self._closed:
            raise SessionEnded(f"the session of {self.adapter.name} is closed\n  next: start a new one")
        self._exchange.look()
        restart_on = self.adapter.lifecycle.restart_on
        if "idle_timeout" in restart_on and self._is_idle():
            self.restart()
        if self._terminal.ended:
            if "crash" not in restart_on:
                raise SessionEnded(
                    f"{self.adapter.name} has ended (status {self._terminal.status})\n  next: restart() the session"
                )
            self.restart()
        if self._line.pending is not None and self._line.pending.asks:
            self._exchange.interrupt(_GRACE)  # nobody answered
        stuck = self._line.pending is not None and self._line.pending.incomplete
        if stuck and "crash" in self.adapter.lifecycle.restart_on:
            # Nothing runs that could be lost, and there is no way back.
            self._life.abandon()
            self._begin()
            self._restarted = True
        if self._line.pending is not None:
            command = self._line.pending.command
            raise SessionBusy(
                f"{self.adapter.name} is still busy with {short(command)}\n  next: wait() for it, or interrupt() it"
            )

    def _is_idle(self) -> bool:
        """Whether the program was left alone for too long, or has ended because it was (TMOUT of shells)."""
        if self._line.pending is not None:
            return False
        if self._terminal.ended:
            return self._terminal.status == 0
        return self._idle_timeout is not None and time.monotonic() - self._last_used > self._idle_timeout

    def _limit(self) -> int | None:
        return line_limit(canonical=self._terminal.state().canonical)
