"""The line at fault in a hook: the one that has written a word, by a trace, or that reads or names it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.command_line import beyond
from bridge.verify.probe.commands import ALLOWED, FILES, MISSING, SESSION, Build

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.verify.probe.driver import DriverProbe
    from bridge.verify.probe.provider import ProviderProbe
    from bridge.verify.registry import Where
    from bridge.verify.subject import Subject

_CONTEXT = "Loop #2."
_UNQUOTED = re.compile(r"\$(?:\w+|\{\w+\})")


def prompt_line(subject: Subject) -> int | None:
    """Where it falls apart; else where the file is read, or its name is handed on."""
    base = Build()
    text, words = FILES[base.prompt].strip(), _words(subject, base)
    pieces = [word for word in text.split() if word in words]
    apart = _wrote(subject, base, pieces) if len(pieces) > 1 else None
    whole = [word for word in words if base.prompt in word or text in word]
    return apart or _mentions(subject, _argument(1)) or _wrote(subject, base, whole)


def missing_line(subject: Subject) -> int | None:
    """Where it is left without a prompt, or looked whether there is one."""
    probe, case = _probe(subject), Build(prompt=MISSING)
    ran = probe.commands(f"{case.settings()}\n{_build(subject)} {case.prompt} '' ''")
    left = [each.line for each in ran[-1:] if each.text.startswith("return")]
    return next(iter(left), None) or _mentions(subject, _tested(1)) or prompt_line(subject)


def context_line(subject: Subject) -> int | None:
    return _mentions(subject, _argument(2)) or _because(subject, Build(context=_CONTEXT))


def session_line(subject: Subject) -> int | None:
    own = None if subject.adapter else subject.driver.session()
    return _because(subject, Build(session=own or SESSION, resume="true")) or _mentions(subject, _argument(3))


def gate_line(subject: Subject) -> int | None:
    """Where it is decided whether a session is resumed."""
    decided = _mentions(subject, _variable("CLAUDE_USE_CONTINUE")) or _mentions(subject, _tested(3))
    return decided or session_line(subject)


def tools_line(subject: Subject) -> int | None:
    case = Build(tools=",".join(ALLOWED))
    return _because(subject, case) or _mentions(subject, _variable("CLAUDE_ALLOWED_TOOLS"))


def setting_line(name: str, word: str) -> Where:
    """Where a setting is read, or else a word is written that has this in it."""

    def line(subject: Subject) -> int | None:
        words = [each for each in _words(subject, Build()) if word in each]
        return _mentions(subject, _variable(name)) or _wrote(subject, Build(), words)

    return line


def word_line(case: Build, word: str) -> Where:
    """Where a word of a command was written."""
    return lambda subject: _wrote(subject, case, [word])


def first_line(subject: Subject) -> int | None:
    """Where the command is begun."""
    return next((line for line, _ in _probe(subject).writers(_build(subject), Build())), None)


def argument_line(stem: str, number: int) -> Where:
    """Where a hook of a provider adapter uses an argument last."""
    return lambda subject: _mentions(subject, _argument(number), subject.provider.hook(stem))


def variable_line(name: str) -> Where:
    """Where a variable gets its value as the script is sourced."""
    return lambda subject: next((each.line for each in subject.facts.top.writes if each.name == name), None)


def unquoted_line(hook: str) -> Where:
    """Where a hook prints a variable without quotes: bash splits it at blanks, and a * becomes names of files."""

    def line(subject: Subject) -> int | None:
        printing = (each for each in subject.effects(hook).commands if each.name in ("echo", "printf"))
        bare = (each.line for each in printing if any(map(_UNQUOTED.fullmatch, each.words[1:])))
        return next(bare, None)

    return line


def ran_line(stem: str, *arguments: str, output: tuple[bytes, ...] | None = None, printing: str = "") -> Where:
    """The last line that a hook of a provider adapter runs, or the last one that has `printing` in it.

    output: what the file has that it is given, in place of `arguments`.
    """

    def line(subject: Subject) -> int | None:
        ran = subject.provider.commands_of(stem, *arguments, output=output)
        printed = [each for each in ran if printing and printing in each.text]
        return next((each.line for each in reversed(printed or ran) if each.line is not None), None)

    return line


def member_line(name: str, *first: str) -> Where:
    """Where a member of a provider adapter's record gets its value; `first`: what is looked for before that."""

    def line(subject: Subject) -> int | None:
        text, value = _text(subject), rf"(?:--arg(?:json)?\s+{name}\s+\"?|\b{name}\"?\s*:\s*)\$\{{?(\w+)"
        named = "|".join(dict.fromkeys([name, *re.findall(value, text)]))
        given = rf"\b(?:{named})=|\bas \$(?:{named})\b"
        patterns = [*map(re.escape, first), given, rf"\b{name}\b\"?\s*:", rf"\b{name}\b"]
        return next(filter(None, (_anywhere(subject, each) for each in patterns)), None)

    return line


def flag_line(name: str, wanted: bool, output: tuple[bytes, ...]) -> Where:
    """Where a flag of the record is decided for an output: where it was set, or where setting it was passed by.

    wanted: what it should be.
    """

    def line(subject: Subject) -> int | None:
        sets = rf"\b{name}="
        if (last := _anywhere(subject, sets)) is None:
            return member_line(name)(subject)
        ran = [each for each in subject.provider.commands_of("normalize_response", output=output) if each.line]
        done = [each.line for each in ran if re.search(sets, each.text)]
        passed_by = [each.line or 0 for each in ran if (each.line or 0) <= last]
        return max(passed_by, default=last) if wanted or not done else done[-1]

    return line


def _text(subject: Subject) -> str:
    bodies = subject.provider.functions()
    return "\n".join(bodies.get(each, "") for each in subject.provider.called("normalize_response"))


def _anywhere(subject: Subject, pattern: str) -> int | None:
    """The last line of what makes the record that has something in it."""
    hooks = subject.provider.called("normalize_response")
    return next(filter(None, (_mentions(subject, pattern, each) for each in hooks)), None)


def _build(subject: Subject) -> str:
    return subject.hook("agent_NAME_build_command") if subject.adapter else "driver_build_command"


def _probe(subject: Subject) -> DriverProbe | ProviderProbe:
    return subject.provider if subject.adapter else subject.driver


def _words(subject: Subject, case: Build) -> list[str]:
    built = _probe(subject).build(case)
    return list(built.value) if built.ok and isinstance(built.value, list) else []


def _because(subject: Subject, case: Build) -> int | None:
    """Where words were written that are there because of this case."""
    return _wrote(subject, case, beyond(_words(subject, case), _words(subject, Build())))


def _wrote(subject: Subject, case: Build, words: Sequence[str]) -> int | None:
    wanted = {*words}
    written = _probe(subject).writers(_build(subject), case)
    return next((line for line, added in written if not wanted.isdisjoint(added)), None)


def _variable(name: str) -> str:
    return rf"\$(?:{name}\b|\{{[#!]?{name}\b)"


def _argument(number: int) -> Callable[[str], str]:
    """Whatever stands for an argument of the hook: itself, or a variable that is set from it."""

    def pattern(text: str) -> str:
        own = _variable(str(number))
        names = re.findall(rf"\b([A-Za-z_]\w*)=\"?{own}", text)
        return "|".join([*map(_variable, names), own])

    return pattern


def _tested(number: int) -> Callable[[str], str]:
    return lambda text: rf"\[.*(?:{_argument(number)(text)})"


def _mentions(subject: Subject, what: str | Callable[[str], str], hook: str = "") -> int | None:
    """The last line of a hook that has something in it; default: of the one that builds the command."""
    lines = subject.source.decode("utf-8", "replace").split("\n")
    found = None
    for body in subject.facts.bodies(hook or _build(subject)):
        text = lines[body.line - 1 : body.end_line]
        pattern = what if isinstance(what, str) else what("\n".join(text))
        for number, line in enumerate(text, body.line):
            if re.search(pattern, line) and not re.search(r"^\s*#|>&2", line):
                found = number
    return found
