"""One running program: commands in, results out."""

from __future__ import annotations

import functools
import os
import re
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar, cast

from bridge.adapters.channel import DRAWN, PendingCommand
from bridge.adapters.escapes import plain
from bridge.adapters.modes import mode_named
from bridge.adapters.patterns import compiled
from bridge.adapters.payload import cd_command, delivery, first_line, line_limit, refuse_incomplete, refuse_long
from bridge.adapters.program import ProgramRun
from bridge.base.options import at_most, check_options, seconds
from bridge.errors import (
    AdapterNotReady,
    BridgeError,
    ConfigurationError,
    SessionBusy,
    SessionEnded,
    ValueNotAccepted,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from bridge.adapters.integration import Script
    from bridge.adapters.program import StartOptions
    from bridge.adapters.results import Result
    from bridge.adapters.schema_model import AdapterFile

_P = ParamSpec("_P")
_R = TypeVar("_R")
_GRACE = 2.0
"""Seconds that an interrupted program has to come back to its prompt."""
_PROBE_SECONDS = 15.0
_SHOWN = 1000


def _alone(method: Callable[Concatenate[Session, _P], _R]) -> Callable[Concatenate[Session, _P], _R]:
    """Read the terminal in one thread at a time: of two, each would take a part of what the other waits for."""

    def alone(self: Session, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if not self._reading.acquire(blocking=False):
            raise SessionBusy(
                f"another thread waits for {self.adapter.name}\n"
                "  next: one session for each thread; send() may be called from any"
            )
        try:
            return method(self, *args, **kwargs)
        finally:
            self._reading.release()

    return cast("Callable[Concatenate[Session, _P], _R]", functools.wraps(method)(alone))


def _bytes(text: str, of: str) -> bytes:
    """What the terminal gets for a text; raises ConfigurationError or ValueNotAccepted for what isn't one."""
    check_options(of, {"text": text}, {"text": "str"})
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ValueNotAccepted(
            f"{of}: {text[error.start]!r} is half of a character and stands for no byte\n"
            "  next: give text, or bytes decoded with surrogateescape"
        ) from None


class Session:
    """A program that was started by :meth:`bridge.Adapter.start`. For one thread at a time: while one waits, others
    may only :meth:`send`.

    Use it as a context manager, or close it: the program, its jobs and its files go with it.
    """

    def __init__(self, adapter: AdapterFile, script: Script | None, options: StartOptions) -> None:
        """Start the program and wait until it takes commands; raises what ``Adapter.start`` raises."""
        self.adapter = adapter
        self._script = script
        self._reading = threading.RLock()
        self._options = replace(options, env=dict(os.environ if options.env is None else options.env))
        self._begin()
        self._restarted = False
        if options.probe and adapter.probe is not None:
            try:
                self._check_probe()
            except BaseException:
                self._program.abandon()
                raise

    # life

    def _begin(self) -> None:
        self._program = ProgramRun(self.adapter, self._script, self._options)
        self._channel, self._terminal = self._program.channel, self._program.terminal
        self._exchange = self._program.exchange
        self._closed = False
        self._restarted = True
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
        return not self._closed and not self._terminal.exited

    @property
    def busy(self) -> bool:
        """Whether a command has not come back to a prompt."""
        return self._channel.pending is not None

    @property
    def cwd(self) -> str | None:
        """The working folder, as far as the program announces it."""
        return self._channel.cwd

    @property
    def announcements(self) -> int:
        """How often the program has announced its working folder, its current prompt included.

        What comes with a prompt may follow the announcement of that prompt: it is waited for.
        """
        if not self.busy and not self._terminal.ended:
            self._channel.settle()
            self._channel.pump_for(0.0 if self._channel.genuine else DRAWN)
        return self._channel.cwd_announcements

    @property
    def ready_seconds(self) -> float:
        """How long the program took from its start to its first prompt."""
        return self._channel.ready_seconds

    def close(self) -> None:
        """End the program: its shutdown command, the grace that the adapter gives it, then by force."""
        if self._closed:
            return
        self._closed = True
        self._program.end()

    def restart(self) -> None:
        """End the program and start it again; its state is lost."""
        self.close()
        self._begin()

    # commands

    @_alone
    def run(self, command: str, *, timeout: float | timedelta | None = 60.0, interrupt: bool = True) -> Result:
        """Run one command, of one line or several, and wait for the prompt after it.

        Args:
            command: code of the program's language; lines end in ``\\n``, a last one is not needed.
            timeout: seconds until it is given up; None waits for ever.
            interrupt: press the adapter's interrupt key at the deadline, so that the program can be used further;
                a job of the program that doesn't heed it is ended.
                Without it the command goes on; :meth:`wait` gets its result later.

        Raises:
            SessionBusy: an earlier command has not ended.
            SessionEnded: the program is gone (and the adapter doesn't have ``restart_on: [crash]``; after a time
                without commands, ``restart_on: [idle_timeout]``).
            IncompleteInput: brackets are open; nothing was sent.
            LineTooLong: the terminal would cut a line, and the adapter has no other way in.
            ConfigurationError, ValueNotAccepted: no text, or no time limit.
        """
        _bytes(command, "run")
        timeout = seconds(timeout)
        self._ensure_usable()
        refuse_incomplete(self.adapter, command)
        exchange, folder = self._exchange, self._program.folder
        self._channel.settle()
        path, limit = folder.new_path(self.adapter), line_limit(canonical=self._terminal.state().canonical)
        payload = delivery(self.adapter, command, path, limit=limit)
        if payload.body is not None:
            folder.write(path, payload.body)
        refuse_long(self.adapter, payload.text, limit)
        file = path if payload.body is not None else None
        restarted, self._restarted = self._restarted, False
        exchange.begin(PendingCommand(command, payload, restarted=restarted, path=file))
        return self._complete(timeout, interrupt=interrupt)

    def _complete(self, timeout: float | None, *, interrupt: bool) -> Result:
        result = self._exchange.complete(timeout, interrupt=interrupt, grace=_GRACE)
        self._last_used = time.monotonic()
        return result

    @_alone
    def wait(self, timeout: float | timedelta | None = 60.0, *, interrupt: bool = False) -> Result:
        """Wait for the command that is running (one that timed out, or asked for input).

        Raises:
            SessionBusy: there is none to wait for.
        """
        timeout = seconds(timeout)
        if not self.busy:
            raise SessionBusy("no command is running\n  next: run one")
        return self._complete(timeout, interrupt=interrupt)

    def cd(self, folder: str | os.PathLike[str]) -> Result:
        """Change the program's working folder.

        Raises:
            ConfigurationError: the adapter has no cd_command, or no cd_command_quote.
        """
        check_options("cd", {"folder": folder}, {"folder": "str | os.PathLike[str]"})
        command = cd_command(self.adapter, os.path.abspath(folder))
        if command is None:
            raise ConfigurationError(
                f"adapter {self.adapter.name} can't change folders\n"
                "  next: give it capabilities.cd_command and cd_command_quote"
            )
        return self.run(command)

    # the probe

    def probe(self) -> bool:
        """Whether the adapter's probe gives what it should."""
        return self._probe_failure() is None

    def _probe_failure(self) -> str | None:
        probe = self.adapter.probe
        if probe is None:
            return None
        try:
            result = self.run(probe.eval, timeout=_PROBE_SECONDS)
            output = plain(result.output).strip()
            printed = f"printed: {output[-_SHOWN:]!r}"
            if result.timed_out:
                return f"it did not end within {_PROBE_SECONDS:g} s\n  {printed}"
            if result.ended_by == "exit":
                return f"the program ended with status {result.exit_code}\n  {printed}"
            if compiled(probe.expect, dotall=True).search(output) is None:
                return f"{printed}\n  expected: output that matches {probe.expect!r}"
        except re.error as error:
            return f"{probe.expect!r} is not a valid regular expression: {error}"
        except BridgeError as error:
            return str(error).partition("\n")[0]
        return None

    def _check_probe(self) -> None:
        listener, self._channel.listener = self._channel.listener, None
        try:
            failure = self._probe_failure()
        finally:
            self._channel.listener = listener
        if failure is not None:
            command = self.adapter.probe.eval.strip() if self.adapter.probe is not None else ""
            raise AdapterNotReady(
                f"the probe of {self.adapter.name} failed: {command}\n  {failure}\n"
                "  next: ralph-bridge adapter test shows the same; correct the file, or start without its probe"
            )

    # keys

    def send(self, text: str | bytes) -> None:
        """Write to the program as if typed; for a command that asks for input. Ends with the caller's own Enter."""
        self._channel.send(text if isinstance(text, bytes) else _bytes(text, "send"))

    @_alone
    def interrupt(self, *, timeout: float | timedelta | None = _GRACE) -> bool:
        """Press the interrupt key; whether the program is at its prompt within `timeout` seconds.

        Raises:
            ConfigurationError: the adapter has no safe key.
        """
        if self.adapter.signals.interrupt is None:
            raise ConfigurationError(
                f"adapter {self.adapter.name} has no interrupt key (signals.interrupt is null)\n"
                "  next: close the session"
            )
        return self._exchange.interrupt(at_most(timeout))

    @_alone
    def eof(self) -> None:
        """Press the end-of-file key; does nothing when the adapter has none."""
        if self.adapter.signals.eof:
            if self._channel.pending is None:
                # One that is pressed while the terminal isn't the program's yet means nothing to it later.
                self._exchange.await_read()
            self.send(self.adapter.signals.eof)

    @_alone
    def suspend(self, *, timeout: float | timedelta | None = _GRACE) -> bool:
        """Press the suspend key; whether the program is at its prompt within `timeout` seconds."""
        if not self.adapter.signals.suspend:
            raise ConfigurationError(f"adapter {self.adapter.name} has no suspend key (signals.suspend is null)")
        return self._exchange.press(self.adapter.signals.suspend, at_most(timeout))

    @property
    def mode(self) -> str | None:
        """The mode that the program was in at its last prompt; None for adapters without modes."""
        return self._channel.mode.name

    @property
    def level(self) -> int | None:
        """How deep that mode was nested; None where that has no meaning."""
        return self._channel.mode.level

    @_alone
    def enter(self, mode: str, *, timeout: float | timedelta | None = _GRACE) -> bool:
        """Press the key that enters a mode; whether its prompt is there within `timeout` seconds.

        Raises:
            ConfigurationError: there is no such mode, or it has no `enter_key`.
        """
        self._ensure_usable()
        found = mode_named(self.adapter.modes, mode)
        if found is None or not found.enter_key:
            problem = "has no mode" if found is None else "has no enter_key for mode"
            names = ", ".join(each.name for each in self.adapter.modes if each.enter_key) or "none"
            raise ConfigurationError(
                f"adapter {self.adapter.name} {problem} {mode!r}\n  modes with an enter_key: {names}"
            )
        self._channel.settle()
        return self._exchange.switch(found.enter_key, mode, at_most(timeout))

    @_alone
    def leave(self, *, timeout: float | timedelta | None = _GRACE) -> bool:
        """Leave the current mode by its `exit_key` or its exit commands, nested modes one after the other.

        Whether the program is in its default mode in the end; `timeout` are the seconds for each step.
        """
        self._ensure_usable()
        return self._exchange.leave_modes(at_most(timeout))

    @_alone
    def collect(self, seconds: float | timedelta | None) -> str:
        """Output that belongs to no command and comes within `seconds`."""
        return self._exchange.collect(at_most(seconds, "seconds"))

    def interact(self, keyboard: int, screen: int) -> int | None:
        """Hand the program to the user's terminal until it ends; its exit status.

        Args:
            keyboard: descriptor to read; a terminal is put into raw mode meanwhile.
            screen: descriptor to write.
        """
        from bridge.adapters.interact import interact

        return interact(self._channel, keyboard, screen)

    # checks

    def _ensure_usable(self) -> None:
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
        if (pending := self._channel.pending) is not None and pending.asks:
            self._exchange.interrupt(_GRACE)  # nobody answered
        if (pending := self._channel.pending) is not None and pending.incomplete and "crash" in restart_on:
            # Nothing runs that could be lost, and there is no way back.
            self._program.abandon()
            self._begin()
        if (pending := self._channel.pending) is not None:
            raise SessionBusy(
                f"{self.adapter.name} is still busy with {first_line(pending.text)}\n"
                "  next: wait() for it, or interrupt() it"
            )

    def _is_idle(self) -> bool:
        """Whether the program was left alone for too long, or has ended because it was (TMOUT of shells)."""
        if self.busy:
            return False
        if self._terminal.ended:
            return self._terminal.status == 0
        limit = self._options.idle_timeout
        return limit is not None and time.monotonic() - self._last_used > limit
