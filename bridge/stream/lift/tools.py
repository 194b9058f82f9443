"""grep, head, tail, tr, sed and cat, as far as they are lifted: text of whole lines in, text out.

Patterns are the basic and extended regular expressions whose longest match is the greedy one: literal
text, sets, and repetitions of one of them that can't run into what follows. What stands for "any byte" has to
be repeated, so that it doesn't matter whether the locale counts bytes or characters.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.stream.lift.faults import Doubt, NotLifted
from bridge.stream.lift.shelltree import Tool
from bridge.stream.lift.toolpatterns import Pattern, translate
from bridge.stream.lift.words import constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.stream.lift.commands import Call

__all__ = ["TOOLS", "Work", "tool"]

_TR_ESCAPES = {"\\n": "\n", "\\r": "\r", "\\t": "\t", "\\\\": "\\", '\\"': '"'}


class Work(NamedTuple):
    """A tool at work.

    Attributes:
        line: what it prints for one line, without newline (None: nothing; a text may hold several lines).
        first: it ends after so many lines (head).
        last: it prints so many of the last lines, at the end (tail).
        joined: it removes newlines (tr -d).
        finds: its status says whether it printed anything (grep).
        passes: bytes that aren't lines go through it unchanged (cat, tr): a missing last newline stays.
    """

    line: Callable[[str], str | None]
    first: int | None = None
    last: int | None = None
    joined: bool = False
    finds: bool = False
    passes: bool = False


def _texts(call: Call) -> list[str]:
    texts = [constant(word) for word in call.words]
    if any(text is None for text in texts):
        raise NotLifted(f"`{call.name}` with a variable among its words")
    return [text for text in texts if text is not None]


def _with_file(call: Call, wanted: int) -> Tool:
    """Options and `wanted` words of its own, then perhaps a file."""
    if call.here is not None:
        raise NotLifted(f"`{call.name}` with <<<")
    file = call.file
    words = list(call.words)
    positions = [at for at, word in enumerate(words) if not (constant(word) or "x").startswith("-")]
    if len(positions) == wanted + 1 and file is None and positions[-1] == len(words) - 1:
        file = words.pop()
        if constant(file) is not None or not all(isinstance(part, str) or part.quoted for part in file):
            raise NotLifted(f"the file of `{call.name}`")
    elif len(positions) != wanted:
        raise NotLifted(f"the words of `{call.name}`")
    texts = _texts(call._replace(words=tuple(words)))
    made = Tool(call.name, tuple(texts), call.quiet, file)
    tool(made)
    return made


def _cat(tool: Tool) -> Work:
    if tool.words:
        raise NotLifted("options of `cat`")
    return Work(lambda line: line, passes=True)


def _grep(tool: Tool) -> Work:
    letters = ""
    patterns: list[str] = []
    for text in tool.words:
        if text == "--line-buffered":
            continue
        if re.fullmatch(r"-[oEFv]+", text):
            letters += text[1:]
        elif text.startswith("-"):
            raise NotLifted(f"grep {text}")
        else:
            patterns.append(text)
    if len(patterns) != 1 or not patterns[0] or ("E" in letters and "F" in letters):
        raise NotLifted("grep without exactly one pattern")
    known = translate(patterns[0], "F" if "F" in letters else "E" if "E" in letters else "G")
    pattern = re.compile(known.source)
    if "o" in letters:
        if "v" in letters:
            raise NotLifted("grep -o -v")
        return Work(lambda line: "\n".join(_found(pattern, _within_reach(known, line))) or None, finds=True)
    inverted = "v" in letters

    def kept(line: str) -> str | None:
        _within_reach(known, line)
        return line if (pattern.search(line) is None) is inverted else None

    return Work(kept, finds=True)


def _within_reach(pattern: Pattern, line: str) -> str:
    if pattern.takes_long(line):
        raise Doubt
    return line


def _found(pattern: re.Pattern[str], line: str) -> list[str]:
    return [found.group() for found in pattern.finditer(line) if found.group()]


def _count(tool: Tool) -> int:
    words = list(tool.words)
    text = "10" if not words else words[0] if len(words) == 1 else "".join(words)
    found = re.fullmatch(r"-n([1-9][0-9]{0,4})|-([1-9][0-9]{0,4})|(10)", text)
    if found is None or len(words) > 2 or (len(words) == 2 and words[0] != "-n"):
        raise NotLifted(f"{tool.name} {' '.join(words)}")
    return int(found[1] or found[2] or found[3])


def _head(tool: Tool) -> Work:
    return Work(lambda line: line, first=_count(tool))


def _tail(tool: Tool) -> Work:
    return Work(lambda line: line, last=_count(tool))


def _tr(tool: Tool) -> Work:
    if len(tool.words) != 2 or tool.words[0] != "-d":
        raise NotLifted("tr other than -d")
    letters = re.findall(r"\\.|.", tool.words[1], re.DOTALL)
    dropped = "".join(_TR_ESCAPES.get(letter, letter) for letter in letters)
    if len(dropped) != len(letters) or not dropped.isascii() or set(dropped) & set("-[]:=*"):
        raise NotLifted(f"tr -d {tool.words[1]!r}")
    table = dict.fromkeys(map(ord, dropped))
    return Work(lambda line: line.translate(table), joined="\n" in dropped, passes=True)


_SED = re.compile(r"s([/|#,@])((?:(?!\1)[^\\\n]|\\.)*)\1((?:(?!\1)[^\\\n]|\\.)*)\1([gp]*)")


def _sed(tool: Tool) -> Work:
    words = list(tool.words)
    silent, extended = False, False
    while words and words[0] in ("-n", "-E", "-r", "-u", "-nE", "-En", "-nr"):
        option = words.pop(0)
        silent |= "n" in option
        extended |= "E" in option or "r" in option
    if len(words) == 2 and words[0] == "-e":
        words.pop(0)
    found = _SED.fullmatch(words[0]) if len(words) == 1 else None
    if found is None or len(found[4]) > 1 or (found[4] == "p") is not silent:
        raise NotLifted(f"sed {' '.join(tool.words)[:60]}")
    separator = found[1]
    text = found[2].replace("\\" + separator, separator) if separator in "/@" else found[2]
    if "\\" + separator in found[2] + found[3] and separator not in "/@":
        raise NotLifted("sed with an escaped separator")
    known = translate(text, "E" if extended else "G", groups=True)
    pattern = re.compile(known.source)
    new = _replacement(found[3].replace("\\" + separator, separator), pattern.groups)
    if "g" in found[4] and (pattern.match("") or text[:1] == "^"):
        raise NotLifted("sed s///g of what may be empty")
    count = 0 if found[4] == "g" else 1

    def changed(line: str) -> str | None:
        out, times = pattern.subn(new, _within_reach(known, line), count=count)
        return out if times or not silent else None

    return Work(changed)


def _replacement(text: str, groups: int) -> Callable[[re.Match[str]], str]:
    parts: list[str | int] = []
    for piece in re.findall(r"\\.|&|[^\\&]+", text, re.DOTALL):
        if piece == "&":
            parts.append(0)
        elif piece[0] != "\\":
            parts.append(piece)
        elif piece[1].isdigit() and 1 <= int(piece[1]) <= groups:
            parts.append(int(piece[1]))
        elif piece[1] in "/&\\.@":
            parts.append(piece[1])
        else:
            raise NotLifted(f"sed with {piece} in the replacement")
    return lambda found: "".join(part if isinstance(part, str) else found[part] for part in parts)


def _cut(tool: Tool) -> Work:
    words = list(tool.words)
    if len(words) == 4 and words[0] == "-d" and words[2] == "-f":
        words = [words[0] + words[1], words[2] + words[3]]
    found = re.fullmatch(r"-d([!-~ ])\n-f([1-9])", "\n".join(words))
    if found is None:
        raise NotLifted(f"cut {' '.join(tool.words)}")
    separator, number = found[1], int(found[2])

    def field(line: str) -> str:
        parts = line.split(separator)
        return line if len(parts) == 1 else parts[number - 1] if number <= len(parts) else ""

    return Work(field)


_WORKS: dict[str, Callable[[Tool], Work]] = {
    "cat": _cat,
    "cut": _cut,
    "grep": _grep,
    "head": _head,
    "tail": _tail,
    "tr": _tr,
    "sed": _sed,
}
_WANTED = {"grep": 1, "sed": 1, "tr": 1}


def tool(node: Tool) -> Work:
    """What a tool does.

    Raises:
        NotLifted: its words are not understood.
    """
    return _WORKS[node.name](node)


def _understood(call: Call) -> Tool:
    words = call.words
    if call.name in ("head", "tail") and len(words) >= 2 and constant(words[0]) == "-n":
        number = constant(words[1])
        if number is None:
            raise NotLifted(f"`{call.name} -n` with a variable")
        return _with_file(call._replace(words=((f"-n{number}",), *words[2:])), 0)
    if call.name == "cut" and len(words) >= 4 and constant(words[0]) == "-d" and constant(words[2]) == "-f":
        joined = (f"-d{constant(words[1])}",), (f"-f{constant(words[3])}",)
        return _with_file(call._replace(words=(*joined, *words[4:])), 0)
    return _with_file(call, _WANTED.get(call.name, 0))


TOOLS: dict[str, Callable[[Call], Tool]] = dict.fromkeys(_WORKS, _understood)


def on_text(work: Work, text: str) -> tuple[str, int]:
    """What a tool makes of a whole text, and its status.

    Raises:
        Doubt: a NUL in it, or a last line without newline where that matters.
    """
    if "\0" in text:
        raise Doubt
    lines = text.split("\n")
    tail = lines.pop()
    if tail and not work.passes:
        raise Doubt
    if work.first is not None:
        lines = lines[: work.first]
    if work.last is not None:
        lines = lines[-work.last :]
    kept = [made for made in map(work.line, lines) if made is not None]
    out = "".join(kept) if work.joined else "".join([line + "\n" for line in kept])
    if tail:
        out += work.line(tail) or ""
    return out, int(work.finds and not kept)
