"""What a call prints: the form that the script has asked for, and how it gets there."""

from __future__ import annotations

import json
import os
import select
import time
from codecs import getincrementaldecoder
from itertools import zip_longest
from typing import TYPE_CHECKING

from bridge.base.wording import apart, coloured
from bridge.loop.setups.script.call_input import PIECE

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.loop.setups.script.server import Call

_HELD_SECONDS = 10.0


class Relay:
    """What a CLI prints, on its way to the script: held back at first, since an attempt that a limit ends has to
    leave nothing behind.

    Args:
        call: whose stdout and stderr it goes to.
        ended: whether to give up on a script that doesn't read.
    """

    def __init__(self, call: Call, ended: Callable[[], bool]) -> None:
        self._fds = call.request.fds
        self._screens = {number: _Screen() for number in (1, 2) if (fd := self._fds[number]) and os.isatty(fd)}
        self._ended = ended
        self._held: list[tuple[int, bytes]] = []
        self._began: float | None = None
        self._holding = True
        self.broken = False
        """Nobody reads its stdout any more."""

    def put(self, number: int, data: bytes) -> None:
        if not data:
            return
        if self._holding:
            self._began = time.monotonic() if self._began is None else self._began
            self._held.append((number, data))
            self.look()
        else:
            self._write(number, data)

    def look(self) -> None:
        """Let go of what was held long enough."""
        if self._holding and self._began is not None and time.monotonic() - self._began >= _HELD_SECONDS:
            self.release()

    def hold(self) -> None:
        """Hold what comes from now on until somebody has judged it."""
        self._holding, self._began = True, float("inf")

    def release(self) -> None:
        self._holding = False
        held, self._held = self._held, []
        for number, data in held:
            self._write(number, data)

    def drop(self) -> None:
        self._held.clear()

    def _write(self, number: int, data: bytes) -> None:
        fd = self._fds[number]
        if fd is None or (self.broken and number == 1):
            return
        left = memoryview(self._screens[number].text(data) if number in self._screens else data)
        poller = select.poll()
        poller.register(fd, select.POLLOUT)
        while left and not self._ended():
            if not poller.poll(200):
                continue
            try:
                left = left[os.write(fd, left[:PIECE]) :]
            except BlockingIOError:
                continue
            except OSError:
                self.broken = self.broken or number == 1
                return


class _Screen:
    """What a terminal is shown of bytes that come in pieces: text and its colours."""

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8")("surrogateescape")
        self._held = ""

    def text(self, data: bytes) -> bytes:
        whole, self._held = apart(self._held + self._decoder.decode(data))
        return coloured(whole).encode("utf-8", "replace")


def asked_for_events(call: Call) -> tuple[str, ...]:
    """Give the words with which a call's CLI prints events, where the script asks for its text; else nothing."""
    calls = call.form.cli.calls
    assert calls is not None
    return () if _form_asked_for(call) else calls.events


def asks_for_json(call: Call) -> bool:
    """Whether a script asks for JSON, in whichever form."""
    return any("json" in word for word in _form_asked_for(call))


def _form_asked_for(call: Call) -> list[str]:
    """The words of a call that say what its CLI is to print: options, and their values."""
    calls, words = call.form.cli.calls, call.argv[call.form.at :]
    assert calls is not None
    found = []
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        name, equals, value = word.partition("=")
        if name in calls.forms:
            found += [name, value if equals or following.startswith("-") else following]
    return found


def text_of(line: bytes) -> bytes:
    """What a CLI prints as text in the place of an event."""
    try:
        event = json.loads(line)
    except ValueError:
        return line
    if not isinstance(event, dict) or "type" not in event:
        return line
    words = event.get("result") if event["type"] == "result" else None
    if not isinstance(words, str):
        return b""
    return (words if words.endswith("\n") else f"{words}\n").encode("utf-8", "surrogateescape")


def deliver(call: Call, words: str) -> None:
    """Give the script the answer of another tool, in the form that it has asked its CLI for."""
    relay = Relay(call, lambda: call.gone)
    relay.release()
    if asks_for_json(call):
        answer = {"type": "result", "subtype": "success", "is_error": False, "result": words.rstrip("\n")}
        words = json.dumps(answer) + "\n"
    relay.put(1, words.encode("utf-8", "surrogateescape"))
