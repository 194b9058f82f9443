"""A script that was named on the command line: a driver or an agent, to be looked at, called or run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge import lookup, resources
from bridge.shell import DEFAULT_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.agent import Agent
    from bridge.driver import Driver


def find(script: str) -> Path:
    """The file that a path or a name means; see :func:`bridge.lookup.find`."""
    return lookup.find(resources.os_text(script), _folders(script))


def load_driver(
    script: str, settings: Mapping[str, str] | None = None, *, timeout: float = DEFAULT_TIMEOUT, strict: bool = True
) -> Driver:
    """The driver that a path or a name means; a name also means one of the project's own."""
    from bridge.driver import Driver

    return Driver.load(script, folders=_folders(script).drivers, settings=settings, timeout=timeout, strict=strict)


def load(
    script: str, *, settings: Mapping[str, str] | None = None, timeout: float = DEFAULT_TIMEOUT, lift: bool = True
) -> Driver | Agent:
    """Load it, whatever it lacks; `settings` are there after it was sourced (for an agent before, too)."""
    loaded: Driver | Agent
    folders = _folders(script)
    if _is_agent(script, folders):
        from bridge.agent import Agent

        loaded = Agent.load(
            script, folders=folders.agents, strict=False, timeout=timeout, settings=settings, lift=lift
        )
    else:
        from bridge.driver import Driver

        path = lookup.find(script, folders) if script and resources.is_name(script) else script
        loaded = Driver.load(path, timeout=timeout, strict=False)
    try:
        loaded.shell.update(settings or {})
    except BaseException:
        loaded.close()
        raise
    return loaded


def _folders(script: str) -> lookup.Folders:
    if not resources.is_name(script):
        return lookup.Folders()
    from bridge.setups.projects import project_scripts

    return project_scripts()


def _is_agent(script: str, folders: lookup.Folders) -> bool:
    if resources.is_name(script):
        return lookup.names_agent(script, folders)
    from bridge.contract.scripts import kind_of_file

    return kind_of_file(script) == "agent"
