"""What the ``jq`` command does with one line as its whole input: the text it prints, and its status.

A line is a doubt (:class:`Doubt`) where that depends on the version of jq or isn't modelled; what was
printed for it is taken back, and the caller asks the real command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.stream.jsontext import pretty
from bridge.stream.lift.faults import Doubt, JqError, NotLifted
from bridge.stream.lift.jqlang.compiler import Compiler
from bridge.stream.lift.jqlang.garbage import refused, unfinished
from bridge.stream.lift.jqlang.syntax import parse
from bridge.stream.lift.jqlang.tree import Binary, Call, Index, Literal, Pipe
from bridge.stream.lift.jqlang.values import Value, scanner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.stream.lift.jqlang.tree import Node

__all__ = ["JqLine", "Options"]

_BLANKS = " \t\r\n"
_DEEPEST = 256
_CUT = 1000
_DEEP_LENGTH = 2 * _DEEPEST + 1


class Options(NamedTuple):
    """How jq prints: ``-r``, ``-j``, ``-c``; `lines`: it reads strings, one per line (``-R``)."""

    raw: bool = False
    join: bool = False
    compact: bool = False
    lines: bool = False


@dataclass(slots=True)
class JqLine:
    """One ``jq`` program with its options.

    Attributes:
        each: (value, emit): the compiled program.
        leaky: an error that leaves the program is a doubt.
        needle: a text without which a line prints nothing at all, in every version ("" if unknown).
        parts: what was printed since the caller last took it.
        not_json: the status of the installed jq after what is no JSON (2 or 4: versions differ); None if it
            isn't known, then such a line is a doubt.
        failed: some value of the last line had an error, which the command says on stderr.
    """

    each: Callable[[Value, Callable[[Value], Any]], Any]
    emit: Callable[[Value], Any]
    leaky: bool
    needle: str
    writer: Any
    parts: list[str]
    scan: Any
    lines: bool = False
    not_json: int | None = None
    failed: bool = False
    streams: bool = False
    broken: bool = False
    ended: bool = False

    @classmethod
    def compile(cls, program: str, options: Options, arguments: Mapping[str, Value]) -> JqLine:
        """Compile a program.

        Raises:
            NotLifted: with the reason.
        """
        compiler = Compiler(arguments)
        tree = parse(program)
        try:
            code = compiler.compile(tree)
        except RecursionError:
            raise NotLifted("jq: the program is nested too deeply") from None
        parts: list[str] = []
        emit = _emitter(compiler.writer, options, parts)
        return cls(
            code.each,
            emit,
            compiler.leaky,
            "" if options.lines else _needle(tree),
            compiler.writer,
            parts,
            scanner(),
            options.lines,
        )

    def line(self, text: str) -> int:
        """Add to `parts` what jq prints for this line.

        Returns:
            jq's exit status: 0, 5 (the last value's error), or `not_json`.

        Raises:
            Doubt: nothing was added.
        """
        mark = len(self.parts)
        self.failed = self.broken = False
        try:
            if len(text) >= _DEEP_LENGTH and text.count("{") + text.count("[") > _DEEPEST:
                raise Doubt
            try:
                value, end = self.scan(text, 0)
            except (StopIteration, ValueError, RecursionError):
                return self._garbage(text, 0, 0)
            if end != len(text):
                return self._garbage(text, 0, 0)
            return self._value(value)
        except RecursionError:
            del self.parts[mark:]
            raise Doubt from None
        except Doubt:
            del self.parts[mark:]
            raise

    def given(self, text: str) -> int:
        """As :meth:`line`, for the whole stdin of a jq: with ``-R`` each line of it is a value."""
        if not self.lines:
            return self.line(text)
        mark = len(self.parts)
        self.failed = False
        status = 0
        rows = text.split("\n")
        if not rows[-1]:
            rows.pop()
        try:
            for row in rows:
                if len(row) > _CUT and not row.isascii():
                    raise Doubt  # 1.6 damages a character that straddles byte 4095
                status = self._value(row)
        except (Doubt, RecursionError):
            del self.parts[mark:]
            raise Doubt from None
        return status

    def _value(self, value: Value) -> int:
        try:
            self.each(value, self.emit)
        except JqError:
            if self.leaky:
                raise Doubt from None
            self.failed = True
            return 5
        return 0

    def _garbage(self, text: str, at: int, status: int) -> int:
        """A line that isn't exactly one value: blank, several values, or no JSON from some point on."""
        while True:
            rest = text[at:].lstrip(_BLANKS)
            if not rest:
                return status
            at = len(text) - len(rest)
            try:
                value, end = self.scan(text, at)
            except (StopIteration, ValueError, RecursionError):
                break
            if text[at] not in '{["' and text[end : end + 1] not in ("", " ", "\t", "\r", "\n"):
                break
            status = self._value(value)
            at = end
        self.broken = True
        if not refused(rest) or (self.streams and unfinished(rest) is not False):
            raise Doubt
        self.broken, self.ended, self.failed = False, True, True
        if self.not_json is None:
            raise Doubt
        return self.not_json


def _emitter(writer: Any, options: Options, parts: list[str]) -> Callable[[Value], Any]:
    append = parts.append
    end = "" if options.join else "\n"
    raw = options.raw or options.join

    def emit(value: Value) -> None:
        if raw and type(value) is str:
            append(value)
        else:
            text = writer.to_json(value)
            append(text if options.compact else pretty(text))
        append(end)

    return emit


def _needle(tree: Node) -> str:
    """The constant of a program ``select(.name == "constant") | …``.

    Other lines print nothing: a select that gives nothing, or an error. JSON may spell the constant with
    ``\\u``, so the caller looks for that, too.
    """
    first = tree.left if isinstance(tree, Pipe) else tree
    if isinstance(first, Call) and first.name == "select" and len(first.arguments) == 1:
        test = first.arguments[0]
        if (
            isinstance(test, Binary)
            and test.operator == "=="
            and isinstance(test.left, Index)
            and test.left.of is None
            and isinstance(test.right, Literal)
            and isinstance(test.right.value, str)
            and re.fullmatch(r"[A-Za-z0-9_.:-]+", test.right.value)
        ):
            return test.right.value
    return ""
