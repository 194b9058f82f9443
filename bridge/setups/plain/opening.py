"""The loop of a folder without a setup, ready to run: its script loaded."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.resources import os_text
from bridge.setups.model import Opened
from bridge.setups.plain.settings import SAMPLES, loop_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from pathlib import Path

    from bridge.agent import Agent
    from bridge.driver import Driver
    from bridge.loop.events import LoopEvent
    from bridge.loop.outcome import Outcome
    from bridge.loop.settings import LoopSettings
    from bridge.loop.store import StateFile
    from bridge.setups.options import RunOptions
    from bridge.setups.plain.handler import PlainFiles
    from bridge.turn.tool import Command, Tool


class _Plain(Opened):
    __slots__ = ()
    loop: LoopSettings

    def state_files(self) -> tuple[str, Sequence[str]]:
        return ".ralph", SAMPLES


@dataclass(frozen=True, slots=True)
class DriverLoop(_Plain):
    driver: Driver
    loop: LoopSettings

    def begun(self) -> tuple[Driver, LoopSettings]:
        return self.driver, self.loop

    def preview(self) -> tuple[Sequence[str], Command]:
        from bridge.loop.plan import context_for
        from bridge.loop.policy import LoopState
        from bridge.setups.plain.handler import PlainFiles
        from bridge.turn.driver import build_command

        files, session = PlainFiles(self.loop.project), None
        if self.loop.resume and self.driver.supports_sessions():
            session, _ = files.read_session()
        context = context_for(LoopState(), files.read_plan(), resumed=session is not None)
        return (), build_command(self.driver, self.loop, self.loop.prompt, context=context, session=session)

    def events(self) -> Generator[LoopEvent, None, None]:
        from bridge.turn.driver import DriverTool

        return run_plain(DriverTool(self.driver, self.loop, f"driver {self.driver.script.stem}"), self.loop)


@dataclass(frozen=True, slots=True)
class AgentLoop(_Plain):
    agent: Agent
    loop: LoopSettings

    def begun(self) -> tuple[Agent, LoopSettings]:
        return self.agent, self.loop

    def preview(self) -> tuple[Sequence[str], bytes]:
        from bridge.loop.plan import context_for
        from bridge.loop.policy import LoopState
        from bridge.setups.plain.handler import PlainFiles, agent_prompt
        from bridge.turn.model import refuse_for_agent

        refuse_for_agent(self.agent, self.loop.model)
        plan = PlainFiles(self.loop.project).read_plan()
        return (), agent_prompt(self.loop, context_for(LoopState(), plan, resumed=False))

    def events(self) -> Generator[LoopEvent, None, None]:
        from bridge.turn.agent import AgentTool

        return run_plain(AgentTool(self.agent, self.loop), self.loop, for_agent=True)


@contextmanager
def open_loop(folder: Path, options: RunOptions, tell: Callable[[str], None]) -> Iterator[DriverLoop | AgentLoop]:
    """Load the script, which is closed when the block ends. Nothing is started."""
    agent = options.script("agent")
    if agent is not None and (options.allowed_tools is not None or not options.resume):
        raise ConfigurationError(
            "--allowed-tools and --no-continue (allowed_tools, resume) are for drivers: agents have no hook for it"
        )
    if agent is None and not options.lift:
        raise ConfigurationError("--no-lift does not apply without --agent")
    settings = loop_settings(folder, options)
    if agent is not None:
        with agent_of(folder, agent, options.globals, timeout=settings.hook_seconds, lift=options.lift) as script:
            yield AgentLoop(script, settings)
        return
    named, tools = options.script("driver"), options.allowed_tools
    with driver_of(folder, named, options.globals, tell, allowed_tools=tools) as driver:
        yield DriverLoop(driver, settings)


def run_plain(
    tool: Tool,
    loop: LoopSettings,
    *,
    for_agent: bool = False,
    files: PlainFiles | None = None,
    more: Sequence[StateFile] = (),
) -> Generator[LoopEvent, None, None]:
    """Run the loop of a folder with a tool.

    `files` says where it keeps its own, None: as in a plain folder; `more` are further state files that it keeps.

    Raises:
        bridge.errors.ConfigurationError: a variable of the environment is no number.
    """
    from bridge.loop.policy import LoopState, PlanPolicy
    from bridge.loop.runner import run_loop
    from bridge.loop.settings import night
    from bridge.setups.plain.handler import PlainFiles, PlainHandler
    from bridge.setups.projects import active_run

    files = PlainFiles(loop.project) if files is None else files
    logs_bytes = night(loop.environment).turn_logs_bytes
    handler = PlainHandler(files, loop, logs_bytes=logs_bytes, for_agent=for_agent, more=more)
    policy: PlanPolicy[LoopState, Outcome] = PlanPolicy(loop.limits, loop.pauses)
    active = active_run(files.folder, loop.project, tool.name)
    return run_loop(tool, policy, handler, loop, active=active, state=LoopState())


def agent_of(
    project: Path, named: str, extra: Mapping[str, str], *, timeout: float | None, lift: bool = True
) -> Agent:
    """Load an agent where there is no setup of its kind, with what its controller would have set.

    Args:
        named: a path, or a name: of one in the project (``.ralph/agents``, ``agents``), else of a shipped one.
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
    """Load the driver that the option, the environment or the project's settings name."""
    from bridge.setups.dot_ralph import rc
    from bridge.setups.dot_ralph.folder import locate
    from bridge.setups.dot_ralph.opening import open_driver, settings_of
    from bridge.setups.dot_ralph.settings import resolve
    from bridge.setups.dot_ralph.tools import OPTION, about_tools
    from bridge.setups.settings import GivenOption

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
        if problem := about_tools(settings, driver):
            tell(problem)
    except BaseException:
        driver.close()
        raise
    return driver
