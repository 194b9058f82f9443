"""Built-ins with regular expressions: the binding answers them, one string at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bridge.stream.lift.faults import JqError, NotLifted
from bridge.stream.lift.jqlang import tree
from bridge.stream.lift.jqlang.code import Code, scalar

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.stream.lift.jqlang.compiler import Compiler
    from bridge.stream.lift.jqlang.values import Value

__all__ = ["REGEXES"]


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


def _test(_compiler: Compiler, pattern: tree.Node, flags: tree.Node | None = None) -> Code:
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
    def made(_compiler: Compiler, pattern: tree.Node, new: tree.Node) -> Code:
        import jq

        regex = _constant_text(pattern, "a regular expression")
        text = _constant_text(new, "a replacement")
        if not _SOLID.fullmatch(regex):
            raise NotLifted(f"jq: `{name}` of {regex!r}")
        return _on_strings(jq.compile(f"{name}($re; $new)", args={"re": regex, "new": text}))

    return made


REGEXES: dict[str, Callable[..., Code]] = {
    "test/1": _test,
    "test/2": _test,
    "gsub/2": _replacing("gsub"),
    "sub/2": _replacing("sub"),
}
