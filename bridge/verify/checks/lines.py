"""The line at fault in ``driver_build_command``: the one that has written a word, by a trace, or that reads it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.verify.command_line import beyond
from bridge.verify.probe.commands import ALLOWED, FILES, SESSION, Build

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.verify.probe.driver import DriverProbe
    from bridge.verify.subject import Subject

    Where = Callable[[Subject], int | None]

HOOK = "driver_build_command"
_CONTEXT = "Loop #2."


def prompt_line(subject: Subject) -> int | None:
    """Where the file is read, or its name is handed on."""
    probe, base = subject.driver, Build()
    texts = (base.prompt, FILES[base.prompt].strip())
    words = [word for word in _words(probe, base) if any(text in word for text in texts)]
    return _mentions(subject, _argument(1)) or _wrote(probe, base, words)


def context_line(subject: Subject) -> int | None:
    case = Build(context=_CONTEXT)
    return _because(subject.driver, case) or _mentions(subject, _argument(2))


def session_line(subject: Subject) -> int | None:
    case = Build(session=subject.driver.session() or SESSION, resume="true")
    return _because(subject.driver, case) or _mentions(subject, _argument(3))


def gate_line(subject: Subject) -> int | None:
    """Where it is decided whether a session is resumed."""
    return _mentions(subject, _variable("CLAUDE_USE_CONTINUE")) or session_line(subject)


def tools_line(subject: Subject) -> int | None:
    case = Build(tools=",".join(ALLOWED))
    return _because(subject.driver, case) or _mentions(subject, _variable("CLAUDE_ALLOWED_TOOLS"))


def setting_line(name: str, word: str) -> Where:
    """Where a setting is read, or else a word is written that has this in it."""

    def line(subject: Subject) -> int | None:
        probe = subject.driver
        words = [each for each in _words(probe, Build()) if word in each]
        return _mentions(subject, _variable(name)) or _wrote(probe, Build(), words)

    return line


def word_line(probe: DriverProbe, case: Build, word: str) -> int | None:
    """Where a word of a command was written."""
    return _wrote(probe, case, [word])


def _words(probe: DriverProbe, case: Build) -> list[str]:
    built = probe.build(case)
    return list(built.value) if built.ok and isinstance(built.value, list) else []


def _because(probe: DriverProbe, case: Build) -> int | None:
    """Where words were written that are there because of this case."""
    return _wrote(probe, case, beyond(_words(probe, case), _words(probe, Build())))


def _wrote(probe: DriverProbe, case: Build, words: Sequence[str]) -> int | None:
    wanted = {*words}
    return next((line for line, added in probe.writers(case) if not wanted.isdisjoint(added)), None)


def _variable(name: str) -> str:
    return rf"\$(?:{name}\b|\{{[#!]?{name}\b)"


def _argument(number: int) -> Callable[[str], str]:
    """Whatever stands for an argument of the hook: itself, or a variable that is set from it."""

    def pattern(text: str) -> str:
        own = _variable(str(number))
        names = re.findall(rf"\b([A-Za-z_]\w*)=\"?{own}", text)
        return "|".join([*map(_variable, names), *([] if names else [own])])

    return pattern


def _mentions(subject: Subject, what: str | Callable[[str], str]) -> int | None:
    """The last line of the hook that expands something."""
    lines = subject.source.decode("utf-8", "replace").split("\n")
    found = None
    for body in subject.facts.bodies(HOOK):
        text = lines[body.line - 1 : body.end_line]
        pattern = what if isinstance(what, str) else what("\n".join(text))
        for number, line in enumerate(text, body.line):
            if re.search(pattern, line) and not re.search(r"^\s*#|>&2", line):
                found = number
    return found
