"""The words of facts."""

from __future__ import annotations

from typing import Literal, NamedTuple

How = Literal["array", "string", "element", "read", "loop", "arithmetic", "default", "declare", "unset"]
"""array: ``x=(…)``; string: ``x=…``; element: ``x[1]=…``; read: filled by a builtin such as read, mapfile, getopts,
printf -v; loop: for, select; default: ``${x:=…}``; declare: named by declare -g or readonly, without value."""


class Write(NamedTuple):
    """A place where a variable is set (or unset).

    subshell: in a pipeline, ``( )``, ``$( )`` or background job: it is gone right afterwards.
    appends: with ``+=``.
    empty: the value is empty: ``x=``, ``x=""``, ``x=()``.
    function: where it stands; empty at the top level.
    """

    name: str
    line: int
    how: How
    subshell: bool = False
    appends: bool = False
    empty: bool = False
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


class FunctionFacts(NamedTuple):
    """One function definition, or (with an empty name) all that stands outside of functions.

    known: False when the grammar could not read it: what is listed may be incomplete or wrong.
    conditional: defined in a branch, in a loop, or by another function.
    subshell: its body is ``( … )``.
    local: names that it declares local.
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
    local: frozenset[str] = frozenset()
    writes: tuple[Write, ...] = ()
    reads: tuple[Read, ...] = ()
    commands: tuple[CommandFact, ...] = ()
    dynamic: bool = False
    arrays: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    firsts: tuple[FirstOnly, ...] = ()


class Facts(NamedTuple):
    """What a script says about itself.

    functions: every definition, in the order of the text.
    top: what stands outside of functions.
    newer: line and construct of what is newer than bash 3.2, as far as it is syntax.
    """

    functions: tuple[FunctionFacts, ...]
    top: FunctionFacts
    newer: tuple[tuple[int, str], ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The functions that the script defines."""
        return frozenset(function.name for function in self.functions)

    def line(self, name: str) -> int | None:
        """The first line of a function: of the definition that wins."""
        return next((function.line for function in reversed(self.functions) if function.name == name), None)

    def bodies(self, name: str) -> tuple[FunctionFacts, ...]:
        """The definitions of a function that may be in force once the script is sourced."""
        found = [function for function in self.functions if function.name == name]
        certain = [index for index, function in enumerate(found) if not function.conditional]
        return tuple(found[certain[-1] :] if certain else found)
