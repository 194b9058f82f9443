"""The loop of a folder without a setup, ready to run: its driver loaded."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.resources import os_text
from bridge.setups.plain.settings import loop_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

    from bridge.agent import Agent
    from bridge.driver import Driver
    from bridge.loop.events import LoopEvent
    from bridge.loop.options import LoopSettings
    from bridge.setups.plain.settings import PlainSettings

__all__ = ["Opened", "OpenedAgent", "agent_of", "driver_of", "open_agent_loop", "open_loop"]


@dataclass(frozen=True, slots=True)
class Opened:
    """A loop that may start.

    Attributes:
        driver: loaded.
        loop: the settings of the engine.
    """

    driver: Driver
    loop: LoopSettings

    def events(self) -> Generator[LoopEvent, None, None]:
        """Run it; see :func:`bridge.loop.runner.run_loop`."""
        from bridge.loop.runner import run_loop
        from bridge.setups.plain.store import PlainStore

        tool = f"driver {self.driver.script.stem}"
        store = PlainStore(self.loop.project, tool=tool, resume=self.loop.resume)
        return run_loop(self.driver, self.loop, store=store)


@contextmanager
def open_loop(
    folder: Path,
    given: PlainSettings,
    driver: str | None,
    extra: Mapping[str, str],
    tell: Callable[[str], None],
    *,
    allowed_tools: str | None = None,
) -> Iterator[Opened]:
    """Load the driver, which is closed when the block ends. Nothing is started.

    Args:
        folder: the project.
        given: how to run it.
        driver: its name or path; None: as the environment or the project's settings say.
        extra: more globals for it.
        tell: gets what people should know of it.
        allowed_tools: the tools that the agent may use; None: as the project's settings say.

    Raises:
        bridge.errors.ConfigurationError: settings or options that can't be used.
        bridge.errors.BridgeError: the driver can't be loaded.
    """
    settings = loop_settings(folder, given)
    with driver_of(folder, driver, extra, tell, allowed_tools=allowed_tools) as script:
        yield Opened(script, settings)


@dataclass(frozen=True, slots=True)
class OpenedAgent:
    """A loop with an agent script that may start.

    Attributes:
        agent: loaded.
        loop: the settings of the engine.
        hook_seconds: how long a hook beside the program may take.
    """

    agent: Agent
    loop: LoopSettings
    hook_seconds: float

    def first_prompt(self) -> bytes:
        """What the first turn would be told."""
        from bridge.loop.agent_turns import prompt_text
        from bridge.loop.decide import State
        from bridge.loop.runner import context_for
        from bridge.setups.plain.store import PlainFiles

        plan = PlainFiles(self.loop.project).read_plan()
        return prompt_text(self.loop, context_for(State(), plan, resumed=False))

    def events(self) -> Generator[LoopEvent, None, None]:
        """Run it; see :func:`bridge.loop.runner.run_turns`."""
        from bridge.loop.agent_turns import AgentTurns
        from bridge.loop.runner import run_turns
        from bridge.setups.plain.store import PlainStore

        store = PlainStore(self.loop.project, tool=f"agent {self.agent.script.stem}", resume=False)
        prompt = store.folder / ".ralph_bridge.prompt.md"
        tool = AgentTurns(self.agent, self.loop, store, prompt=prompt, hook_seconds=self.hook_seconds)
        return run_turns(tool, self.loop, store=store)


@contextmanager
def open_agent_loop(
    folder: Path, given: PlainSettings, agent: str, extra: Mapping[str, str], *, lift: bool = True
) -> Iterator[OpenedAgent]:
    """Load an agent script, which is closed when the block ends. Nothing is started.

    Args:
        folder: the project.
        given: how to run it.
        agent: its name or path.
        extra: more globals for it.
        lift: run filters that are understood in process.

    Raises:
        bridge.errors.BridgeError: it can't be loaded.
    """
    from bridge.loop.night import night

    hook_seconds = night(given.env).hook_seconds
    with agent_of(folder, agent, extra, timeout=hook_seconds, lift=lift) as script:
        yield OpenedAgent(script, loop_settings(folder, given), hook_seconds)


def agent_of(
    project: Path, named: str, extra: Mapping[str, str], *, timeout: float | None, lift: bool = True
) -> Agent:
    """Load an agent where there is no setup of its kind, with what its controller would have set.

    Args:
        project: its folder.
        named: a path, or a name: of one in the project (``.ralph/agents``, ``agents``), else of a shipped one.
        extra: more globals.
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
    project: Path,
    named: str | None,
    extra: Mapping[str, str],
    tell: Callable[[str], None],
    *,
    allowed_tools: str | None = None,
) -> Driver:
    """Load the driver that the option, the environment or the project's settings name.

    Args:
        project: its folder.
        named: by ``--driver``, or None.
        extra: more globals, from ``--set``.
        tell: gets what people should know of it.
        allowed_tools: by ``--allowed-tools``, or None.
    """
    from bridge.setups.bmalph import rc
    from bridge.setups.bmalph.folder import locate
    from bridge.setups.bmalph.opening import open_driver, settings_of
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
        tell(notice)
    driver = open_driver(folder, settings, extra)
    try:
        if said := about_tools(settings, driver):
            tell(said)
    except BaseException:
        driver.close()
        raise
    return driver
