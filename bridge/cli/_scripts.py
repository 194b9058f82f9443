"""A script that was named on the command line: a driver or an agent, loaded to be looked at or called."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bridge import resources
from bridge.errors import UnknownAgent, UnknownDriver
from bridge.shell import DEFAULT_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.agent import Agent
    from bridge.driver import Driver

__all__ = ["is_agent", "load"]


def is_agent(script: str) -> bool:
    """Whether `script` (a path or a name) means an agent; a name that a driver has means the driver."""
    if not resources.is_name(script):
        from bridge.contract.loading import kind_of_file

        return kind_of_file(script) == "agent"
    from bridge.driver import find

    with suppress(UnknownDriver):
        find(script)
        return False
    from bridge import agent

    with suppress(UnknownAgent):
        agent.find(script)
        return True
    return False


def load(
    script: str, *, settings: Mapping[str, str] | None = None, timeout: float = DEFAULT_TIMEOUT, lift: bool = True
) -> Driver | Agent:
    """Load it, whatever it lacks; `settings` are there after it was sourced (for an agent before, too)."""
    if is_agent(script):
        from bridge.agent import Agent

        agent = Agent.load(script, strict=False, timeout=timeout, settings=settings, lift=lift)
        try:
            agent.shell.update(settings or {})
        except BaseException:
            agent.close()
            raise
        return agent
    from bridge.driver import Driver

    driver = Driver.load(script, strict=False, timeout=timeout)
    try:
        driver.shell.update(settings or {})
    except BaseException:
        driver.close()
        raise
    return driver
