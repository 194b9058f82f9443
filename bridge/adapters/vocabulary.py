"""The words of a program: what its adapter says about helpers and debugger commands (``commands``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.adapters.keys import known_keys
from bridge.adapters.model import Debugger
from bridge.adapters.problems import meant
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.adapters.model import AdapterFile

__all__ = ["spelled", "words"]

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def words(adapter: AdapterFile) -> dict[str, str]:
    """Every command that the adapter names, to its template; what a debugger can't do is absent."""
    found = {each.name: each.syntax or f"{adapter.commands.prefix}{each.name}" for each in adapter.commands.builtin}
    for key, (attribute, *_) in known_keys(Debugger).items():
        if (template := getattr(adapter.commands.debugger, attribute)) is not None:
            found[key] = template
    if adapter.commands.discovery:
        found.setdefault("discovery", adapter.commands.discovery)
    return found


def spelled(adapter: AdapterFile, name: str, values: Mapping[str, str]) -> str:
    """The command `name` with its placeholders filled in.

    Raises:
        ConfigurationError: there is none of that name, or a placeholder has no value.
    """
    known = words(adapter)
    if name not in known:
        listed = ", ".join(known) or "none"
        raise ConfigurationError(
            f"adapter {adapter.name} names no command {name!r}{meant(name, known)}\n  there are: {listed}"
        )
    template = known[name]
    missing = [each for each in _PLACEHOLDER.findall(template) if each not in values]
    if missing:
        raise ConfigurationError(f"{name!r} is {template!r}\n  next: say what {', '.join(missing)} is")
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)
