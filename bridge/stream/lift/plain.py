"""Single commands in the body of a loop: echo, printf, jq, tests, text tools."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from bridge.stream.lift import shelltree as tree
from bridge.stream.lift.faults import Doubt, NotLifted
from bridge.stream.lift.jqlang.garbage import odd
from bridge.stream.lift.jqlang.line import JqLine
from bridge.stream.lift.tools import on_text, tool
from bridge.stream.lift.words import Word, expand, names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.stream.lift.body import Body, Run

__all__ = ["PLAIN", "Frame", "echoed", "engine"]

_ECHO_OPTIONS = re.compile(r"-[neE]+")
_LONGEST_ARGUMENT = 100_000  # the kernel refuses arguments above 128 KiB
_JSON_ARGUMENT = re.compile(r'[1-9][0-9]{0,14}|0|true|false|null|"[A-Za-z0-9 _./:-]*"|\[\]|\{\}')


class Frame:
    """A command's surroundings.

    Attributes:
        values: the variables.
        given: its stdin; None: the loop's own.
        out: what it has printed.
    """

    __slots__ = ("given", "out", "values")

    def __init__(self, values: dict[str, str], given: str | None) -> None:
        self.values = values
        self.given = given
        self.out: list[str] = []


def echoed(text: str) -> str:
    """What ``echo "$x"`` prints, where x may look like an option (xpg_echo off)."""
    if text[:1] == "-" and _ECHO_OPTIONS.fullmatch(text):
        return "" if "n" in text else "\n"
    return text + "\n"


def _expanded(word: Word) -> Callable[[Mapping[str, str]], str]:
    if len(word) == 1 and not isinstance(word[0], str) and word[0].default is None:
        name = word[0].name

        def variable(values: Mapping[str, str]) -> str:
            try:
                return values[name]
            except KeyError:
                raise Doubt from None

        return variable

    def text(values: Mapping[str, str]) -> str:
        try:
            return expand(word, values)
        except NotLifted:
            raise Doubt from None

    return text


def _jq(body: Body, node: tree.Jq) -> Run:
    if node.file is not None or (node.here is None and not body.fed):
        raise NotLifted("a jq in a loop that reads a file, or the loop's own input")
    line = body.jq(node)
    here = _expanded(node.here) if node.here is not None else None
    quiet, mute = node.quiet, node.mute

    def run(frame: Frame) -> int:
        text = frame.given if here is None else here(frame.values) + "\n"
        assert text is not None
        if odd(text):
            raise Doubt
        status = line.given(text)
        if not mute:
            frame.out += line.parts
        line.parts.clear()
        if line.failed and not quiet:
            raise Doubt  # its message goes to stderr
        return status

    return run


def _say(_body: Body, node: tree.Say) -> Run:
    word = _expanded(node.word)
    end, options = node.end, node.options

    def run(frame: Frame) -> int:
        text = word(frame.values)
        frame.out.append(echoed(text) if options else text + end)
        return 0

    return run


def _tool(body: Body, node: tree.Tool) -> Run:
    if node.file is not None or not body.fed:
        raise NotLifted(f"a {node.name} in a loop that reads a file, or the loop's own input")
    work = tool(node)

    def run(frame: Frame) -> int:
        assert frame.given is not None
        text, status = on_text(work, frame.given)
        frame.out.append(text)
        return status

    return run


def _test(_body: Body, node: tree.Test) -> Run:
    if node.operator in ("-f", "-e", "-r"):
        raise NotLifted("a test of a file")
    left, right, operator = _expanded(node.left), _expanded(node.right), node.operator

    def run(frame: Frame) -> int:
        a = left(frame.values)
        if operator in ("=^", "!^"):
            return int(a.startswith(right(frame.values)) is (operator == "!^"))
        if operator in ("-n", "-z"):
            return int((a == "") is (operator == "-n"))
        return int((a == right(frame.values)) is (operator == "!="))

    return run


def _nothing(_body: Body, node: tree.Nothing) -> Run:
    status = node.status
    return lambda _: status


def engine(node: tree.Jq, fixed: Mapping[str, str], engines: list[JqLine]) -> JqLine:
    """The engine of a jq command.

    Raises:
        NotLifted: program, options or arguments are not lifted.
    """
    for name in names(node.program):
        if name not in fixed:
            raise NotLifted(f"jq with a program that depends on ${name}")
    values: dict[str, Any] = {}
    for name, word, is_json in node.arguments:
        if not names(word) <= fixed.keys():
            raise NotLifted(f"jq --arg {name} with a value that depends on the line")
        text = expand(word, fixed)
        if len(text) > _LONGEST_ARGUMENT or not _plain_utf8(text):
            raise NotLifted(f"jq --arg {name} with a value that is very long, or no UTF-8")
        if is_json and not _JSON_ARGUMENT.fullmatch(text):
            raise NotLifted(f"jq --argjson {name} {text[:40]}")
        values[name] = json.loads(text) if is_json else text
    program = expand(node.program, fixed)
    if len(program) > _LONGEST_ARGUMENT or program.startswith("-"):
        raise NotLifted("a jq program that starts with a dash, or is very long")
    made = JqLine.compile(program, node.options, values)
    engines.append(made)
    return made


def _plain_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


PLAIN: dict[type, Callable[[Body, Any], Run]] = {
    tree.Jq: _jq,
    tree.Say: _say,
    tree.Tool: _tool,
    tree.Test: _test,
    tree.Nothing: _nothing,
}
