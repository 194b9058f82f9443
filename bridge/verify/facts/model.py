"""The words of facts, and what calling a hook does, the functions that it calls included."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Literal, NamedTuple

from bridge.base.records import dataclass

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

How = Literal["array", "string", "element", "read", "loop", "arithmetic", "default", "declare", "unset"]
"""array: ``x=(…)``; string: ``x=…``; element: ``x[1]=…``; read: filled by a builtin such as read, mapfile, getopts,
printf -v; loop: for, select; default: ``${x:=…}``; declare: named by declare -g or readonly, without value."""


class Write(NamedTuple):
    """A place where a variable is set (or unset).

    subshell: in a pipeline, ``( )``, ``$( )`` or background job: it is gone right afterwards.
    function: where it stands; empty at the top level.
    """

    name: str
    line: int
    how: How
    subshell: bool = False
    function: str = ""


class Read(NamedTuple):
    """A place where a variable is used. defaulted: with an answer for when it is not set, as in ``${x:-y}``."""

    name: str
    line: int
    defaulted: bool = False
    function: str = ""


class FirstOnly(NamedTuple):
    """A place where ``$x`` is a word, or a part of one, of a command or an array: of an array, its first element.

    command: the command's name; empty in an assignment.
    """

    name: str
    line: int
    command: str = ""


class CommandFact(NamedTuple):
    """A simple command.

    name: its first word without quotes; empty when only running the script could tell (``"$AGENT_CLI"``).
    words: the source text of each word, name included.
    subshell: see `Write`.
    loop: in the body of a loop.
    guarded: only runs when the script is executed and not sourced (a test of BASH_SOURCE against $0).
    conditional: in a branch, in a loop, or behind && or ||.
    substituted: within ``$( )`` or ``<( )``.
    upstream: source text of what is piped into it.
    redirects: source text of its own redirections.
    around: those of what it stands in, from the inside out: groups, loops, the function's body.
    """

    name: str
    words: tuple[str, ...]
    line: int
    subshell: bool = False
    loop: bool = False
    guarded: bool = False
    conditional: bool = False
    substituted: bool = False
    upstream: str = ""
    redirects: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    function: str = ""

    @property
    def text(self) -> str:
        """The command in one line, shortened."""
        joined = " ".join(" ".join(self.words).split())
        return joined if len(joined) <= 60 else joined[:57] + "..."


class Context(NamedTuple):
    """The circumstances of a node: `CommandFact` says what each means."""

    subshell: bool = False
    loop: bool = False
    guarded: bool = False
    conditional: bool = False
    substituted: bool = False
    upstream: str = ""
    around: tuple[str, ...] = ()


@dataclass(kw_only=True, slots=True)
class FunctionFacts:
    """One function definition, or (with an empty name) all that stands outside of functions.

    known: False when the grammar could not read it: what is listed may be incomplete or wrong.
    conditional: defined in a branch, in a loop, or by another function.
    subshell: its body is ``( … )``.
    local: names that it declares local; references: those of them that stand for others (None: for which can't be
    told).
    writes, reads: of variables that are not local there, in the order of the text.
    arrays: names that are given several elements, or may be; texts: names that are given a text, and are no arrays.
    firsts: places where an array would be cut short.
    dynamic: it may set variables whose names only running it would tell (eval, source, ``read "$name"``).
    """

    name: str
    line: int
    end_line: int
    known: bool = True
    conditional: bool = False
    subshell: bool = False
    dynamic: bool = False
    local: set[str] = field(default_factory=set)
    references: dict[str, str | None] = field(default_factory=dict)
    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    commands: list[CommandFact] = field(default_factory=list)
    arrays: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    firsts: list[FirstOnly] = field(default_factory=list)

    def write(self, name: str, line: int, how: How, context: Context) -> None:
        """Note that a variable is set, if it is none of the function's own."""
        if name in self.references:
            target = self.references[name]
            if target is None:
                self.dynamic = True
                return
            name = target
        elif name in self.local or not NAME.match(name):
            return
        lost = context.subshell or self.subshell
        self.writes.append(Write(name=name, line=line, how=how, subshell=lost, function=self.name))

    def read(self, name: str, line: int, *, defaulted: bool = False) -> None:
        """Note that a variable is used, if it is none of the function's own."""
        if NAME.match(name) and name not in self.local:
            self.reads.append(Read(name, line, defaulted, self.name))

    def run(
        self, name: str, words: tuple[str, ...], line: int, redirects: tuple[str, ...], context: Context
    ) -> None:
        there = context._replace(subshell=context.subshell or self.subshell)._asdict()
        self.commands.append(
            CommandFact(name=name, words=words, line=line, redirects=redirects, function=self.name, **there)
        )


class Facts(NamedTuple):
    """What a script says about itself.

    functions: every definition, in the order of the text. top: what stands outside of functions.
    newer: line and construct of what is newer than bash 3.2, as far as it is syntax.
    """

    functions: tuple[FunctionFacts, ...]
    top: FunctionFacts
    newer: tuple[tuple[int, str], ...] = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(function.name for function in self.functions)

    def line(self, name: str) -> int | None:
        """The first line of a function: of the definition that wins."""
        return next((function.line for function in reversed(self.functions) if function.name == name), None)

    def bodies(self, name: str) -> tuple[FunctionFacts, ...]:
        """The definitions of a function that may be in force once the script is sourced."""
        found = [function for function in self.functions if function.name == name]
        certain = [index for index, function in enumerate(found) if not function.conditional]
        return tuple(found[certain[-1] :] if certain else found)


class Effects:
    """Everything that may happen in a call of a function, callees included.

    Variables that are local to a caller are left out: bash's locals are seen by what they call. `subshell`,
    `loop`, `upstream` and `around` of each item also tell of the calls that lead to it.
    known: False when a function on the way could not be read. dynamic: see `FunctionFacts`.
    """

    def __init__(self, facts: Facts, hook: str) -> None:
        self.known = True
        self.dynamic = False
        self._facts = facts
        self._writes: dict[Write, None] = {}  # dicts keep the order and drop what is reached twice
        self._reads: dict[Read, None] = {}
        self._commands: dict[CommandFact, None] = {}
        self._seen: set[tuple[str, Context, frozenset[str]]] = set()
        self._call(hook, Context(), frozenset())
        self.writes, self.reads = tuple(self._writes), tuple(self._reads)
        self.commands = tuple(self._commands)

    def _call(self, name: str, way: Context, local: frozenset[str]) -> None:
        """Note what a function does; `way`: how it came to be called, `local`: what is local to its callers."""
        if (name, way, local) in self._seen:
            return
        self._seen.add((name, way, local))
        for function in self._facts.bodies(name):
            self.known &= function.known
            self.dynamic |= function.dynamic
            for write in function.writes:
                if write.name not in local:
                    self._writes[write._replace(subshell=write.subshell or way.subshell)] = None
            self._reads |= dict.fromkeys(read for read in function.reads if read.name not in local)
            for command in function.commands:
                there = command._replace(
                    subshell=command.subshell or way.subshell,
                    loop=command.loop or way.loop,
                    upstream=command.upstream or way.upstream,
                    around=command.around + way.around,
                )
                self._commands[there] = None
                called = command.name in self._facts.names and command.name != function.name
                if called and len(way.around) < _DEEP:
                    around = there.redirects + there.around
                    inner = Context(there.subshell, there.loop, upstream=there.upstream, around=around)
                    self._call(command.name, inner, local | function.local)


_DEEP = 100  # redirections around a call: functions that call each other in a circle would gather them for ever
