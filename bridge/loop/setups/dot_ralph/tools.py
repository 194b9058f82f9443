"""The list of tools that an agent may use, held against the tools that its driver knows. Pure."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from bridge.base.resources import nearest
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridge.loop.setups.dot_ralph.common import CommonSettings
    from bridge.scripts.driver import Driver

OPTION = "--allowed-tools"
"""The option whose list has to be right; one that comes from elsewhere costs a warning, as in the original."""

_WITH_ARGUMENT = re.compile(r"([^()]+)\(.+\)", re.DOTALL)


def about_tools(settings: CommonSettings, driver: Driver) -> str:
    """Say what people should know of the list before the loop starts; '' for nothing.

    Raises:
        ConfigurationError: the option names tools that the driver doesn't know.
    """
    source = settings.sources["allowed_tools"]
    if source.kind == "default":
        return ""
    if not driver.supports_tool_allowlist():
        return f"{source.name} {source.where} is ignored: {driver.display_name()} has no list of allowed tools"
    patterns = driver.valid_tools()
    unknown = unknown_tools(settings.allowed_tools, patterns)
    if not unknown:
        return ""
    problem = f"{source.name} {source.where} names tools that {driver.display_name()} doesn't have: "
    problem += ", ".join(_with_meant(item, patterns) for item in unknown)
    if source.name == OPTION:
        raise ConfigurationError(f"{problem}\n  next: use some of {', '.join(patterns)}")
    return problem


def unknown_tools(allowed: str, patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the items of a tool list that a driver's patterns (``Bash``, ``Bash(git *)``, ``mcp__*``) don't cover.

    A tool that is listed in any form may have an argument: ``Bash(make *)`` is fine where ``Bash`` is. Without any
    pattern nothing is unknown: the driver doesn't say.

    >>> unknown_tools("Read, Bash(git push),Raed, Read()", ["Read", "Bash(npm *)"])
    ('Raed', 'Read()')
    """
    if not patterns:
        return ()
    names = _names(patterns)

    def known(item: str) -> bool:
        argued = _WITH_ARGUMENT.fullmatch(item)
        return _covered(item, patterns) or (argued is not None and _covered(argued[1], names))

    return tuple(item for each in _split(allowed) if (item := each.strip()) and not known(item))


def likely_tool(item: str, patterns: Iterable[str]) -> str | None:
    """Return what an item that is no tool was likely meant to be, or None.

    >>> likely_tool("bash(make *)", ["Read", "Bash"])
    'Bash(make *)'
    """
    name, opening, rest = item.partition("(")
    names = {each.lower(): each for each in reversed(_names(patterns)) if "*" not in each}
    close = nearest(name.strip().lower(), names)
    if close is None:
        return None
    argument = rest.removesuffix(")")
    return names[close] + (f"({argument})" if opening and argument.strip() else "")


def _with_meant(item: str, patterns: Sequence[str]) -> str:
    meant = likely_tool(item, patterns)
    return f"{item} (did you mean {meant}?)" if meant else item


def _names(patterns: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(pattern.partition("(")[0] for pattern in patterns))


def _covered(item: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(item, pattern.replace("[", "[[]")) for pattern in patterns)


def _split(allowed: str) -> list[str]:
    """Split at commas outside of parentheses: ``Bash(a,b)`` is one tool."""
    items, depth = [""], 0
    for sign in allowed:
        depth += (sign == "(") - (sign == ")" and depth > 0)
        if sign == "," and not depth:
            items.append("")
        else:
            items[-1] += sign
    return items
