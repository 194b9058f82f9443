"""What calling a hook does, the functions that it calls included."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bridge.verify.facts.model import Command, Facts, Function, Read, Write

__all__ = ["Effects", "effects_of"]


class Effects(NamedTuple):
    """Everything that may happen in a call, callees included.

    Variables that are local to a caller are left out: bash's locals are seen by what they call. `subshell` and
    `loop` of each item also tell of the calls that lead to it.
    known: False when a function on the way could not be read. dynamic: see `Function`.
    """

    writes: tuple[Write, ...]
    reads: tuple[Read, ...]
    commands: tuple[Command, ...]
    known: bool
    dynamic: bool


class _Collector:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.writes: dict[Write, None] = {}  # dicts keep the order and drop what is reached twice
        self.reads: dict[Read, None] = {}
        self.commands: dict[Command, None] = {}
        self.known = True
        self.dynamic = False
        self._seen: set[tuple[str, bool, bool, frozenset[str]]] = set()

    def call(self, name: str, *, subshell: bool, loop: bool, local: frozenset[str]) -> None:
        if (name, subshell, loop, local) in self._seen:
            return
        self._seen.add((name, subshell, loop, local))
        for function in self.facts.bodies(name):
            self._body(function, subshell=subshell, loop=loop, local=local)

    def _body(self, function: Function, *, subshell: bool, loop: bool, local: frozenset[str]) -> None:
        self.known &= function.known
        self.dynamic |= function.dynamic
        for write in function.writes:
            if write.name not in local:
                self.writes[write._replace(subshell=write.subshell or subshell)] = None
        for read in function.reads:
            if read.name not in local:
                self.reads[read] = None
        for command in function.commands:
            there = command._replace(subshell=command.subshell or subshell, loop=command.loop or loop)
            self.commands[there] = None
            if command.name in self.facts.names and command.name != function.name:
                self.call(command.name, subshell=there.subshell, loop=there.loop, local=local | function.local)


def effects_of(facts: Facts, hook: str) -> Effects:
    """What a call of the function `hook` does."""
    found = _Collector(facts)
    found.call(hook, subshell=False, loop=False, local=frozenset())
    return Effects(tuple(found.writes), tuple(found.reads), tuple(found.commands), found.known, found.dynamic)
