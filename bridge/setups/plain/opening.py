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
    from bridge.loop.outcome import Outcome
    from bridge.loop.store import LoopSettings
    from bridge.setups.plain.settings import PlainSettings
    from bridge.setups.plain.store import PlainFiles
    from bridge.turn.tool import Tool


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
        from bridge.turn.driver import DriverTool

        return run_plain(DriverTool(self.driver, self.loop, f"driver {self.driver.script.stem}"), self.loop)


def run_plain(
    tool: Tool, loop: LoopSettings, *, for_agent: bool = False, files: PlainFiles | None = None
) -> Generator[LoopEvent, None, None]:
    """Run the loop of a plain folder with a tool; see :func:`bridge.loop.runner.run_loop`.

    Args:
        tool: what runs in each turn.
        loop: its settings.
        for_agent: it is an agent's script.
        files: where the loop keeps its files; None: as in a plain folder.

    Raises:
        bridge.errors.ConfigurationError: a variable of the environment is no number.
    """
    from bridge.loop.night import night
    from bridge.loop.policy import LoopState, PlanPolicy
    from bridge.loop.runner import run_loop
    from bridge.setups.plain.store import PlainStore
    from bridge.setups.projects import active_run

    logs_bytes = night(loop.environment).turn_logs_bytes
    store = PlainStore(loop, logs_bytes=logs_bytes, for_agent=for_agent, files=files)
    policy: PlanPolicy[LoopState, Outcome] = PlanPolicy(loop.limits, loop.pauses)
    return run_loop(
        tool,
        policy,
        store,
        loop,
        active=active_run(store.files.folder, loop.project, tool.name),
        state=LoopState(),
    )


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
    """

    agent: Agent
    loop: LoopSettings

    def first_prompt(self) -> bytes:
        """What the first turn would be told."""
        from bridge.loop.context import context_for
        from bridge.loop.policy import LoopState
        from bridge.setups.plain.store import PlainFiles, agent_prompt

        plan = PlainFiles(self.loop.project).read_plan()
        return agent_prompt(self.loop, context_for(LoopState(), plan, resumed=False))

    def events(self) -> Generator[LoopEvent, None, None]:
        """Run it; see :func:`bridge.loop.runner.run_loop`."""
        from bridge.turn.agent import AgentTool

        return run_plain(AgentTool(self.agent, self.loop), self.loop, for_agent=True)


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
        lift: run filters that start a jq for every line in one jq.

    Raises:
        bridge.errors.BridgeError: it can't be loaded.
    """
    settings = loop_settings(folder, given)
    with agent_of(folder, agent, extra, timeout=settings.hook_seconds, lift=lift) as script:
        yield OpenedAgent(script, settings)


def agent_of(
    project: Path, named: str, extra: Mapping[str, str], *, timeout: float | None, lift: bool = True
) -> Agent:
    """Load an agent where there is no setup of its kind, with what its controller would have set.

    Args:
        project: its folder.
        named: a path, or a name: of one in the project (``.ralph/agents``, ``agents``), else of a shipped one.
        extra: more globals.
        timeout: seconds for each hook beside the program.
        lift: run filters that start a jq for every line in one jq.
    """
    from bridge.agent import Agent
    from bridge.setups.dot_ralph.folder import Folder

    folder = Folder(project, project / ".ralph")
    base = {"RALPH_DIR": str(folder.path), "RALPH_HOME": ".ralph", "MODE": "prompt", "SPECS_DIR": "specs"}
    return Agent.load(
        os_text(named),
        folders=folder.agents,
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
    from bridge.setups.dot_ralph import rc
    from bridge.setups.dot_ralph.folder import locate
    from bridge.setups.dot_ralph.keys import GivenOption
    from bridge.setups.dot_ralph.opening import open_driver, settings_of
    from bridge.setups.dot_ralph.settings import resolve
    from bridge.setups.dot_ralph.tools import OPTION, about_tools

    folder = locate(project)
    options = settings_of(extra)
    if named:
        options["platform_driver"] = GivenOption("--driver", os_text(named))
    if allowed_tools is not None:
        options["allowed_tools"] = GivenOption(OPTION, os_text(allowed_tools))
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
