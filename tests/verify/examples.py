"""A good and a bad script for each check: a whole script, and what is different in it, said once.

``fixtures/RB077.sh`` holds sections, each one a script::

    ### bad.sh < copilot
    driver_supports_sessions() { echo false; }

The script is ``fixtures/base/copilot.sh`` with this function in the place of its own (or behind all others);
``### without NAME ...`` takes functions away. Code before the first function replaces that of the base, code behind
the last one is appended. Without a base, the section is the script. ``@name@`` is the name of the file, ``@NAME@``
the same in capitals.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

FIXTURES = Path(__file__).parent / "fixtures"
_SECTION = re.compile(r"^### (?!without)(.+?)(?: < (\w+))?\n", re.MULTILINE)
_BEGIN = re.compile(r"^(?:function\s+)?([^\s(){}#=\"'$]+)\s*\(\)\s*([{(])")


class Parts(NamedTuple):
    """A script: code before its functions, the functions by their names, code behind them."""

    first: str
    functions: dict[str, str]
    last: str


class Example(NamedTuple):
    """One script of a check; `base` is empty for one that is written in full."""

    code: str
    file: str
    base: str
    own: str

    @property
    def text(self) -> str:
        """The script."""
        if not self.base:
            return self.own
        base = taken_apart((FIXTURES / "base" / f"{self.base}.sh").read_text())
        removed = {
            name for line in re.findall(r"^### without (.*)\n", self.own, re.MULTILINE) for name in line.split()
        }
        own = taken_apart(re.sub(r"^### without .*\n", "", self.own, flags=re.MULTILINE))
        functions = {name: code for name, code in (base.functions | own.functions).items() if name not in removed}
        body = "".join(functions.values())
        first = own.first or base.first
        text = f"{first}{body}{own.last or base.last}"
        text = text if text.startswith("#!") else f"#!/usr/bin/env bash\n{text}"
        name = self.file.removesuffix(".sh")
        return text.replace("@name@", name).replace("@NAME@", name.upper())

    def write(self, folder: Path) -> Path:
        """The script as a file of its name."""
        path = folder / self.file
        path.write_text(self.text)
        return path


def taken_apart(text: str) -> Parts:
    """The parts of a script whose functions are closed in the first column, or in the line of their beginning."""
    first = last = ""
    functions: dict[str, str] = {}
    lines = iter(text.splitlines(keepends=True))
    for line in lines:
        begin = _BEGIN.match(line)
        if begin is None:
            if functions:
                last += line
            else:
                first += line
            continue
        close = {"{": "}", "(": ")"}[begin[2]]
        code = line
        if not re.search(rf"\S.*{re.escape(close)}\s*$", line[begin.end() :]):
            for inside in lines:
                code += inside
                if re.match(rf"{re.escape(close)}\s*($|[#<>|&])", inside):
                    break
        functions[begin[1]] = code
    return Parts(first, functions, last)


@cache
def examples(code: str) -> tuple[Example, ...]:
    """All scripts of a check."""
    pieces = _SECTION.split((FIXTURES / f"{code}.sh").read_text())[1:]
    sections = zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True)
    return tuple(Example(code, file, base or "", own) for file, base, own in sections)


def example(code: str, name: str) -> Example:
    """The script of that name."""
    return next(each for each in examples(code) if each.file == f"{name}.sh")
