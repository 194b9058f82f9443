"""A script that was named on the command line: a driver or an agent, to be looked at, called or run."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from bridge import resources
from bridge.cli._terminal import say
from bridge.cli.common import os_text
from bridge.errors import ConfigurationError, UnknownAgent, UnknownDriver
from bridge.shell import DEFAULT_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.agent import Agent
    from bridge.driver import Driver
    from bridge.setups.bmalph.folder import Folder
    from bridge.setups.bmalph.settings import Given, Settings

__all__ = ["agent_of", "as_given", "driver_folders", "driver_of", "is_agent", "load", "open_driver", "settings_of"]


def as_given(script: str) -> str:
    """A name as it is; a path so that it leads to the same file from anywhere."""
    return script if resources.is_name(script) else os.path.abspath(script)


def driver_folders() -> tuple[Path, ...]:
    """Where the project in the working folder has drivers of its own, which a name may mean."""
    from bridge.setups.bmalph.folder import locate

    with suppress(ConfigurationError, OSError):  # RALPH_DIR is odd; the working folder has been removed
        return locate().drivers
    return ()


def is_agent(script: str) -> bool:
    """Whether `script` (a path or a name) means an agent; a name that a driver has means the driver."""
    if not resources.is_name(script):
        from bridge.contract.loading import kind_of_file

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

    driver = Driver.load(script, folders=driver_folders(), strict=False, timeout=timeout)
    try:
        driver.shell.update(settings or {})
    except BaseException:
        driver.close()
        raise
    return driver


def open_driver(folder: Folder, settings: Settings, extra: Mapping[str, str], *, log: Path | None = None) -> Driver:
    """Load the driver that the settings name: the project's own.

    The shipped one of that name is for a project without drivers, and for whoever asks for one with an option.

    Args:
        folder: the loop's folder of the project.
        settings: of the project.
        extra: more globals, from ``--set``.
        log: the log of the loop that it is loaded for, or None.

    Raises:
        bridge.errors.UnknownDriver: the project has drivers, and none of that name.
        bridge.errors.BridgeError: it can't be loaded.
    """
    from bridge.driver import NOT_DRIVERS, Driver

    name = settings.platform_driver
    own = resources.scripts_in(folder.drivers, without=NOT_DRIVERS)
    source = settings.sources["platform_driver"]
    if own and name not in own and "/" not in name and source.kind != "option":
        places = ", ".join(folder.name_of(each) for each in folder.drivers)
        raise UnknownDriver(
            f"the driver {name} ({source.name} {source.where}) is not there: {folder.shown}/drivers/{name}.sh\n"
            f"  searched: {places}\n"
            f"  expected one of: {', '.join(own)}.{resources.likely(name, own)}\n"
            f"  next: correct the name, or get the driver back (`bmalph upgrade`)"
        )
    return Driver.load(
        settings.platform_driver,
        folders=folder.drivers,
        cwd=folder.project,
        settings={name: os_text(value) for name, value in {**settings.shell_globals(), **extra}.items()},
        log=log,
    )


def settings_of(extra: Mapping[str, str]) -> dict[str, Given]:
    """What ``--set`` says of the tools that the agent may use, by either name: drivers read one of them only."""
    from bridge.setups.bmalph.settings import Given

    for name in ("CLAUDE_ALLOWED_TOOLS", "ALLOWED_TOOLS"):
        if name in extra:
            return {"allowed_tools": Given(f"--set {name}", os_text(extra[name]))}
    return {}


def agent_of(
    project: Path, named: str, extra: Mapping[str, str], *, timeout: float | None, lift: bool = True
) -> Agent:
    """Load an agent where there is no setup of its kind, with what its controller would have set.

    Args:
        project: its folder.
        named: a path, or a name: of one in the project (``.ralph/agents``, ``agents``), else of a shipped one.
        extra: more globals, from ``--set``.
        timeout: seconds for each hook beside the program.
        lift: run filters that are understood in process.
    """
    from bridge.agent import Agent

    ralph = project / ".ralph"
    base = {"RALPH_DIR": str(ralph), "RALPH_HOME": ".ralph", "MODE": "prompt", "SPECS_DIR": "specs"}
    return Agent.load(
        os_text(named),
        folders=[ralph / "agents", project / "agents"],
        cwd=project,
        settings={**base, **extra},
        timeout=timeout,
        lift=lift,
    )


def driver_of(
    project: Path, named: str | None, extra: Mapping[str, str], *, allowed_tools: str | None = None
) -> Driver:
    """Load the driver that the option, the environment or the project's settings name.

    Args:
        project: its folder.
        named: by ``--driver``, or None.
        extra: more globals, from ``--set``.
        allowed_tools: by ``--allowed-tools``, or None.
    """
    from bridge.setups.bmalph import rc
    from bridge.setups.bmalph.folder import locate
    from bridge.setups.bmalph.settings import Given, resolve
    from bridge.setups.bmalph.tools import OPTION, about_tools

    folder = locate(project)
    options = settings_of(extra)
    if named:
        options["platform_driver"] = Given("--driver", os_text(named))
    if allowed_tools is not None:
        options["allowed_tools"] = Given(OPTION, os_text(allowed_tools))
    settings = resolve(folder, env=os.environ, rc=rc.read(folder, os.environ), options=options)
    for notice in settings.notices:
        say(f"note: {notice}")
    driver = open_driver(folder, settings, extra)
    try:
        if told := about_tools(settings, driver):
            say(f"note: {told}")
    except BaseException:
        driver.close()
        raise
    return driver
