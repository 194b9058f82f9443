"""What is collected of one function while its tree is walked, and the circumstances of the place in it."""

from __future__ import annotations

from typing import NamedTuple

from bridge.verify.facts.builtins import NAME
from bridge.verify.facts.model import Command, Function, How, Read, Write

__all__ = ["Place", "Scope"]


class Place(NamedTuple):
    """The circumstances of a node: `Command` says what each means."""

    subshell: bool = False
    loop: bool = False
    guarded: bool = False
    conditional: bool = False
    substituted: bool = False
    upstream: str = ""
    around: tuple[str, ...] = ()


class Scope:
    """One function in the making; `name` is empty for what stands outside of functions."""

    def __init__(self, name: str, *, line: int, end_line: int, place: Place) -> None:
        self.name = name
        self.line = line
        self.end_line = end_line
        self.conditional = place.conditional
        self.subshell = place.subshell
        self.local: set[str] = set()
        self.references: dict[str, str | None] = {}
        self.dynamic = False
        self.writes: list[Write] = []
        self.reads: list[Read] = []
        self.commands: list[Command] = []

    def declare(self, name: str) -> None:
        """Note that a variable is local from here on."""
        self.local.add(name)

    def refer(self, name: str, target: str | None) -> None:
        """Note a name reference (``local -n name=target``); None: to something that can't be told."""
        self.local.add(name)
        self.references[name] = target if target is not None and NAME.match(target) else None

    def write(
        self, name: str, line: int, how: How, place: Place, *, appends: bool = False, empty: bool = False
    ) -> None:
        """Note that a variable is set, if it is none of the function's own."""
        if name in self.references:
            target = self.references[name]
            if target is None:
                self.dynamic = True
                return
            name = target
        elif name in self.local or not NAME.match(name):
            return
        subshell = place.subshell or self.subshell
        self.writes.append(Write(name, line, how, subshell, appends, empty, self.name))

    def read(self, name: str, line: int, *, defaulted: bool = False) -> None:
        """Note that a variable is used, if it is none of the function's own."""
        if NAME.match(name) and name not in self.local:
            self.reads.append(Read(name, line, defaulted, self.name))

    def command(
        self, name: str, words: tuple[str, ...], line: int, redirects: tuple[str, ...], place: Place
    ) -> None:
        """Note a simple command."""
        circumstances = place._replace(subshell=place.subshell or self.subshell)
        self.commands.append(
            Command(name, words, line, redirects=redirects, function=self.name, **circumstances._asdict())
        )

    def function(self, *, known: bool) -> Function:
        """What was collected."""
        return Function(
            self.name,
            self.line,
            self.end_line,
            known=known,
            conditional=self.conditional,
            subshell=self.subshell,
            local=frozenset(self.local),
            writes=tuple(self.writes),
            reads=tuple(self.reads),
            commands=tuple(self.commands),
            dynamic=self.dynamic,
        )
