"""What a project asks of another loop that none of ours does: a sandbox, another provider, an issue's life cycle.

frankbria's controller reads three settings, from the environment and from ``.ralphrc``, by which people count on
something: ``SANDBOX_PROVIDER`` (the agent runs in a container, never on this machine), ``AGENT_PROVIDER`` (another
CLI than claude) and ``GITHUB_ISSUE`` (comments, a pull request and the closing of an issue). Passing over them in
silence would run an agent on the machine that it was to be kept away from, so a loop refuses to start.

``.ralphrc`` is a shell script there. It is read, never run: what its lines assign is taken as bash would take it
where that shows, and as asked for where it doesn't, such as ``SANDBOX_PROVIDER=$(pick)`` or what stands behind an
``if``.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.errors import ConfigurationError, ProjectUnusable
from bridge.files import read_bytes
from bridge.setups.dot_ralph.folder import locate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KEYS = ("SANDBOX_PROVIDER", "AGENT_PROVIDER", "GITHUB_ISSUE")
OPTIONS = {"--sandbox": "SANDBOX_PROVIDER", "--github-issue": "GITHUB_ISSUE", "--agent-provider": "AGENT_PROVIDER"}
"""The same on the command line."""
_NONE = frozenset({"", "none"})
_DRIVER = "PLATFORM_DRIVER"

_WORD = r"""((?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s;&|()"'\\])*)"""
_ASSIGNMENT = re.compile(rf"(?<![^\s;&|(])([A-Za-z_][A-Za-z0-9_]*)\+?={_WORD}")
_DEFAULT = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*):?=([^}]*)\}")
_PLAIN = re.compile(rf"(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*={_WORD}\s*;?")
_UNSET = re.compile(r"unset\s+(?:-v\s+)?([A-Za-z0-9_ \t]+)")
_PIECE = re.compile(r""""((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)|([^"'\\]+)""")
_EXPANSION = re.compile(r"\$\{([A-Za-z_]\w*)(?::?[-=]([^{}]*))?\}|\$([A-Za-z_]\w*)")
_NESTED = 4  # defaults of defaults that are followed


class Asked(NamedTuple):
    """One thing that is asked for.

    Attributes:
        key: one of `KEYS`.
        value: what it says; where that doesn't show, the text that stands there.
        where: the place, for people.
    """

    key: str
    value: str
    where: str


class _Found(NamedTuple):
    value: str | None  # None: only bash could tell
    text: str
    line: int


def refuse(
    project: Path, env: Mapping[str, str], *, given: Mapping[str, str] | None = None, driver: str | None = None
) -> None:
    """Refuse a project that asks for what no loop of ours does.

    Args:
        project: its folder.
        env: the environment.
        given: settings of the command line.
        driver: the driver or agent that the command line names, as a name or a path, or None.

    Raises:
        ConfigurationError: it does; names each, where it stands, and the way out.
        ProjectUnusable: a ``.ralphrc`` can't be read.
    """
    found = asked(project, env, given=given, driver=driver)
    if not found:
        return
    told = "\n  ".join(f"{each.key}={each.value} {each.where}: {_WHY[each.key]}" for each in found)
    keys = " ".join(f"--set {each.key}=none" for each in found)
    raise ConfigurationError(
        f"this project asks for what ralph-bridge can't do yet, so nothing is started\n  {told}\n"
        f"  next: run it with its own controller (`ralph`, ~/.ralph/ralph_loop.sh), or without, on this machine: "
        f"{keys}{_by_driver(found)}"
    )


_WHY = {
    "SANDBOX_PROVIDER": "a sandbox, but the agent would run on this machine",
    "AGENT_PROVIDER": "another provider than claude",
    "GITHUB_ISSUE": "comments, pull request and closing of an issue",
}


def _by_driver(found: list[Asked]) -> str:
    from bridge.contract import driver_contract

    named = next((each.value for each in found if each.key == "AGENT_PROVIDER"), "")
    return f"; --driver {named} runs that CLI" if named in driver_contract().drivers else ""


def asked(
    project: Path, env: Mapping[str, str], *, given: Mapping[str, str] | None = None, driver: str | None = None
) -> list[Asked]:
    """Give what is asked for: by the command line, else the environment, else by any ``.ralphrc`` of the project.

    Raises:
        ProjectUnusable: a ``.ralphrc`` can't be read.
    """
    folder = locate(project, env)
    files = [
        (folder.name_of(path), assignments(text, env))
        for path in dict.fromkeys((folder.project / ".ralphrc", folder / ".ralphrc"))
        if (text := _read(path)) is not None
    ]
    drivers = {os.path.basename(driver or env.get(_DRIVER, "")).removesuffix(".sh")}
    if not driver and not env.get(_DRIVER):
        drivers |= {found[_DRIVER].value or "" for _, found in files if _DRIVER in found}
    asking = []
    for key in KEYS:
        for value, where in _sources(key, env, given or {}, files):
            if not _harmless(key, value, drivers):
                asking.append(Asked(key, value, where))
                break
    return asking


def _sources(
    key: str, env: Mapping[str, str], given: Mapping[str, str], files: list[tuple[str, dict[str, _Found]]]
) -> list[tuple[str, str]]:
    if key in given:
        return [(given[key], "on the command line")]
    if env.get(key):
        return [(env[key], "in the environment")]
    return [
        (each.text if each.value is None else each.value, f"in {name} line {each.line}")
        for name, found in files
        if (each := found.get(key)) is not None
    ]


def _harmless(key: str, value: str, drivers: set[str]) -> bool:
    said = value.strip().lower()
    if key == "AGENT_PROVIDER" and (said in ("claude", "claude-code") or said in drivers):
        return True
    return said in _NONE


def _read(path: Path) -> str | None:
    try:
        return read_bytes(path).decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ProjectUnusable:
        raise
    except OSError as error:
        told = f"{path} can't be read: {error.strerror}\n  next: check its permissions"
        raise ProjectUnusable(told) from error


def assignments(text: str, env: Mapping[str, str]) -> dict[str, _Found]:
    """Give what the lines of a shell script assign, the last of each name; pure.

    A line that is more than an assignment, or stands inside of something, may run or not: it asks, and it takes
    nothing back.

    >>> assignments("SANDBOX_PROVIDER=docker # ours\\nGITHUB_ISSUE=${NO:-42}\\n", {})["GITHUB_ISSUE"].value
    '42'
    """
    found: dict[str, _Found] = {}
    for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        code = _without_comment(raw)
        plain = raw[:1] not in " \t" and _PLAIN.fullmatch(code) is not None
        if (gone := _UNSET.fullmatch(code)) and raw[:1] not in " \t":
            for name in gone[1].split():
                found.pop(name, None)
        for name, word in _ASSIGNMENT.findall(code):
            value = _value(word, env, found)
            if plain or value is None or value.strip().lower() not in _NONE or name not in found:
                found[name] = _Found(value, word, number)
        for name, word in _DEFAULT.findall(code):
            if not env.get(name) and not (name in found and found[name].value):
                found[name] = _Found(_value(word, env, found), word, number)
    return found


def _without_comment(line: str) -> str:
    quote = ""
    before = " "
    for at, sign in enumerate(line):
        if quote:
            quote = "" if sign == quote and not (sign == '"' and before == "\\") else quote
        elif sign in "\"'" and before != "\\":
            quote = sign
        elif sign == "#" and before in " \t;":
            return line[:at].strip()
        before = sign
    return line.strip()


def _value(word: str, env: Mapping[str, str], found: Mapping[str, _Found]) -> str | None:
    """Give the value of a word of the shell, or None where only the shell could."""
    pieces = []
    for double, single, escaped, bare in _PIECE.findall(word):
        if not (double or bare):
            pieces.append(single + escaped)
            continue
        text = double or bare
        for _ in range(_NESTED):
            text = _EXPANSION.sub(lambda match: _expanded(match, env, found), text)
        if "$" in text or "`" in text:
            return None
        pieces.append(text.strip("\"'") if bare else text)
    return "".join(pieces)


def _expanded(match: re.Match[str], env: Mapping[str, str], found: Mapping[str, _Found]) -> str:
    name = match[1] or match[3]
    known = found.get(name)
    if known is not None and known.value is None:
        return "$(?)"
    return (known.value if known is not None else "") or env.get(name, "") or match[2] or ""
