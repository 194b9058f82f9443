"""The built-ins that are lifted. A name that is missing here is not lifted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bridge.stream.lift import jqtree as tree
from bridge.stream.lift.faults import Doubt, JqError, NotLifted
from bridge.stream.lift.jqoperators import add, iterate
from bridge.stream.lift.jqprogram import Code, piped, scalar
from bridge.stream.lift.jqvalues import Fraction, Value, scanner, truthy, type_of, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.stream.lift.jqprogram import Compiler, Emit

__all__ = ["word"]

_HOST = frozenset(
    "input inputs debug stderr input_line_number input_filename halt halt_error env now localtime mktime gmtime"
    " get_search_list modulemeta input_line_number builtins".split()
)


def word(compiler: Compiler, node: tree.Call) -> Code:
    """The code of a call.

    Raises:
        NotLifted: the name, with this number of arguments, is not lifted.
    """
    name = f"{node.name}/{len(node.arguments)}"
    if not node.arguments and node.name in _PLAIN:
        return scalar(_PLAIN[node.name])
    if not node.arguments and node.name in _TYPES:
        return _kept(_TYPES[node.name])
    if name in _SPECIAL:
        return _SPECIAL[name](compiler, *node.arguments)
    if name in _WITH_VALUE:
        work = _WITH_VALUE[name]
        argument = compiler.one(node.arguments[0], f"an argument of `{node.name}`")
        return scalar(lambda value: work(value, argument(value)))
    if node.name in _HOST:
        raise NotLifted(f"jq: `{node.name}` is about the process around it")
    raise NotLifted(f"jq: `{name}` is not among the words that are lifted")


# -- one value in, one out ---------------------------------------------------------------------------


def _length(value: Value) -> Value:
    if value is None:
        return 0
    if type(value) in (str, list, dict):
        return len(value)
    if type(value) is bool:
        raise JqError
    if type(value) is int:
        return whole(abs(value))
    raise Doubt


def _keys(value: Value) -> Value:
    if type(value) is dict:
        return sorted(value)
    return _keys_unsorted(value)


def _keys_unsorted(value: Value) -> Value:
    if type(value) is dict:
        return list(value)
    if type(value) is list:
        return list(range(len(value)))
    raise JqError


def _to_entries(value: Value) -> Value:
    if type(value) is dict:
        return [{"key": key, "value": item} for key, item in value.items()]
    raise Doubt


def _sum(value: Value) -> Value:
    items = list(iterate(value))
    if len(items) > 1 and all(type(item) is str for item in items):
        return "".join(items)
    total: Value = None
    for item in items:
        total = add(total, item)
    return total


def _item(at: int) -> Callable[[Value], Value]:
    def one(value: Value) -> Value:
        if type(value) is list:
            return value[at] if value else None
        if value is None:
            return None
        raise JqError

    return one


def _cased(first: str, last: str, shift: int) -> Callable[[Value], Value]:
    letters = {code: code + shift for code in range(ord(first), ord(last) + 1)}

    def one(value: Value) -> Value:
        if type(value) is not str:
            raise JqError
        return value.translate(letters)

    return one


def _tonumber(value: Value) -> Value:
    if type(value) in (int, Fraction):
        return value
    if type(value) is str and re.fullmatch(r"[1-9][0-9]{0,14}|0", value, re.ASCII):
        return int(value)
    raise Doubt


def _fromjson(value: Value) -> Value:
    if type(value) is not str:
        raise Doubt  # null is null before 1.7
    if value[:1] not in ("{", "[", '"') or re.search(r"\\u[dD]|\x00", value):
        raise Doubt
    if value.count("[") + value.count("{") > 250:
        raise Doubt
    try:
        found, end = scanner()(value, 0)
    except (ValueError, StopIteration, RecursionError):
        raise Doubt from None
    if end != len(value):
        raise Doubt
    return found


def _floor(value: Value) -> Value:
    if type(value) is int:
        return value
    if type(value) is not Fraction:
        raise JqError
    if value.plain <= 1:
        raise Doubt
    return int(value.plain)


def _reverse(value: Value) -> Value:
    if type(value) is not list:
        raise Doubt
    return value[::-1]


_PLAIN: dict[str, Callable[[Value], Value]] = {
    ".": lambda value: value,
    "not": lambda value: not truthy(value),
    "type": type_of,
    "length": _length,
    "keys": _keys,
    "keys_unsorted": _keys_unsorted,
    "to_entries": _to_entries,
    "add": _sum,
    "first": _item(0),
    "last": _item(-1),
    "ascii_downcase": _cased("A", "Z", 32),
    "ascii_upcase": _cased("a", "z", -32),
    "tonumber": _tonumber,
    "fromjson": _fromjson,
    "floor": _floor,
    "reverse": _reverse,
}

_TYPES: dict[str, Callable[[Value], bool]] = {
    "nulls": lambda value: value is None,
    "values": lambda value: value is not None,
    "booleans": lambda value: type(value) is bool,
    "numbers": lambda value: type(value) in (int, Fraction),
    "strings": lambda value: type(value) is str,
    "arrays": lambda value: type(value) is list,
    "objects": lambda value: type(value) is dict,
    "iterables": lambda value: type(value) in (list, dict),
    "scalars": lambda value: type(value) not in (list, dict),
}


def _kept(test: Callable[[Value], bool]) -> Code:
    def each(value: Value, emit: Emit) -> None:
        if test(value):
            emit(value)

    return Code(each)


# -- a value and an argument -------------------------------------------------------------------------


def _two_strings(value: Value, argument: Value) -> None:
    if type(value) is not str or type(argument) is not str:
        raise JqError


def _startswith(value: Value, argument: Value) -> Value:
    _two_strings(value, argument)
    return value.startswith(argument)


def _endswith(value: Value, argument: Value) -> Value:
    _two_strings(value, argument)
    return value.endswith(argument)


def _trimmed(method: str) -> Callable[[Value, Value], Value]:
    def work(value: Value, argument: Value) -> Value:
        if type(value) is not str or type(argument) is not str:
            raise Doubt
        return getattr(value, method)(argument)

    return work


def _split(value: Value, argument: Value) -> Value:
    _two_strings(value, argument)
    if not argument:
        return list(value)
    return value.split(argument) if value else []


def _contains(value: Value, argument: Value) -> Value:
    if type(value) is not str or type(argument) is not str or "\0" in value or "\0" in argument:
        raise Doubt
    return argument in value


def _has(value: Value, argument: Value) -> Value:
    if type(value) is dict and type(argument) is str:
        return argument in value
    if type(value) is list and type(argument) is int:
        return 0 <= argument < len(value)
    raise Doubt if value is None else JqError  # false before 1.7


_WITH_VALUE: dict[str, Callable[[Value, Value], Value]] = {
    "startswith/1": _startswith,
    "endswith/1": _endswith,
    "ltrimstr/1": _trimmed("removeprefix"),
    "rtrimstr/1": _trimmed("removesuffix"),
    "split/1": _split,
    "contains/1": _contains,
    "has/1": _has,
}


# -- with programs as arguments ----------------------------------------------------------------------


class _Enough(Exception):  # noqa: N818
    """Ends a generator of which no more is wanted."""


def _empty(_: Compiler) -> Code:
    return Code(lambda value, emit: None)


def _error(compiler: Compiler, message: tree.Node | None = None) -> Code:
    text = compiler.one(message, "an error's text") if message is not None else (lambda value: value)

    def one(value: Value) -> Value:
        raise JqError if type(text(value)) is str else Doubt

    return scalar(one)


def _select(compiler: Compiler, test: tree.Node) -> Code:
    code = compiler.compile(test)
    if code.one is None:

        def each(value: Value, emit: Emit) -> None:
            code.each(value, lambda out: emit(value) if truthy(out) else None)

        return Code(each)
    one = code.one

    def each_one(value: Value, emit: Emit) -> None:
        found = one(value)
        if found is not None and found is not False:
            emit(value)

    return Code(each_one)


def _map(compiler: Compiler, step: tree.Node) -> Code:
    return compiler.compile(tree.Array(tree.Pipe(tree.Iterate(None, optional=False), step)))


def _tostring(compiler: Compiler) -> Code:
    return scalar(compiler.writer.text)


def _tojson(compiler: Compiler) -> Code:
    return scalar(compiler.writer.to_json)


def _join(compiler: Compiler, separator: tree.Node) -> Code:
    between = compiler.one(separator, "an argument of `join`")
    text = compiler.writer.text

    def one(value: Value) -> Value:
        items = list(iterate(value))
        glue = between(value)
        if type(glue) is not str or any(type(item) in (list, dict) for item in items):
            raise JqError if len(items) > 1 and type(glue) is str else Doubt
        return glue.join(["" if item is None else text(item) for item in items])

    return scalar(one)


def _first(compiler: Compiler, source: tree.Node) -> Code:
    return _limit(compiler, tree.Literal(1), source)


def _limit(compiler: Compiler, count: tree.Node, source: tree.Node) -> Code:
    most = count.value if isinstance(count, tree.Literal) else 0
    if type(most) is not int or most < 1:
        raise NotLifted("jq: `limit` whose number isn't a constant above 0")
    each_source = compiler.breaking(source).each
    wanted = most

    def each(value: Value, emit: Emit) -> None:
        found: list[Value] = []

        def keep(out: Value) -> None:
            found.append(out)
            if len(found) >= wanted:
                raise _Enough

        failure: JqError | None = None
        try:
            each_source(value, keep)
        except _Enough:
            pass
        except JqError as error:
            failure = error
        for out in found:
            emit(out)
        if failure is not None:
            raise failure

    return Code(each)


def _last(compiler: Compiler, source: tree.Node) -> Code:
    each_source = compiler.compile(source).each

    def each(value: Value, emit: Emit) -> None:
        found: list[Value] = []
        each_source(value, lambda out: found.__setitem__(slice(None), [out]))
        if not found:
            raise Doubt  # null before 1.8, nothing since
        emit(found[0])

    return Code(each)


def _quantified(wanted: bool) -> Callable[..., Code]:
    def made(compiler: Compiler, *arguments: tree.Node) -> Code:
        items: tree.Node = arguments[0] if len(arguments) == 2 else tree.Iterate(None, optional=False)
        test: tree.Node = arguments[-1] if arguments else tree.Call(".")
        source = piped(compiler.breaking(items), compiler.breaking(test)).each

        def stop(out: Value) -> None:
            if truthy(out) is wanted:
                raise _Enough

        def one(value: Value) -> Value:
            try:
                source(value, stop)
            except _Enough:
                return wanted
            return not wanted

        return scalar(one)

    return made


def _constant_text(node: tree.Node, where: str) -> str:
    if not isinstance(node, tree.Literal) or not isinstance(node.value, str):
        raise NotLifted(f"jq: {where} that isn't a constant string")
    return node.value


def _on_strings(engine: Any) -> Code:
    """A built-in that the binding answers, one string at a time."""

    def one(value: Value) -> Value:
        if type(value) is not str:
            raise JqError
        return engine.input_value(value).first()

    return scalar(one)


# Of regular expressions: characters, sets, the usual classes and repetitions. No groups with `?`.
_REGEX = re.compile(r"(?:[^\\\[\](){}?*+\x00]|\\[.\\*+?^$|()\[\]{}/dwsntrDWS-]|\[\^?[^\\\[\]]+\]|[()*+?])*")
# What can't match an empty text: one thing, repeated or not.
_SOLID = re.compile(r"(?:[^\\\[\](){}?*+^$|\x00]|\\[.\\*+?^$|()\[\]{}/dwsntr]|\[[^\\\[\]^][^\\\[\]]*\])+\+?")


def _test(compiler: Compiler, pattern: tree.Node, flags: tree.Node | None = None) -> Code:
    import jq

    regex = _constant_text(pattern, "a regular expression")
    with_flags = _constant_text(flags, "flags") if flags is not None else ""
    if not _REGEX.fullmatch(regex) or "(?" in regex or with_flags not in ("", "i"):
        raise NotLifted(f"jq: the regular expression {regex!r} with flags {with_flags!r}")
    engine = jq.compile("test($re; $flags)", args={"re": regex, "flags": with_flags})
    try:
        engine.input_value("").first()
    except ValueError as error:
        raise NotLifted(f"jq: the regular expression {regex!r}: {error}") from error
    return _on_strings(engine)


def _replacing(name: str) -> Callable[[Compiler, tree.Node, tree.Node], Code]:
    def made(compiler: Compiler, pattern: tree.Node, new: tree.Node) -> Code:
        import jq

        regex = _constant_text(pattern, "a regular expression")
        text = _constant_text(new, "a replacement")
        if not _SOLID.fullmatch(regex):
            raise NotLifted(f"jq: `{name}` of {regex!r}")
        return _on_strings(jq.compile(f"{name}($re; $new)", args={"re": regex, "new": text}))

    return made


_SPECIAL: dict[str, Callable[..., Code]] = {
    "empty/0": _empty,
    "error/0": _error,
    "error/1": _error,
    "select/1": _select,
    "map/1": _map,
    "tostring/0": _tostring,
    "tojson/0": _tojson,
    "join/1": _join,
    "recurse/0": lambda compiler: compiler.compile(tree.Recurse()),
    "first/1": _first,
    "limit/2": _limit,
    "last/1": _last,
    "any/0": _quantified(True),
    "any/1": _quantified(True),
    "any/2": _quantified(True),
    "all/0": _quantified(False),
    "all/1": _quantified(False),
    "all/2": _quantified(False),
    "test/1": _test,
    "test/2": _test,
    "gsub/2": _replacing("gsub"),
    "sub/2": _replacing("sub"),
}
