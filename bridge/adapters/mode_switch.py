"""Going from one mode of a program to another, by the keys and commands that its adapter names."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bridge.adapters.ending import Watch
from bridge.adapters.line import Command
from bridge.adapters.modes import ModeState, default_mode, is_default, mode_named, usable, way_out
from bridge.adapters.payload import Payload

if TYPE_CHECKING:
    from bridge.adapters.exchange import Exchange

__all__ = ["ModeSwitch"]

_PAUSE = 0.003
"""Silence after which a prompt that shows something is taken to be whole."""
_DEEPEST = 20
"""How many modes within each other are left one by one."""


class ModeSwitch:
    """Switches the modes of the program that `exchange` talks to."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange, self._line, self._adapter = exchange, exchange.line, exchange.adapter

    def switch(self, key: str, mode: str, timeout: float) -> bool:
        """Press a key that changes modes; whether the prompt of `mode` is there within `timeout` seconds."""
        given = mode_named(self._adapter.modes, mode)
        pattern = usable(given.primary or given.detect) if given is not None else None
        begun = self._line.stream.offset
        self._line.write(key)
        watch = Watch(offset=begun, osc=False, primary=pattern, settle=self._line.settle_seconds, anywhere=True)
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0 and not self._line.terminal.ended:
            data, marks = self._line.pump(min(left, 0.02))
            watch.feed(data, marks)
            if (pattern is None and self._line.stream.quiet >= self._line.settle_seconds) or (
                watch.looks_like_prompt and self._line.stream.quiet >= _PAUSE
            ):
                self._line.prompt_end = self._line.stream.offset
                self._line.mode = ModeState(mode)
                return True
        return False

    def leave(self, timeout: float) -> bool:
        """Leave mode after mode, each within `timeout` seconds; whether the default mode is reached."""
        modes = self._adapter.modes
        for _ in range(_DEEPEST):
            mode = mode_named(modes, self._line.mode.name)
            if is_default(modes, self._line.mode.name) or mode is None:
                return True
            before, way = self._line.mode, way_out(mode)
            if way is None:
                return False
            if way.key:
                if not self.switch(way.key, default_mode(modes).name, timeout):
                    return False
                continue
            self._line.settle()
            self._exchange.begin(Command(way.command, Payload("direct", way.command)))
            ended_by = self._exchange.complete(timeout, interrupt=False, grace=timeout).ended_by
            if ended_by in ("timeout", "exit", "input", "incomplete") or self._line.mode == before:
                return False
        return False
