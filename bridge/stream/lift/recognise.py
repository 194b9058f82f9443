"""From the text of a function to the tree of a hook; whatever isn't understood completely is refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bridge.stream.lift import shelltree as tree
from bridge.stream.lift.commands import COMMANDS, SAFE, Call
from bridge.stream.lift.faults import NotLifted
from bridge.stream.lift.quotes import prepared
from bridge.stream.lift.words import Word, constant, parse_word

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["recognise"]


def recognise(definition: str, functions: Collection[str] = ()) -> tree.Statement:
    """The body of a function as a tree.

    Args:
        definition: the function as ``declare -f`` prints it.
        functions: names of functions and aliases of the script: a command of such a name isn't the usual one.

    Raises:
        NotLifted: with the reason.
    """
    if "\\\n" in definition or "\0" in definition or "`" in definition:
        raise NotLifted("a line continued with a backslash, backquotes, or a NUL")
    reader, found = _parsed(definition, frozenset(functions))
    if len(found) != 1 or found[0].kind != "function":
        raise NotLifted("not one function definition")
    body = found[0].body
    if body.redirects or body.list[0].word != "{":
        raise NotLifted("a function whose body isn't in braces, or is redirected as a whole")
    return reader.block(body.list[1:-1])


def _parsed(text: str, functions: frozenset[str]) -> tuple[_Reader, list[Any]]:
    # 90 ms on a cold start: only whoever lifts pays for it.
    import bashlex

    source, masked = prepared(text)
    try:
        return _Reader(source, functions), bashlex.parse(masked)
    except Exception as error:  # bashlex has errors of its own, and others when it is surprised
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise NotLifted(f"its grammar: {first}") from error


class _Reader:
    def __init__(self, source: str, functions: frozenset[str]) -> None:
        self.source = source
        self.functions = functions

    # -- lists ---------------------------------------------------------------------------------------

    def block(self, nodes: list[Any]) -> tree.Statement:
        """What stands between two reserved words."""
        if len(nodes) != 1:
            raise NotLifted("an unusual compound command")
        return self.statement(nodes[0])

    def statement(self, node: Any) -> tree.Statement:
        if node.kind == "list":
            return self.sequence(node.parts)
        if node.kind == "pipeline":
            return self.pipeline(node)
        if node.kind == "command":
            return self.command(node)
        if node.kind == "compound":
            return self.compound(node)
        raise NotLifted(f"`{node.kind}`")

    def sequence(self, parts: list[Any]) -> tree.Statement:
        statements: list[tree.Statement] = []
        pending: str | None = None
        for part in parts:
            if part.kind == "operator":
                pending = None if part.op in (";", "\n") else part.op
                if part.op not in (";", "\n", "&&", "||"):
                    raise NotLifted(f"`{part.op}`")
            elif pending is None:
                statements.append(self.statement(part))
            else:
                statements[-1] = tree.AndOr(pending, statements[-1], self.statement(part))
        return statements[0] if len(statements) == 1 else tree.Sequence(tuple(statements))

    def pipeline(self, node: Any) -> tree.Statement:
        stages: list[Any] = []
        inverted = node.parts[0].kind == "reservedword"
        for part in node.parts[inverted:]:
            if part.kind == "reservedword":
                raise NotLifted(f"`{part.word}`")
            if part.kind == "pipe":
                if part.pipe != "|":
                    raise NotLifted(f"`{part.pipe}`")
                continue
            stages.append(self.stage(part))
        found = tree.Pipeline(tuple(stages))
        return tree.Not(found) if inverted else found

    def stage(self, node: Any) -> tree.Statement:
        found = self.statement(node)
        if isinstance(found, tree.AndOr) and found.word == "||" and found.right == tree.Nothing(0):
            found = tree.Pipeline((found.left,), ignored=True)  # type: ignore[arg-type]
        if isinstance(found, tree.Pipeline):
            for part in found.stages:
                self.allowed(part)
            return found
        return self.allowed(found)

    def allowed(self, found: tree.Statement) -> tree.Statement:
        if not isinstance(found, tree.Say | tree.Jq | tree.Tool | tree.Loop | tree.Present):
            raise NotLifted("a pipeline of something else than echo, printf, jq, text tools and loops")
        return found

    # -- compound commands ---------------------------------------------------------------------------

    def compound(self, node: Any) -> tree.Statement:
        first = node.list[0]
        if first.kind == "while":
            return self.loop(first, node)
        if node.redirects:
            raise NotLifted("a redirected block")
        if first.kind == "if":
            return self.conditional(first.parts)
        if first.kind == "reservedword" and first.word == "{":
            return self.block(node.list[1:-1])
        raise NotLifted("a subshell" if getattr(first, "word", "") == "(" else f"`{first.kind}`")

    def conditional(self, parts: list[Any]) -> tree.Statement:
        if len(parts) < 5 or parts[2].word != "then":
            raise NotLifted("an unusual `if`")
        test, yes, rest = self.statement(parts[1]), self.statement(parts[3]), parts[4:]
        word = rest[0].word
        if word == "fi":
            return tree.If(test, yes, None)
        if word == "elif":
            return tree.If(test, yes, self.conditional(rest))
        return tree.If(test, yes, self.statement(rest[1]))

    def loop(self, node: Any, outer: Any) -> tree.Loop:
        parts = node.parts
        if len(parts) != 5 or parts[2].word != "do":
            raise NotLifted("an unusual `while`")
        name, strip, last = self.reading(self.sequence_of(parts[1]))
        file = None
        for redirect in outer.redirects:
            file = self.input_file(redirect)
        if len(outer.redirects) > 1:
            raise NotLifted("two redirections of one loop")
        return tree.Loop(name, self.statement(parts[3]), strip, last, file)

    def sequence_of(self, node: Any) -> list[Any]:
        parts = node.parts if node.kind == "list" else [node]
        return [part for part in parts if not (part.kind == "operator" and part.op in (";", "\n"))]

    def reading(self, parts: list[Any]) -> tuple[str, bool, bool]:
        """``IFS= read -r name``, perhaps with ``|| [ -n "$name" ]``."""
        read = parts[0]
        if read.kind != "command":
            raise NotLifted("a loop on something else than `read`")
        texts = [self.text(part) for part in read.parts]
        strip = texts[0] != "IFS="
        texts = texts if strip else texts[1:]
        self.usual("read")
        if len(texts) != 3 or texts[:2] != ["read", "-r"] or not re.fullmatch(r"[A-Za-z_]\w*", texts[2], re.ASCII):
            raise NotLifted(f"`{' '.join(texts)}` (what is understood is `read -r NAME`)")
        name = texts[2]
        if len(parts) == 1:
            return name, strip, False
        if len(parts) == 3 and getattr(parts[1], "op", "") == "||":
            guard = self.statement(parts[2])
            if isinstance(guard, tree.Test) and guard.operator == "-n" and guard.left == parse_word(f'"${name}"'):
                return name, strip, True
        raise NotLifted("an unusual condition of the loop")

    # -- commands ------------------------------------------------------------------------------------

    def text(self, node: Any) -> str:
        return self.source[node.pos[0] : node.pos[1]]

    def usual(self, name: str) -> None:
        if name in self.functions:
            raise NotLifted(f"`{name}` is a function or alias of the script")

    def word(self, node: Any) -> Word:
        return parse_word(self.text(node))

    def input_file(self, redirect: Any) -> Word:
        if redirect.kind != "redirect" or redirect.type != "<" or redirect.input not in (None, 0):
            raise NotLifted("a redirection other than `< file`")
        return self.word(redirect.output)

    def command(self, node: Any) -> tree.Statement:
        if any(part.kind == "assignment" for part in node.parts):
            return self.assignment(node)
        words = [part for part in node.parts if part.kind == "word"]
        if not words or len(words) + sum(part.kind == "redirect" for part in node.parts) != len(node.parts):
            raise NotLifted("an unusual command")
        name = self.text(words[0])
        if [self.text(part) for part in node.parts] == ["grep", "-a", "''"]:
            self.usual("grep")
            return tree.Present()
        if name not in COMMANDS:
            raise NotLifted(f"the command `{name[:40]}`")
        self.usual(name)
        if name == "local":
            return self.locals(words[1:])
        call = Call(name, tuple(self.word(word) for word in words[1:]))
        for redirect in node.parts:
            if redirect.kind == "redirect":
                call = self.redirected(call, redirect)
        return COMMANDS[name](call)

    def redirected(self, call: Call, redirect: Any) -> Call:
        kind, source = redirect.type, redirect.input
        if kind == "<<<" and source in (None, 0) and call.here is None and call.file is None:
            return call._replace(here=self.word(redirect.output))
        if kind == "<" and call.here is None and call.file is None:
            return call._replace(file=self.input_file(redirect))
        devnull = kind in (">", "&>") and constant(self.word(redirect.output)) == "/dev/null"
        if devnull and call.name == "jq" and not call.mute and (source in (None, 1) or kind == "&>"):
            return call._replace(mute=True, quiet=call.quiet or kind == "&>")
        if kind == ">&" and source == 2 and redirect.output == 1 and call.mute and not call.quiet:
            return call._replace(quiet=True)
        if kind == ">" and source == 2 and constant(self.word(redirect.output)) == "/dev/null" and not call.quiet:
            return call._replace(quiet=True)
        raise NotLifted(f"the redirection {self.text(redirect)}")

    def assignment(self, node: Any) -> tree.Statement:
        if len(node.parts) != 1:
            raise NotLifted("an assignment before a command, or several in one")
        return self.assigned(node.parts[0], local=False)

    def assigned(self, node: Any, *, local: bool) -> tree.Statement:
        name, _, value = self.text(node).partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in SAFE:
            raise NotLifted(f"an assignment to {name}")
        inner = value[1:-1] if value.startswith('"$(') and value.endswith(')"') else value
        if not inner.startswith("$("):
            return tree.Assign(name, parse_word(value), local)
        if len(node.parts) != 1 or not inner.endswith(")") or inner.startswith("$(("):
            raise NotLifted(f"the value of {name}")
        # The last `:` is for bashlex, which knows no `||` at the end of a substitution.
        reader, found = _parsed(inner[2:-1].strip() + "; :", self.functions)
        if len(found) != 1 or found[0].kind != "list" or found[0].parts[-2].op != ";":
            raise NotLifted(f"the value of {name}")
        return tree.Assign(name, tree.Capture(reader.sequence(found[0].parts[:-2])), local)

    def locals(self, words: list[Any]) -> tree.Statement:
        made: list[tree.Statement] = []
        for word in words:
            text = self.text(word)
            if re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII) and text not in SAFE:
                made.append(tree.Assign(text, (), local=True))
            else:
                made.append(self.assigned(word, local=True))
        if not made:
            raise NotLifted("`local` without names")
        return made[0] if len(made) == 1 else tree.Sequence(tuple(made))
