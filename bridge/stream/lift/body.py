"""The body of a loop (one line at a time) as Python closures.

A statement becomes a function of the variables and of its stdin, which adds to a list what it prints and
gives its exit status. What can't be foreseen raises :class:`Doubt`: bash is asked about that line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from bridge.stream.lift import shelltree as tree
from bridge.stream.lift.faults import Doubt, NotLifted
from bridge.stream.lift.jqline import JqLine, odd
from bridge.stream.lift.tools import on_text, tool
from bridge.stream.lift.words import Word, expand, names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Run: TypeAlias = Callable[[dict[str, str], str | None, list[str]], int]

__all__ = ["Body", "echoed"]

_ECHO_OPTIONS = re.compile(r"-[neE]+")
_LONGEST_ARGUMENT = 100_000  # the kernel refuses arguments above 128 KiB


class _Next(Exception):  # noqa: N818
    """``continue``."""

    def __init__(self, status: int) -> None:
        self.status = status


def echoed(text: str) -> str:
    """What ``echo "$x"`` prints, where x may look like an option (xpg_echo off)."""
    if text[:1] == "-" and _ECHO_OPTIONS.fullmatch(text):
        return "" if "n" in text else "\n"
    return text + "\n"


@dataclass(slots=True)
class Body:
    """Compiles statements.

    Attributes:
        fixed: variables that don't change from line to line (arguments, globals, locals set before).
        pipefail: the option of the shell.
        not_json: jq's status after what is no JSON.
        engines: every jq in it, to tell them what text is at hand.
    """

    fixed: Mapping[str, str]
    pipefail: bool
    not_json: int | None
    engines: list[JqLine]
    _fed: bool = False

    def compile(self, node: tree.Statement) -> Run:
        """The function of a statement.

        Raises:
            NotLifted: with the reason.
        """
        return _COMPILERS[type(node)](self, node)

    def jq(self, node: tree.Jq) -> JqLine:
        """The engine of a jq command, whose program and arguments don't change."""
        made = engine(node, self.fixed, self.engines)
        made.not_json = self.not_json
        return made

    def _jq(self, node: tree.Jq) -> Run:
        if node.file is not None or (node.here is None and not self._fed):
            raise NotLifted("a jq in a loop that reads a file, or the loop's own input")
        line = self.jq(node)
        here = self._word(node.here) if node.here is not None else None
        quiet = node.quiet

        def run(values: dict[str, str], given: str | None, out: list[str]) -> int:
            text = given if here is None else here(values)
            if text is None:
                raise Doubt  # it would read the loop's own input
            if odd(text):
                raise Doubt
            status = line.line(text)
            out += line.parts
            line.parts.clear()
            if line.failed and not quiet:
                out.clear()
                raise Doubt  # its message goes to stderr
            return status

        return run

    def _say(self, node: tree.Say) -> Run:
        word = self._word(node.word)
        end, options = node.end, node.options

        def run(values: dict[str, str], given: str | None, out: list[str]) -> int:
            text = word(values)
            out.append(echoed(text) if options else text + end)
            return 0

        return run

    def _word(self, word: Word) -> Callable[[dict[str, str]], str]:
        if len(word) == 1 and not isinstance(word[0], str) and word[0].default is None:
            name = word[0].name

            def variable(values: dict[str, str]) -> str:
                try:
                    return values[name]
                except KeyError:
                    raise Doubt from None

            return variable

        def run(values: dict[str, str]) -> str:
            try:
                return expand(word, values)
            except NotLifted:
                raise Doubt from None

        return run

    def _tool(self, node: tree.Tool) -> Run:
        if node.file is not None or not self._fed:
            raise NotLifted(f"a {node.name} in a loop that reads a file, or the loop's own input")
        work = tool(node)

        def run(values: dict[str, str], given: str | None, out: list[str]) -> int:
            if given is None:
                raise Doubt
            text, status = on_text(work, given)
            out.append(text)
            return status

        return run

    def _pipeline(self, node: tree.Pipeline) -> Run:
        outer = self._fed
        stages: list[Run] = []
        for stage in node.stages:
            stages.append(self.compile(stage))
            self._fed = True
        self._fed = outer
        pipefail, ignored = self.pipefail, node.ignored

        def run(values: dict[str, str], given: str | None, out: list[str]) -> int:
            worst = status = 0
            for stage in stages:
                printed: list[str] = []
                status = stage(values, given, printed)
                worst = status or worst
                given = "".join(printed)
            out.append(given or "")
            return 0 if ignored else worst if pipefail else status

        return run

    def _assign(self, node: tree.Assign) -> Run:
        name, local = node.name, node.local
        if isinstance(node.value, tree.Capture):
            inner = self.compile(node.value.body)

            def capture(values: dict[str, str], given: str | None, out: list[str]) -> int:
                printed: list[str] = []
                try:
                    status = inner(dict(values), given, printed)
                except _Next:
                    raise Doubt from None
                text = "".join(printed)
                if "\0" in text:
                    raise Doubt
                values[name] = text.rstrip("\n")
                return 0 if local else status

            return capture
        word = self._word(node.value)

        def run(values: dict[str, str], given: str | None, out: list[str]) -> int:
            values[name] = word(values)
            return 0

        return run

    def _test(self, node: tree.Test) -> Run:
        left, right, operator = self._word(node.left), self._word(node.right), node.operator

        def run(values: dict[str, str], given: str | None, out: list[str]) -> int:
            a = left(values)
            if operator in ("-n", "-z"):
                return int((a == "") is (operator == "-n"))
            return int((a == right(values)) is (operator == "!="))

        return run

    def _nothing(self, node: tree.Nothing) -> Run:
        return lambda values, given, out: node.status

    def _continue(self, node: tree.Continue) -> Run:
        def run(values: dict[str, str], given: str | None, out: list[str]) -> int:
            raise _Next(0)

        return run

    def _and_or(self, node: tree.AndOr) -> Run:
        left, right, word = self.compile(node.left), self.compile(node.right), node.word

        def run(values: dict[str, str], given: str | None, out: list[str]) -> int:
            status = left(values, given, out)
            if (status == 0) is (word == "&&"):
                status = right(values, given, out)
            return status

        return run

    def _if(self, node: tree.If) -> Run:
        test, yes = self.compile(node.test), self.compile(node.yes)
        no = self.compile(node.no) if node.no is not None else None

        def run(values: dict[str, str], given: str | None, out: list[str]) -> int:
            if test(values, given, out) == 0:
                return yes(values, given, out)
            return no(values, given, out) if no is not None else 0

        return run

    def _sequence(self, node: tree.Sequence) -> Run:
        runs = [self.compile(statement) for statement in node.statements]

        def run(values: dict[str, str], given: str | None, out: list[str]) -> int:
            status = 0
            for one in runs:
                status = one(values, given, out)
            return status

        return run

    def _loop(self, node: tree.Loop) -> Run:
        raise NotLifted("a loop within a loop")

    def per_line(self, node: tree.Statement) -> Run:
        """The whole body, ``continue`` included."""
        inner = self.compile(node)

        def run(values: dict[str, str], given: str | None, out: list[str]) -> int:
            try:
                return inner(values, given, out)
            except _Next as end:
                return end.status

        return run


def engine(node: tree.Jq, fixed: Mapping[str, str], engines: list[JqLine]) -> JqLine:
    """The engine of a jq command.

    Raises:
        NotLifted: program, options or arguments are not lifted.
    """
    import json

    for name in names(node.program):
        if name not in fixed:
            raise NotLifted(f"jq with a program that depends on ${name}")
    values: dict[str, Any] = {}
    for name, word, is_json in node.arguments:
        text = expand(word, fixed)
        if len(text) > _LONGEST_ARGUMENT or "\udc80" <= max(text, default="") <= "\udcff":
            raise NotLifted(f"jq --arg {name} with a value that is very long, or no UTF-8")
        if is_json and not re.fullmatch(r'[1-9][0-9]{0,14}|0|true|false|null|"[A-Za-z0-9 _./:-]*"|\[\]|\{\}', text):
            raise NotLifted(f"jq --argjson {name} {text[:40]}")
        values[name] = json.loads(text) if is_json else text
    program = expand(node.program, fixed)
    if len(program) > _LONGEST_ARGUMENT or program.startswith("-"):
        raise NotLifted("a jq program that starts with a dash, or is very long")
    made = JqLine.compile(program, node.options, values)
    engines.append(made)
    return made


_COMPILERS: dict[type, Callable[[Body, Any], Run]] = {
    tree.Say: Body._say,
    tree.Jq: Body._jq,
    tree.Tool: Body._tool,
    tree.Pipeline: Body._pipeline,
    tree.Assign: Body._assign,
    tree.Test: Body._test,
    tree.Nothing: Body._nothing,
    tree.Continue: Body._continue,
    tree.AndOr: Body._and_or,
    tree.If: Body._if,
    tree.Sequence: Body._sequence,
    tree.Loop: Body._loop,
}
