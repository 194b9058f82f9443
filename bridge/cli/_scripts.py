"""A script that was named on the command line: a driver or an agent, to be looked at, called or run."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bridge import resources
from bridge.errors import ConfigurationError, UnknownAgent, UnknownDriver
from bridge.shell import DEFAULT_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.agent import Agent
    from bridge.driver import Driver


def driver_folders() -> tuple[Path, ...]:
    """Where the project in the working folder has drivers of its own, which a name may mean."""
    from bridge.setups.dot_ralph.folder import locate

    with suppress(ConfigurationError, OSError):  # RALPH_DIR is odd; the working folder has been removed
        return locate().drivers
    return ()


def is_agent(script: str) -> bool:
    """Whether `script` (a path or a name) means an agent; a name that a driver has means the driver."""
    if not resources.is_name(script):
        from bridge.contract.scripts import kind_of_file

        return kind_of_file(script) == "agent"
    from bridge.driver import find

    with suppress(UnknownDriver):
        find(script, driver_folders())
        return False
    from bridge import agent

    with suppress(UnknownAgent):
        agent.find(script)
        return True
    return False


def load_driver(
    script: str, settings: Mapping[str, str] | None = None, *, timeout: float = DEFAULT_TIMEOUT, strict: bool = True
) -> Driver:
    """The driver that a path or a name means; a name also means one of the project's own."""
    from bridge.driver import Driver

    folders = driver_folders() if resources.is_name(script) else ()
    return Driver.load(script, folders=folders, settings=settings, timeout=timeout, strict=strict)


def load(
    script: str, *, settings: Mapping[str, str] | None = None, timeout: float = DEFAULT_TIMEOUT, lift: bool = True
) -> Driver | Agent:
    """Load it, whatever it lacks; `settings` are there after it was sourced (for an agent before, too)."""
    loaded: Driver | Agent
    if is_agent(script):
        from bridge.agent import Agent

        loaded = Agent.load(script, strict=False, timeout=timeout, settings=settings, lift=lift)
    else:
        loaded = load_driver(script, timeout=timeout, strict=False)
    try:
        loaded.shell.update(settings or {})
    except BaseException:
        loaded.close()
        raise
    return loaded
