"""The built-ins that are lifted. A name that is missing here is not lifted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.stream.lift.faults import NotLifted
from bridge.stream.lift.jqlang.builtins import KINDS, PLAIN, WITH_ARGUMENT
from bridge.stream.lift.jqlang.code import Code, scalar
from bridge.stream.lift.jqlang.generators import GENERATORS
from bridge.stream.lift.jqlang.regexes import REGEXES

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.stream.lift.jqlang import tree
    from bridge.stream.lift.jqlang.code import Emit
    from bridge.stream.lift.jqlang.compiler import Compiler
    from bridge.stream.lift.jqlang.values import Value

__all__ = ["word"]

_HOST = frozenset(
    {"input", "inputs", "debug", "stderr", "input_line_number", "input_filename", "halt", "halt_error"}
)
_HOST |= {"env", "now", "localtime", "mktime", "gmtime", "get_search_list", "modulemeta", "builtins"}


def word(compiler: Compiler, node: tree.Call) -> Code:
    """The code of a call.

    Raises:
        NotLifted: the name, with this number of arguments, is not lifted.
    """
    name = f"{node.name}/{len(node.arguments)}"
    if not node.arguments and node.name in PLAIN:
        return scalar(PLAIN[node.name])
    if not node.arguments and node.name in KINDS:
        return _kept(KINDS[node.name])
    special = GENERATORS.get(name) or REGEXES.get(name)
    if special is not None:
        return special(compiler, *node.arguments)
    if name in WITH_ARGUMENT:
        work = WITH_ARGUMENT[name]
        argument = compiler.one(node.arguments[0], f"an argument of `{node.name}`")
        return scalar(lambda value: work(value, argument(value)))
    if node.name in _HOST:
        raise NotLifted(f"jq: `{node.name}` is about the process around it")
    raise NotLifted(f"jq: `{name}` is not among the words that are lifted")


def _kept(test: Callable[[Value], bool]) -> Code:
    def each(value: Value, emit: Emit) -> None:
        if test(value):
            emit(value)

    return Code(each)
