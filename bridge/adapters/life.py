"""One life of a session's program: its start with all that it needs, and its end with all that it left."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, NamedTuple

from bridge.adapters.exchange import Exchange
from bridge.adapters.line import Line
from bridge.adapters.mode_switch import ModeSwitch
from bridge.adapters.readiness import Readiness
from bridge.adapters.starting import Place, announcement_number, patterns, plan
from bridge.adapters.stream import Stream
from bridge.adapters.terminal import Terminal
from bridge.errors import AdapterNotReady

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.adapters.model import AdapterFile
    from bridge.adapters.starting import Script

__all__ = ["Life", "Options"]

_LEAVING = 0.5
"""Seconds that a program has to leave a mode before it is told to end."""


class Options(NamedTuple):
    """How a program is started; those of ``Adapter.start``.

    Attributes:
        folder: where it starts.
        env: what it inherits from.
        size: rows and columns of its terminal.
        ready_timeout: seconds to its first prompt.
        output_limit: bytes of one command's output that are kept.
        listener: is given what it prints.
    """

    folder: str
    env: Mapping[str, str]
    size: tuple[int, int]
    ready_timeout: float
    output_limit: int
    listener: Callable[[bytes], None] | None


class Life:
    """A program that runs, from its first prompt on."""

    def __init__(self, adapter: AdapterFile, script: Script | None, options: Options) -> None:
        """Start the program and wait until it takes commands; raises what ``Adapter.start`` raises."""
        self.adapter = adapter
        self.place = Place()
        rows, columns = options.size
        try:
            started = plan(adapter, script, self.place, options.env)
            self.terminal = Terminal(
                started.argv,
                env=started.env,
                cwd=options.folder,
                rows=rows,
                columns=columns,
                folder=self.place.path,
            )
        except BaseException:
            self.place.remove()
            raise
        self.stream = Stream(
            self.terminal,
            nonce=started.nonce,
            number=announcement_number(adapter),
            limit=options.output_limit,
            listener=options.listener,
        )
        osc, primary, continuation = patterns(adapter, script)
        self.line = Line(
            adapter,
            self.stream,
            osc=osc,
            primary=primary,
            continuation=continuation,
            genuine=bool(started.nonce),
        )
        self.exchange = Exchange(self.line)
        self.modes = ModeSwitch(self.exchange)
        try:
            Readiness(self.line).wait(started.inject, options.ready_timeout)
        except BaseException as error:
            self.abandon()
            if isinstance(error, AdapterNotReady):
                error.add_note(f"command line: {started.argv}")
            raise

    def abandon(self) -> None:
        """End it by force."""
        self.terminal.close()
        self.place.remove()

    def end(self) -> None:
        """Lead it out of its modes, give it its shutdown command and the grace for that; then by force."""
        shutdown, terminal = self.adapter.lifecycle.shutdown, self.terminal
        try:
            if shutdown.command and self._takes_commands():
                self.modes.leave(_LEAVING)
            if shutdown.command and self._takes_commands():
                self.line.type(shutdown.command)
                terminal.wait(max(shutdown.grace_ms, 0) / 1000)
            if not terminal.ended and shutdown.force_signal != "kill":
                terminal.signal(_number(shutdown.force_signal))
                terminal.wait(0.5)
        finally:
            self.abandon()

    def _takes_commands(self) -> bool:
        return not self.terminal.ended and self.line.pending is None


def _number(name: str) -> int:
    named = getattr(signal, f"SIG{re.sub('^SIG', '', name.upper())}", None)
    return int(named) if named is not None else int(signal.SIGKILL)
