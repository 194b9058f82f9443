"""From the text of a function to a loop over lines with one jq; whatever isn't understood completely is bash's."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bridge.scripts.stream.filters.loops import JqCall, LineLoop, LoopHook, Printing, Test
from bridge.scripts.stream.filters.shelltext import NotUnderstood, constant, prepared, refuse_if, variables_of

if TYPE_CHECKING:
    from collections.abc import Collection

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_KEPT = re.compile(r"IFS|PATH|LANG(?:UAGE)?|LC_\w+|HOME|ENV|TMOUT|POSIXLY_CORRECT|TZ|__rb_\w+", re.ASCII)
_NOTHING = ("true", ":")
_SURPRISES = (AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)  # bashlex's own


def recognise(definition: str, functions: Collection[str] = ()) -> LoopHook:
    """What a function, as ``declare -f`` prints it, does with lines; NotUnderstood, with the reason.

    Args:
        functions: names of functions and aliases of the script: a command of such a name isn't the usual one.
    """
    if "\\\n" in definition or "\0" in definition or "`" in definition:
        raise NotUnderstood("a line continued with a backslash, backquotes, or a NUL")
    source, found = _parsed(definition)
    refuse_if(len(found) != 1 or found[0].kind != "function", "not one function definition")
    body = found[0].body
    if body.redirects or body.list[0].word != "{" or len(body.list) != 3:
        raise NotUnderstood("a function whose body isn't in braces, or is redirected as a whole")
    return _LoopReader(definition, source, frozenset(functions)).hook(body.list[1])


def _parsed(text: str) -> tuple[str, list[Any]]:
    # 90 ms on a cold start: only whoever meets a filter pays for it.
    import bashlex

    source, masked = prepared(text)
    try:
        return source, bashlex.parse(masked)
    except (bashlex.errors.ParsingError, *_SURPRISES) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise NotUnderstood(f"its grammar: {first}") from error


def _is_variable(word: str, name: str) -> bool:
    return word in (f'"${name}"', f'"${{{name}}}"')


class _LoopReader:
    def __init__(self, original: str, source: str, functions: frozenset[str]) -> None:
        self.original = original  # with its [[ ]]
        self.source = source
        self.functions = functions
        self.name = ""  # of the variable that the loop reads

    def text(self, node: Any) -> str:
        return self.source[node.pos[0] : node.pos[1]]

    def usual(self, command: str) -> None:
        refuse_if(command in self.functions, f"`{command}` is a function or alias of the script")

    def words(self, node: Any) -> list[str]:
        """The words of a simple command without redirections; nothing for anything else."""
        if node.kind == "list":
            rows = self.statements(node)
            return self.words(rows[0][0][1]) if len(rows) == len(rows[0]) == 1 else []
        if node.kind != "command" or any(part.kind != "word" for part in node.parts):
            return []
        return [self.text(part) for part in node.parts]

    def statements(self, node: Any) -> list[list[tuple[str, Any]]]:
        """A list as statements, each a row of commands and the operators before them."""
        if node.kind != "list":
            return [[("", node)]]
        rows: list[list[tuple[str, Any]]] = []
        operator = ";"
        for part in node.parts:
            if part.kind == "operator":
                operator = part.op
            elif operator in (";", "\n"):
                rows.append([("", part)])
            elif operator in ("&&", "||"):
                rows[-1].append((operator, part))
            refuse_if(part.kind == "operator" and operator not in (";", "\n", "&&", "||"), f"`{operator}`")
            if part.kind != "operator":
                operator = ";"
        return rows

    def nothing(self, node: Any, *more: str) -> bool:
        words = self.words(node)
        if len(words) != 1 or words[0] not in (*_NOTHING, *more):
            return False
        self.usual(words[0])
        return True

    # -- the function ----------------------------------------------------------------------------------

    def hook(self, node: Any) -> LoopHook:
        rows = self.statements(node)
        first = next((at for at, row in enumerate(rows) if self.has_loop(row)), None)
        if first is None:
            raise NotUnderstood("no filter: no loop over lines")
        for row in rows[:first]:
            self.check_setup(row)
        succeeds = bool(behind := rows[first + 1 :])
        if succeeds:
            single, last = len(behind) == len(behind[0]) == 1, behind[0][0][1]
            if not single or (self.words(last) != ["return", "0"] and not self.nothing(last)):
                raise NotUnderstood("several commands, one after the other")
            self.usual("return")
        setup = self.original[rows[0][0][1].pos[0] : rows[first][0][1].pos[0]] if first else ""
        return self.looping(rows[first], setup, succeeds)

    def has_loop(self, row: list[tuple[str, Any]]) -> bool:
        node = row[0][1]
        if node.kind == "pipeline":
            node = node.parts[0]
        return bool(node.kind == "compound" and node.list[0].kind == "while")

    def looping(self, row: list[tuple[str, Any]], setup: str, succeeds: bool) -> LoopHook:
        (_, node), *rest = row
        if rest and rest[-1][0] == "||" and self.nothing(rest[-1][1]):
            succeeds = True
            rest.pop()
        if node.kind == "compound" and not rest:
            return LoopHook(setup, (self.loop(node),), succeeds)
        present = node.kind == "pipeline" and len(node.parts) == 3 and node.parts[1].kind == "pipe"
        if not present or node.parts[1].pipe != "|" or self.words(node.parts[2]) != ["grep", "-a", "''"]:
            raise NotUnderstood("a loop within a pipeline")
        self.usual("grep")
        if len(rest) != 1 or rest[0][0] != "||" or not self.has_loop([rest[0]]) or rest[0][1].kind != "compound":
            raise NotUnderstood("a loop within a pipeline")
        loops = self.loop(node.parts[0]), self.loop(rest[0][1])
        if loops[0].file is None or loops[0].file != loops[1].file or not all(loop.ignored for loop in loops):
            raise NotUnderstood("two loops that don't read the same file, or of which one may fail")
        return LoopHook(setup, loops, True)

    def check_setup(self, row: list[tuple[str, Any]]) -> None:
        node = row[0][1]
        refuse_if(node.kind != "command" or not node.parts, "several commands, one after the other")
        if len(row) == 2 and row[1][0] == "||":
            words = self.words(row[1][1])
            if self.file_test(node) and words[:1] == ["return"] and re.fullmatch("[0-9]{0,3}", "".join(words[1:])):
                return
        refuse_if(len(row) != 1, "several commands, one after the other")
        words = [self.text(part) for part in node.parts]
        if words[0] in ("local", "declare", "typeset"):
            self.usual(words.pop(0))
        elif any(part.kind != "assignment" for part in node.parts):
            raise NotUnderstood(f"the command `{words[0][:40]}`")
        for word in words:
            name, _, value = word.partition("=")
            refuse_if(not _NAME.fullmatch(name) or _KEPT.fullmatch(name), f"an assignment to {name}")
            variables_of(value)

    def file_test(self, node: Any) -> bool:
        words = self.words(node)
        if len(words) != 4 or words[0] != "[" or words[1] not in ("-f", "-e", "-r", "-s") or words[3] != "]":
            return False
        self.usual("[")
        variables_of(words[2])
        return True

    # -- the loop --------------------------------------------------------------------------------------

    def loop(self, outer: Any) -> LineLoop:
        node = outer.list[0]
        parts = node.parts
        refuse_if(len(parts) != 5 or parts[2].word != "do" or parts[0].word != "while", "an unusual `while`")
        file = None
        for redirect in outer.redirects:
            if redirect.kind != "redirect" or redirect.type != "<" or redirect.input not in (None, 0) or file:
                raise NotUnderstood("a redirection of the loop other than `< file`")
            file = self.text(redirect.output)
            variables_of(file)
        strip, keep_last = self.reading(parts[1])
        text = self.original[node.pos[0] : node.pos[1]]
        loop = LineLoop(name=self.name, text=text, file=file, strip=strip, keep_last=keep_last)
        self.body(parts[3], loop)
        return loop

    def reading(self, node: Any) -> tuple[bool, bool]:
        """``IFS= read -r name``, perhaps ``|| [ -n "$name" ]``: whether blanks go, and the last line counts."""
        rows = self.statements(node)
        refuse_if(len(rows) != 1 or rows[0][0][1].kind != "command", "an unusual condition of the loop")
        (_, read), *rest = rows[0]
        words = [self.text(part) for part in read.parts]
        strip = words[:1] != ["IFS="]
        words = words if strip else words[1:]
        self.usual("read")
        if len(words) != 3 or words[:2] != ["read", "-r"] or not _NAME.fullmatch(words[2]):
            raise NotUnderstood(f"`{' '.join(words)[:40]}` (what is understood is `read -r NAME`)")
        refuse_if(_KEPT.fullmatch(words[2]), f"an assignment to {words[2]}")
        self.name = words[2]
        if rest and (len(rest) != 1 or rest[0][0] != "||" or self.test(rest[0][1]) != Test("-n")):
            raise NotUnderstood("an unusual condition of the loop")
        return strip, bool(rest)

    def is_line(self, word: str) -> bool:
        return _is_variable(word, self.name)

    def test(self, node: Any) -> Test | None:
        words = self.words(node)
        if words[:1] != ["["] or words[-1] != "]":
            return None
        self.usual("[")
        inner = words[1:-1]
        if len(inner) == 2 and inner[0] in ("-n", "-z") and self.is_line(inner[1]):
            return Test("-n", negated=inner[0] == "-z")
        text = constant(inner[2]) if len(inner) == 3 else None
        if text is None or not self.is_line(inner[0]) or inner[1] not in ("=", "==", "!=", "=^", "!^"):
            raise NotUnderstood(f"the test {' '.join(words)[:60]}")
        return Test("=^" if "^" in inner[1] else "=", text, inner[1][0] == "!")

    # -- its body --------------------------------------------------------------------------------------

    def body(self, node: Any, loop: LineLoop) -> None:
        rows = self.statements(node)
        while rows and (found := self.skipped(rows[0])):
            loop.skip.append(found)
            rows.pop(0)
        while rows and self.declared(rows[0]):
            rows.pop(0)
        if rows and (captured := self.capture(rows)):
            loop.jq, loop.captured, loop.ignored = captured
        elif len(rows) == 1:
            self.filtering(rows[0], loop)
        else:
            raise NotUnderstood("several commands, one after the other, in the loop")

    def skipped(self, row: list[tuple[str, Any]]) -> Test | None:
        """``[ -n "$line" ] || continue``, ``if [ -z "$line" ]; then continue; fi``: of which lines."""
        node = row[0][1]
        if len(row) == 2 and self.words(row[1][1]) == ["continue"]:
            test = self.test(node)
            if test is not None:
                self.usual("continue")
                return replace(test, negated=not test.negated) if row[1][0] == "||" else test
        if len(row) == 1 and node.kind == "compound" and node.list[0].kind == "if" and not node.redirects:
            parts = node.list[0].parts
            if len(parts) == 5 and self.words(parts[3]) == ["continue"]:
                self.usual("continue")
                return self.test(parts[1])
        return None

    def declared(self, row: list[tuple[str, Any]]) -> bool:
        """``local text`` without a value."""
        words = self.words(row[0][1]) if len(row) == 1 else []
        if len(words) < 2 or words[0] != "local" or not all(map(_NAME.fullmatch, words[1:])):
            return False
        self.usual("local")
        if any(word == self.name or _KEPT.fullmatch(word) for word in words):
            raise NotUnderstood("`local` of a variable that has a meaning")
        return True

    def filtering(self, row: list[tuple[str, Any]], loop: LineLoop) -> None:
        """jq alone, or in one branch of an ``if``, and what stands behind it."""
        (_, node), *rest = row
        if node.kind == "compound" and node.list[0].kind == "if" and not rest and not node.redirects:
            self.branches(node.list[0].parts, loop)
            return
        loop.jq = self.jq(node)
        if len(rest) == 1 and rest[0][0] == "||":
            if self.nothing(rest[0][1], "continue"):
                loop.ignored = True
                return
            loop.on_failure = self.printing(rest[0][1])
            loop.ignored = loop.on_failure is not None
        refuse_if(rest and not loop.ignored, "more than `|| true` behind jq")

    def branches(self, parts: list[Any], loop: LineLoop) -> None:
        if len(parts) not in (5, 7) or parts[2].word != "then" or parts[4].word not in ("else", "fi"):
            raise NotUnderstood("an unusual `if`")
        test = self.test(parts[1])
        if test is None:
            raise NotUnderstood("an `if` on something else than the line")
        yes, no = parts[3], parts[5] if len(parts) == 7 else None
        if self.plain(yes):
            refuse_if(no is None, "an `if` without jq")
            yes, no, test = no, yes, replace(test, negated=not test.negated)
        rows = self.statements(yes)
        refuse_if(len(rows) != 1, "several commands, one after the other, in the loop")
        self.filtering(rows[0], loop)
        refuse_if(loop.only is not None, "an `if` within an `if`")
        loop.only = test
        if no is not None and not self.nothing(no, "continue"):
            loop.otherwise = self.printing(no)
            refuse_if(loop.otherwise is None, "two branches of which none is plain")

    def plain(self, node: Any) -> bool:
        return self.printing(node) is not None or self.nothing(node, "continue")

    def printing(self, node: Any, variable: str = "") -> Printing | None:
        """How the line (or another variable) is printed; None when it is something else."""
        words = self.words(node)
        name = variable or self.name
        if len(words) < 2 or not _is_variable(words[-1], name):
            return None
        if words[0] == "echo" and len(words) == 2:
            self.usual("echo")
            return Printing(echo=True)
        form = constant(words[1])
        if words[0] == "printf" and len(words) == 3 and form in ("%s\\n", "%s"):
            self.usual("printf")
            return Printing("\n" if form == "%s\\n" else "")
        return None

    def capture(self, rows: list[list[tuple[str, Any]]]) -> tuple[JqCall, Printing, bool] | None:
        """``text=$(… | jq …) || true``, and ``[ -n "$text" ] && echo "$text"`` in one of its forms."""
        node = rows[0][0][1]
        if node.kind != "command" or len(node.parts) != 1 or node.parts[0].kind != "assignment" or len(rows) != 2:
            return None
        name, _, value = self.text(node).partition("=")
        inner = value[1:-1] if value.startswith('"') and value.endswith('"') else value
        if not _NAME.fullmatch(name) or _KEPT.fullmatch(name) or name == self.name or inner.startswith("$(("):
            raise NotUnderstood(f"an assignment to {name}")
        refuse_if(not inner.startswith("$(") or not inner.endswith(")"), f"the value of {name}")
        behind = rows[0][1:]
        if behind and (len(behind) != 1 or behind[0][0] != "||" or not self.nothing(behind[0][1])):
            raise NotUnderstood(f"more than `|| true` behind the value of {name}")
        call = self.captured_jq(inner[2:-1].strip(), name)
        if any(name in variables_of(word) for word in call.words):
            raise NotUnderstood(f"${name} is carried from one line to the next")
        (_, test), *rest = rows[1]
        if len(rest) == 1 and rest[0][0] == "&&":
            printing, ignored = self.printing(rest[0][1], name), False
        elif not rest and test.kind == "compound" and test.list[0].kind == "if" and not test.redirects:
            parts = test.list[0].parts
            printing, ignored = self.printing(parts[3], name) if len(parts) == 5 else None, True
            test = parts[1]
        else:
            raise NotUnderstood(f"what becomes of {name}")
        words = self.words(test)
        tested = len(words) == 4 and (words[:2], words[3]) == (["[", "-n"], "]") and _is_variable(words[2], name)
        if printing is None or not tested:
            raise NotUnderstood(f"what becomes of {name}")
        self.usual("[")
        return call, printing, ignored

    def captured_jq(self, text: str, name: str) -> JqCall:
        # The last `:` is for bashlex, which knows no `||` at the end of a substitution.
        source, found = _parsed(text + "; :")
        reader = _LoopReader(source, source, self.functions)
        reader.name = self.name
        refuse_if(len(found) != 1 or found[0].kind != "list", f"the value of {name}")
        rows = reader.statements(found[0])
        if len(rows) != 2 or len(rows[1]) != 1 or reader.words(rows[1][0][1]) != [":"]:
            raise NotUnderstood(f"the value of {name}")
        inner = LineLoop(name=self.name)
        reader.filtering(rows[0], inner)
        refuse_if(inner.only is not None or inner.on_failure is not None, f"the value of {name}")
        return inner.jq

    # -- jq --------------------------------------------------------------------------------------------

    def jq(self, node: Any) -> JqCall:
        """``echo "$line" | jq …``, ``jq … <<< "$line"``."""
        if node.kind == "pipeline":
            if len(node.parts) != 3 or node.parts[1].kind != "pipe" or node.parts[1].pipe != "|":
                raise NotUnderstood("a pipeline of more than the line and one jq")
            feed = self.printing(node.parts[0])
            if feed is None:
                raise NotUnderstood(f"`{self.text(node.parts[0])[:40]}` before jq")
            return self.call(node.parts[2], feed)
        return self.call(node, None)

    def call(self, node: Any, feed: Printing | None) -> JqCall:
        words: list[str] = []
        quiet = False
        for part in node.parts if node.kind == "command" else ():
            if part.kind == "word":
                words.append(self.text(part))
            elif part.kind != "redirect":
                raise NotUnderstood("an assignment before jq")
            elif (
                part.type == "<<<"
                and part.input in (None, 0)
                and feed is None
                and self.is_line(self.text(part.output))
            ):
                feed = Printing()
            elif part.type == ">" and part.input == 2 and self.text(part.output) == "/dev/null":
                quiet = True
            else:
                raise NotUnderstood(f"the redirection {self.text(part)[:40]}")
        refuse_if(not words or words[0] != "jq", f"the command `{(words or ['?'])[0][:40]}` in the loop")
        self.usual("jq")
        if feed is None:
            raise NotUnderstood("a jq that reads the loop's own input")
        for word in words[1:]:
            refuse_if(self.name in variables_of(word), f"jq with a word that depends on ${self.name}")
        return JqCall(tuple(words[1:]), feed, quiet)
