"""A program on the user's terminal: keys go in, its output comes out, without announcements."""

from __future__ import annotations

import os
import select
import signal
import termios
import tty
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.adapters.channel import Channel
    from bridge.adapters.terminal import Terminal


def interact(channel: Channel, keyboard: int, screen: int) -> int | None:
    """Pass everything on until the program ends, the end of input as the end-of-file key; its exit status."""
    terminal = channel.terminal
    watched = select.poll()
    watched.register(terminal.fd, select.POLLIN)
    watched.register(keyboard, select.POLLIN)
    with _raw(keyboard), ExitStack() as undo:
        before = signal.signal(signal.SIGWINCH, lambda _number, _frame: _fit(terminal, screen))
        undo.callback(signal.signal, signal.SIGWINCH, before)
        _fit(terminal, screen)
        _write(screen, channel.greeting)  # only now: a user who sees a prompt types
        while not terminal.ended:
            ready = dict(watched.poll(100))  # now and then, for programs whose end can't be seen here
            if keyboard in ready:
                keys = os.read(keyboard, 65_536)
                if not keys:
                    watched.unregister(keyboard)
                terminal.write(keys or b"\x04")
            if terminal.fd in ready or not ready:
                _write(screen, channel.pump(0)[0])
                channel.transcript.forget(channel.offset)
    return terminal.status


def _write(screen: int, data: bytes) -> None:
    while data:
        data = data[os.write(screen, data) :]


@contextmanager
def _raw(keyboard: int) -> Iterator[None]:
    try:
        before = termios.tcgetattr(keyboard)
    except termios.error:  # no terminal: nothing to change
        yield
        return
    tty.setraw(keyboard, termios.TCSADRAIN)  # the default would discard what was typed ahead
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _fit(terminal: Terminal, screen: int) -> None:
    with suppress(OSError):
        size = os.get_terminal_size(screen)
        terminal.resize(size.lines, size.columns)
