"""``.ralphrc``: lines of KEY=VALUE, read as data and never executed. Pure but for :func:`read`.

Version 2.11.0 of the original executes this file with bash, later ones read it by the rules of section
2.1. Files written for either mean the same here where that can be had without a shell: what follows ``#``
behind a value is a comment, ``export`` is allowed, both with a remark. What only a shell could understand
is left out, and told.

``${NAME:-default}`` is the value of NAME in the environment if that is set there and not empty, else of an
earlier line of the file, else `default`. The original also asks the loop's own defaults, so that the text
behind ``:-`` never applies (trap T29).
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from bridge.base.files import read_bytes
from bridge.base.patterns import lazy
from bridge.base.resources import nearest
from bridge.errors import ProjectUnusable
from bridge.loop.setups.declared_settings import Rc, RcEntry, Remark
from bridge.loop.setups.dot_ralph.settings import FILE_KEYS, KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.loop.setups.dot_ralph.folder import Folder

_BLANKS = " \t\r\v\f"
_QUOTES = "\"'"
_LINE = lazy(r"(export[ \t]+)?([A-Z0-9_]+)=(.*)")
_DEFAULTING = lazy(r"\$\{([A-Za-z_][A-Za-z0-9_]*):-([^}$]*)\}")
_QUOTED = lazy(r"""("[^"]*"|'[^']*')[ \t]+#.*""")
_COMMENTED = lazy(r"([^\"'#][^#]*?|)[ \t]+#.*")
_EXPANSION = lazy(r"\$[A-Za-z_{(0-9?$!#@*]|^~/")
_OPENERS = ("if", "case", "for", "while", "until", "select", "function", "{")
_COMMANDS = frozenset({"TEST_COMMAND", "QUALITY_GATES"})  # bash gets these, and expands what is in them
_BY_OTHER_NAMES = {key.name: key.in_file for key in KEYS if key.in_file and key.name != key.in_file}
_ENVIRONMENT_ONLY = frozenset(key.name for key in KEYS if not key.in_file) | {"RALPH_DIR"}
_NOT_OURS = frozenset(
    {"CLAUDE_CODE_CMD", "CLAUDE_MODEL", "CLAUDE_EFFORT", "CLAUDE_AUTO_UPDATE", "MAX_TOKENS_PER_HOUR"}
    | {"RALPH_SHELL_INIT_FILE", "ENABLE_NOTIFICATIONS", "ENABLE_BACKUP", "OPTIONAL_SECTIONS"}
    | {"SANDBOX_PROVIDER", "AGENT_PROVIDER", "GITHUB_ISSUE"}  # a loop starts only where they ask for nothing
)  # of frankbria's file


def read(folder: Folder, env: Mapping[str, str]) -> Rc:
    """Read the project's settings file: the folder's ``.ralphrc``, else the project's, never both."""
    for path in (folder / ".ralphrc", folder.project / ".ralphrc"):
        shown = folder.name_of(path)
        try:
            os.lstat(path)  # most have none, and what reads its words takes three milliseconds to load
            if path.exists() and not path.is_file() and not path.is_dir():
                raise ProjectUnusable(f"{shown} is no regular file\n  next: put a file of KEY=VALUE lines there")
            text = settings_text(path, shown)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            continue
        except ProjectUnusable:
            raise
        except OSError as error:
            problem = f"{shown} can't be read: {error.strerror}\n  next: check its permissions"
            raise ProjectUnusable(problem) from error
        entries, remarks = parse(text, env)
        return Rc(shown, entries, remarks, exists=True)
    return Rc(f"{folder.shown}/.ralphrc")


def settings_text(path: Path, shown: str) -> str:
    """The text of a settings file. Raises ProjectUnusable, of one that is too large for one."""
    from bridge.loop.setups.assignments import LARGEST

    found = read_bytes(path, LARGEST + 1)
    if len(found) > LARGEST:
        raise ProjectUnusable(f"{shown} has more than {LARGEST:,} bytes\n  next: see what is in it")
    return found.decode("utf-8", "surrogateescape")


def parse(text: str, env: Mapping[str, str]) -> tuple[dict[str, RcEntry], tuple[Remark, ...]]:
    r"""Read the lines of a settings file.

    >>> entries, remarks = parse('PLATFORM_DRIVER="${PLATFORM_DRIVER:-codex}"\nCB_AUTO_RESET=$(id)\n', {})
    >>> entries["PLATFORM_DRIVER"].value, remarks[0].line
    ('codex', 2)
    """
    entries: dict[str, RcEntry] = {}
    remarks: list[Remark] = []
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.strip(_BLANKS)
        if line and not line.startswith("#"):
            _take(line, number, env, entries, remarks)
    return entries, tuple(remarks)


def _take(
    line: str, number: int, env: Mapping[str, str], entries: dict[str, RcEntry], remarks: list[Remark]
) -> None:
    from bridge.loop.setups.assignments import read_assignments
    from bridge.loop.setups.shell_words import parse_parameter

    match = _LINE.fullmatch(line)
    problem, advice = _refusal(line, match)
    if match is None or problem:
        remarks.append(Remark(number, problem, advice))
        return
    key, value = match[2], match[3]
    if match[1]:
        remarks.append(
            Remark(number, f"`export` before {key}: the value is taken", "write it without export", ignored=False)
        )
    if commented := _QUOTED.fullmatch(value) or _COMMENTED.fullmatch(value):
        value = commented[1]
        problem = f"a comment behind a value: {key} is {_short(value.strip(_QUOTES))} here"
        remarks.append(Remark(number, problem, "put the comment on a line of its own", ignored=False))
    if value[:1] in tuple(_QUOTES) and (len(value) < 2 or value[-1] != value[0]):
        problem = f"the quote of {key} is not closed: {_short(line)}; it is left out"
        remarks.append(Remark(number, problem, "write the whole value on one line"))
        return
    via = ""
    single, quoted = value[:1] == "'", value[:1] == '"'
    if value[:1] in tuple(_QUOTES):
        value = value[1:-1]
    if defaulting := _DEFAULTING.fullmatch(value):
        name, default = defaulting.groups()
        via = name if env.get(name) else ""
        value = env.get(name) or (entries[name].value if name in entries else "") or default
    elif not single and (found := parse_parameter(value, quoted=quoted)) and found.operator:  # as 2.11.0 reads it
        known = {name: entry.value for name, entry in entries.items()} | {
            name: env[name] for name in env if env[name]
        }
        each = read_assignments(f'{key}="{value}"' if quoted else f"{key}={value}", known).found[key]
        if each.why:
            problem = f"{key} can't be read ({each.why}): {_short(line)}; it is left out"
            remarks.append(Remark(number, problem, "write the value itself"))
            return
        value = each.value or ""
    elif key not in _COMMANDS and not single and _EXPANSION.search(value):
        problem = f"{key} is {_short(value)}: nothing is expanded in it"
        remarks.append(Remark(number, problem, "write the value itself", ignored=False))
    entries[key] = RcEntry(value, number, via)


def _refusal(line: str, match: re.Match[str] | None) -> tuple[str, str]:
    """Say why a line is left out, and what to do; two empty texts for one that is not."""
    if "\0" in line:
        return "a NUL byte; the line is left out", "remove it"
    if "$(" in line or "`" in line:
        advice = "write the value itself, or set it in the environment"
        return f"a command substitution is never run: {_short(line)}; the line is left out", advice
    if match is None:
        return _not_a_setting(line)
    key, value = match[2], match[3]
    if key in FILE_KEYS and value[:1] in (" ", "\t") and not value.lstrip(_BLANKS).startswith("#"):
        return f"{_short(line)} is left out: blanks around =", f"write {key}=value"
    if key in FILE_KEYS:
        return "", ""
    unknown = f"unknown key {key}, ignored"  # without its value, which may be a secret
    if key in _BY_OTHER_NAMES:
        return unknown, f"in this file it is called {_BY_OTHER_NAMES[key]}"
    if key in _ENVIRONMENT_ONLY:
        return f"{key} is read from the environment only; the line is ignored", "set it there"
    if key in _NOT_OURS:
        return f"{key} is a setting of another loop, ignored", "delete it, or keep it for that loop"
    if close := nearest(key, FILE_KEYS, 0.75):
        return unknown, f"did you mean {close}?"
    return unknown, "if a command needs it, set it in the environment"


def _not_a_setting(line: str) -> tuple[str, str]:
    left_out = f"{_short(line)} is left out"
    name, equals, _ = line.removeprefix("export ").partition("=")
    if equals and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return f"{left_out}: keys are upper-case", f"write {name.upper()}=..."
    if equals and re.fullmatch(r"[A-Z_][A-Z0-9_]*[ \t]+", name):
        return f"{left_out}: blanks around =", f"write {name.rstrip()}=value"
    if re.split("[ \t;]", line, maxsplit=1)[0] in _OPENERS:
        return f"shell is never run: {left_out}, and settings inside count as if it were not there", (
            "write plain KEY=VALUE lines"
        )
    return f"shell is never run: {left_out}", "write KEY=VALUE, or delete it"


def _short(text: str) -> str:
    shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return repr(shown if len(shown) <= 80 else shown[:77] + "...")
