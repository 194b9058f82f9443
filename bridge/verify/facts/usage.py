"""What the words of a command say: the variables that it sets, how it uses jq, where its stderr goes."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bridge.verify.facts.model import NAME

if TYPE_CHECKING:
    from bridge.verify.facts.model import CommandFact, Facts

_TARGET = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[.*\])?\Z", re.DOTALL)
_LET = re.compile(
    r"\s*(?:([A-Za-z_]\w*)(?:\[[^]]*\])?\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
    r"|(?:\+\+|--)\s*([A-Za-z_]\w*))"
)

# The options of each that take a value, in the value's own word or joined to it.
_VALUED = {"read": "adinNptu", "mapfile": "dnOsuCc", "readarray": "dnOsuCc", "printf": "v", "wait": "p"}


class Filled(NamedTuple):
    """names: variables that are set. dynamic: there may be others, which only running it would tell."""

    names: tuple[str, ...] = ()
    dynamic: bool = False


def literal(word: str) -> str | None:
    """What a word stands for if that can be told without running anything, else None."""
    if len(word) >= 2 and word[0] == word[-1] == "'" and "'" not in word[1:-1]:
        return word[1:-1]
    if "$" in word or "`" in word:
        return None
    if len(word) >= 2 and word[0] == word[-1] == '"' and '"' not in word[1:-1]:
        return word[1:-1].replace("\\\\", "\\") if "\\" in word else word[1:-1]
    return re.sub(r"\\(.)", r"\1", word.replace('"', "").replace("'", ""))


def filled_by(name: str, words: tuple[str, ...]) -> Filled:
    """The variables that the builtin `name` sets when it is given `words` (its name not among them)."""
    if name in ("eval", "source", "."):
        return Filled(dynamic=True)
    if name == "let":
        found = [match for word in words if (match := _LET.match(word.strip("\"'")))]
        return Filled(tuple(match[1] or match[2] for match in found))
    if name == "getopts":
        return _targets(words[1:2])
    if name not in _VALUED:
        return Filled()
    options, rest = _options(words, _VALUED[name])
    if name in ("printf", "wait"):
        return _targets([options[key] for key in ("v", "p") if key in options])
    if name == "read":
        return _targets([options["a"]] if "a" in options else rest or ["REPLY"])
    return _targets(rest[:1] or ["MAPFILE"])


def _options(words: tuple[str, ...], valued: str) -> tuple[dict[str, str], list[str]]:
    """Options that take a value with it, and the words behind all options."""
    options: dict[str, str] = {}
    position = 0
    while position < len(words) and words[position].startswith("-") and len(words[position]) > 1:
        word, position = words[position], position + 1
        if word == "--":
            break
        for index, key in enumerate(word[1:], 1):
            if key in valued:
                if word[index + 1 :]:
                    options[key] = word[index + 1 :]
                elif position < len(words):
                    options[key], position = words[position], position + 1
                break
    return options, list(words[position:])


def _targets(words: list[str] | tuple[str, ...]) -> Filled:
    names = []
    dynamic = False
    for word in words:
        text = literal(word)
        match = _TARGET.match(text) if text is not None else None
        if match:
            names.append(match[1])
        else:
            dynamic = True
    return Filled(tuple(names), dynamic)


def only_asks(command: CommandFact) -> bool:
    """Whether a command that may change the shell only says how it is."""
    words = command.words[1:]
    if command.name in ("shopt", "trap"):
        return not words or words[0] in ("-p", "-q", "-l")
    return command.name in ("set", "umask", "ulimit") and not words


_ARGUMENTS = {"--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2, "--argfile": 2, "--indent": 1, "-L": 1}
_TOLERANT = re.compile(r"fromjson\s*\?|try\s*\(?\s*fromjson")
_WHOLE = re.compile(r"\$\(\s*(?:<|cat\b)|`\s*cat\b")
_ONE_LINE = re.compile(r"^\s*(?:tail|head)\s+(?:-n\s*)?-?1\b")


class _Call(NamedTuple):
    flags: frozenset[str]
    program: str
    files: tuple[str, ...]


def is_jq(command: CommandFact) -> bool:
    """Whether the command runs jq, or a program that takes its place."""
    return command.name.rpartition("/")[2] in ("jq", "gojq", "jaq")


def at_once(command: CommandFact, source: str = "", *, streaming: bool) -> str:
    """Why this use of jq stands or falls with every line of its input; nothing when it doesn't.

    source: of the script, where the program may stand in a variable.
    streaming: what it prints must also appear before its input ends.
    """
    call = _parsed(command.words[1:])
    program = call.program + "".join(_values(call.program, source))
    if {"raw-input", "R"} & call.flags and not {"slurp", "s"} & call.flags and _TOLERANT.search(program):
        return "it keeps its output back (no --unbuffered)" if streaming and "unbuffered" not in call.flags else ""
    if call.files:
        return f"it is given the file {call.files[0]}"
    fed = [redirect for redirect in (*command.redirects, *command.around) if redirect.startswith(("<", "0<"))]
    own = next((redirect for redirect in command.redirects if redirect.startswith(("<", "0<"))), "")
    if own.startswith("<<") or (not own and not command.upstream and any(each.startswith("<<<") for each in fed)):
        text = own or next(each for each in fed if each.startswith("<<<"))
        return "it is given a whole file" if _WHOLE.search(text) else ""
    if own:
        return f"it reads {own.lstrip('<0 ')} as a whole"
    if command.upstream:
        return _piped(command, streaming=streaming)
    if {"null-input", "n"} & call.flags and "input" not in call.program:
        return ""
    if command.loop:
        return ""  # the caller decides: in a helper that is fed line by line this is right
    return "it reads the whole input"


def jq_program(command: CommandFact) -> str | None:
    """The program that jq is given; None where only running the script could tell."""
    word = _parsed(command.words[1:]).program
    double = re.fullmatch(r'"((?:[^"\\$`]|\\.)*)"', word, re.DOTALL)
    program = re.sub(r'\\(["\\$`])', r"\1", double[1]) if double else literal(word) if "\\" not in word else None
    if word.startswith("'"):
        program = literal(word)
    if not program:
        return None
    words = [literal(word) or "" for word in command.words]
    given = [name for option, name in pairwise(words) if option in _ARGUMENTS and option.startswith("--")]
    return "".join(f"null as ${name} | " for name in given if NAME.match(name)) + program


def _values(program: str, source: str) -> list[str]:
    """What the variables in a program are given in the script: texts in quotes, and here-documents."""
    found = []
    for name in re.findall(r"\$\{?([A-Za-z_]\w*)", program):
        given = rf"\b{name}=(?:\$'|['\"])(?:[^'\"\\]|\\.)*"
        heredoc = rf"\b{name}\b[^\n]*<<-?\s*[\"']?(\w+)[\"']?\n[\s\S]*?\n\s*\1\b"
        found += [match[0] for match in re.finditer(f"{given}|{heredoc}", source)]
    return found


def _piped(command: CommandFact, *, streaming: bool) -> str:
    upstream = command.upstream
    last = upstream.rsplit(" | ", 1)[-1].lstrip()
    if command.loop or (_ONE_LINE.match(last) and not streaming):
        return f"`{upstream.splitlines()[0][:60]}` gives it a whole file" if _reads_whole(upstream) else ""
    first = upstream.split(None, 1)[0] if upstream.split() else ""
    if first in ("echo", "printf"):
        return "it is given a whole file" if _WHOLE.search(upstream) else ""
    if re.search(r"\bwhile\b[\s\S]*\bread\b", upstream) and not streaming:
        return ""  # somebody looked at each line before
    return f"`{upstream.splitlines()[0][:60]}` gives it everything at once"


def _reads_whole(upstream: str) -> bool:
    return bool(re.match(r"\s*cat\s+[\"']?\$", upstream))


def _parsed(words: tuple[str, ...]) -> _Call:
    flags: set[str] = set()
    operands: list[str] = []
    from_file = rest = False
    position = 0
    while position < len(words):
        word, position = words[position], position + 1
        text = literal(word)
        if text is None or rest or not text.startswith("-") or text == "-":
            operands.append(word)
        elif text in ("--args", "--jsonargs"):
            break
        elif text == "--":
            rest = True
        elif text in _ARGUMENTS:
            position += _ARGUMENTS[text]
        elif text in ("-f", "--from-file"):
            from_file = True
        elif text.startswith("--"):
            flags.add(text[2:])
        else:
            flags.update(text[1:])
            from_file |= "f" in text[1:]
    program = "" if not operands else operands[0]
    return _Call(frozenset(flags), "" if from_file else program, tuple(operands[1:]))


"""kept: it goes where the caller's stderr goes, or through a filter."""


_ASSIGNED = r"^{name}=(\"[^\"$`\\]*\"|'[^']*'|[\w./+:@%-]*)[ \t]*(?:#.*)?$"


def answer_of(facts: Facts, hook: str) -> str | None:
    """What a function prints if it does nothing but print a text, the newline at its end aside; else None.

    >>> from bridge.verify.facts import facts_of
    >>> answer_of(facts_of(b'driver_name() { echo "mine"; }'), "driver_name")
    'mine'
    """
    bodies = facts.bodies(hook)
    if len(bodies) != 1 or bodies[0].conditional or not bodies[0].known or len(bodies[0].commands) != 1:
        return None
    [command] = bodies[0].commands
    words = [literal(word) for word in command.words[1:]]
    plain = not (command.conditional or command.redirects or command.around or command.upstream or command.loop)
    if not plain or not words or any(word is None or re.search(r"[*?\[~{]", word) for word in words):
        return None
    texts = [word for word in words if word is not None]
    if command.name == "echo" and not texts[0].startswith("-"):
        return " ".join(texts)
    if command.name != "printf":
        return None
    if texts[0] in ("%s\\n", "%s") and len(texts) == 2:
        return texts[1]
    return None if "%" in texts[0] or len(texts) > 1 else texts[0].removesuffix("\\n")


def assigned_text(source: bytes, name: str) -> str | None:
    """The text that a line of the script gives to a global, if there is one such line; else None."""
    pattern = re.compile(_ASSIGNED.format(name=re.escape(name)), re.MULTILINE)
    found = pattern.findall(source.decode("utf-8", "surrogateescape"))
    return found[0].strip("\"'") if len(found) == 1 else None
