"""What calling a hook does, the functions that it calls included."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bridge.verify.facts.model import CommandFact, Facts, FunctionFacts, Read, Write


class Effects(NamedTuple):
    """Everything that may happen in a call, callees included.

    Variables that are local to a caller are left out: bash's locals are seen by what they call. `subshell`,
    `loop`, `upstream` and `around` of each item also tell of the calls that lead to it.
    known: False when a function on the way could not be read. dynamic: see `FunctionFacts`.
    """

    writes: tuple[Write, ...]
    reads: tuple[Read, ...]
    commands: tuple[CommandFact, ...]
    known: bool
    dynamic: bool


_DEEP = 100  # redirections around a call: functions that call each other in a circle would gather them for ever


class _Way(NamedTuple):
    """How a function came to be called."""

    subshell: bool = False
    loop: bool = False
    upstream: str = ""
    around: tuple[str, ...] = ()
    local: frozenset[str] = frozenset()


class _Collector:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.writes: dict[Write, None] = {}  # dicts keep the order and drop what is reached twice
        self.reads: dict[Read, None] = {}
        self.commands: dict[CommandFact, None] = {}
        self.known = True
        self.dynamic = False
        self._seen: set[tuple[str, _Way]] = set()

    def call(self, name: str, way: _Way) -> None:
        if (name, way) in self._seen:
            return
        self._seen.add((name, way))
        for function in self.facts.bodies(name):
            self._body(function, way)

    def _body(self, function: FunctionFacts, way: _Way) -> None:
        self.known &= function.known
        self.dynamic |= function.dynamic
        for write in function.writes:
            if write.name not in way.local:
                self.writes[write._replace(subshell=write.subshell or way.subshell)] = None
        for read in function.reads:
            if read.name not in way.local:
                self.reads[read] = None
        for command in function.commands:
            there = command._replace(
                subshell=command.subshell or way.subshell,
                loop=command.loop or way.loop,
                upstream=command.upstream or way.upstream,
                around=command.around + way.around,
            )
            self.commands[there] = None
            if command.name in self.facts.names and command.name != function.name and len(way.around) < _DEEP:
                around = there.redirects + there.around
                local = way.local | function.local
                self.call(command.name, _Way(there.subshell, there.loop, there.upstream, around, local))


def effects_of(facts: Facts, hook: str) -> Effects:
    """What a call of the function `hook` does."""
    found = _Collector(facts)
    found.call(hook, _Way())
    return Effects(tuple(found.writes), tuple(found.reads), tuple(found.commands), found.known, found.dynamic)
