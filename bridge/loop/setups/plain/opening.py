"""The loop of a folder without a setup, ready to run: its script loaded."""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from dataclasses import replace
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from bridge.base.records import dataclass
from bridge.base.resources import os_text
from bridge.errors import ConfigurationError
from bridge.loop.setups import PLAIN
from bridge.loop.setups.foreign import without_prompt
from bridge.loop.setups.foreign_loops import foreign_loop
from bridge.loop.setups.plain.ending import ending_of, plan_files, prompt_words
from bridge.loop.setups.plain.settings import loop_settings
from bridge.loop.setups.projects import has_prompt
from bridge.loop.setups.script_loading import agent_of
from bridge.loop.setups.setup_kind import Opened

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from pathlib import Path

    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.store import StateFile
    from bridge.loop.setups.foreign_loops import ForeignLoop
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.plain.handler import PlainFiles
    from bridge.loop.turn.tool import Command, Tool
    from bridge.scripts.agent import Agent
    from bridge.scripts.driver import Driver


@dataclass(frozen=True, slots=True)
class DriverLoop(Opened):
    driver: Driver
    loop: LoopSettings
    foreign: ForeignLoop | None = None

    def begun(self) -> tuple[Driver, LoopSettings]:
        return self.driver, self.loop

    def preview(self) -> tuple[Sequence[str], Command]:
        from bridge.loop.engine.state import LoopState
        from bridge.loop.setups.plain.handler import context_of
        from bridge.loop.turn.driver import build_command

        plan = files_of(self.loop, self.foreign).read_plan()
        context = context_of(self.loop, LoopState(), plan, resumed=False)
        if self.foreign is None or not self.foreign.words:
            return (), build_command(self.driver, self.loop, self.loop.prompt, context=context, session=None)
        with NamedTemporaryFile("w", suffix=".md", encoding="utf-8", errors="surrogateescape") as file:
            file.write(self.foreign.words)
            file.flush()
            return (), build_command(self.driver, self.loop, file.name, context=context, session=None)

    def events(self) -> Generator[LoopEvent, None, None]:
        from bridge.loop.turn.driver import DriverTool

        tool = DriverTool(self.driver, self.loop, f"driver {self.driver.script.stem}")
        return run_plain(tool, self.loop, foreign=self.foreign)


@dataclass(frozen=True, slots=True)
class AgentLoop(Opened):
    agent: Agent
    loop: LoopSettings
    foreign: ForeignLoop | None = None

    def begun(self) -> tuple[Agent, LoopSettings]:
        return self.agent, self.loop

    def preview(self) -> tuple[Sequence[str], bytes]:
        from bridge.loop.engine.state import LoopState
        from bridge.loop.setups.plain.handler import agent_prompt, context_of
        from bridge.loop.turn.language_model import refuse_for_agent

        refuse_for_agent(self.agent, self.loop.model)
        plan = files_of(self.loop, self.foreign).read_plan()
        context = context_of(self.loop, LoopState(), plan, resumed=False)
        return (), agent_prompt(self.loop, context, self.foreign.words if self.foreign else "")

    def events(self) -> Generator[LoopEvent, None, None]:
        from bridge.loop.turn.agent import AgentTool

        return run_plain(AgentTool(self.agent, self.loop), self.loop, for_agent=True, foreign=self.foreign)


@contextmanager
def open_loop(folder: Path, options: RunOptions, tell: Callable[[str], None]) -> Iterator[DriverLoop | AgentLoop]:
    """Load the script, which is closed when the block ends. Nothing is started."""
    foreign = foreign_loop(folder, options.prompt)
    own_promise = options.promise
    if foreign is not None:
        options, line = foreign.taken(options, os.environ)
        tell(line)
    elif options.prompt is None and not has_prompt(folder):
        raise without_prompt(folder)
    agent = options.named("agent")
    if agent is not None and (options.allowed_tools is not None or options.resume is not None):
        raise ConfigurationError(
            "--allowed-tools and --continue/--no-continue (allowed_tools, resume) are for drivers:"
            " agents have no hook for it"
        )
    if agent is None and not options.lift:
        raise ConfigurationError("--no-lift does not apply without --agent")
    from bridge.loop.setups.projects import unread_scripts

    if options.prompt is None and (unread := unread_scripts(folder)):
        tell(f"{unread[0]} names a coding CLI, and is not run: --script {shlex.quote(unread[0])} runs it")
    settings = _with_ending(loop_settings(folder, options), own_promise, foreign, agent=agent is not None)
    if agent is not None:
        wait, boxed = settings.hook_seconds, settings.box is not None
        with agent_of(folder, agent, options.globals, timeout=wait, lift=options.lift, boxed=boxed) as script:
            yield AgentLoop(script, settings, foreign)
        return
    named, tools = options.named("driver"), options.allowed_tools
    boxed = settings.box is not None
    with driver_of(folder, named, options.globals, tell, allowed_tools=tools, boxed=boxed) as driver:
        yield DriverLoop(driver, settings, foreign)


def files_of(loop: LoopSettings, foreign: ForeignLoop | None = None) -> PlainFiles:
    """Give the files of a loop: the plan of another tool's loop, or one that its prompt names, counts first."""
    from bridge.loop.setups.plain.handler import PlainFiles

    named = (foreign.plan,) if foreign is not None and foreign.plan else ()
    return PlainFiles(loop.project, plans=(*named, *plan_files(_words(loop, foreign))))


def _words(loop: LoopSettings, foreign: ForeignLoop | None) -> str:
    return (foreign.words if foreign is not None else "") or prompt_words(loop.project, loop.prompt)


def _with_ending(
    loop: LoopSettings, promise: str | None, foreign: ForeignLoop | None, *, agent: bool
) -> LoopSettings:
    found = files_of(loop, foreign).find_plan()
    plan = found[0] if found is not None and found[1].total else None
    named = foreign.promise if foreign is not None else None
    ending = ending_of(_words(loop, foreign), plan, promise=promise, agent=agent, foreign=named)
    return replace(loop, promise=ending.promise, ending_request=ending.request, ending_notice=ending.notice)


def run_plain(
    tool: Tool,
    loop: LoopSettings,
    *,
    for_agent: bool = False,
    files: PlainFiles | None = None,
    foreign: ForeignLoop | None = None,
    more: Sequence[StateFile] = (),
) -> Generator[LoopEvent, None, None]:
    """Run the loop of a folder with a tool.

    `foreign` is the loop of another tool whose words it runs; `files` says where it keeps its own, None: as in a
    plain folder; `more` are further state files that it keeps.

    Raises:
        bridge.errors.ConfigurationError: a variable of the environment is no number.
    """
    from bridge.loop.engine.loop_settings import night
    from bridge.loop.engine.policy import PlanPolicy
    from bridge.loop.engine.runner import run_loop
    from bridge.loop.engine.state import LoopState
    from bridge.loop.setups.plain.handler import PlainHandler
    from bridge.loop.setups.projects import active_run

    setup = PLAIN if files is None else ""
    files = files_of(loop, foreign) if files is None else files
    words = foreign.words if foreign is not None else ""
    logs_bytes = night(loop.environment).turn_logs_bytes
    handler: PlainHandler[LoopState] = PlainHandler(
        files, loop, logs_bytes=logs_bytes, for_agent=for_agent, words=words, more=more
    )
    policy: PlanPolicy[LoopState, Outcome] = PlanPolicy(loop.limits, loop.pauses)
    active = active_run(files.folder, loop.project, tool.name, setup=setup)
    return run_loop(tool, policy, handler, loop, active=active, state=LoopState())


def driver_of(
    project: Path,
    named: str | None,
    extra: Mapping[str, str],
    tell: Callable[[str], None],
    *,
    allowed_tools: str | None = None,
    boxed: bool = False,
) -> Driver:
    """Load the driver that the option, the environment or the project's settings name."""
    from bridge.loop.setups.declared_settings import GivenOption
    from bridge.loop.setups.dot_ralph import rc
    from bridge.loop.setups.dot_ralph.folder import locate
    from bridge.loop.setups.dot_ralph.opening import open_driver, settings_of
    from bridge.loop.setups.dot_ralph.settings import resolve
    from bridge.loop.setups.dot_ralph.tools import OPTION, about_tools

    folder = locate(project)
    options = settings_of(extra)
    if named:
        options["platform_driver"] = GivenOption("--driver", os_text(named))
    if allowed_tools is not None:
        options["allowed_tools"] = GivenOption(OPTION, os_text(allowed_tools))
    settings = resolve(folder, env=os.environ, rc=rc.read(folder, os.environ), options=options)
    for notice in settings.notices:
        tell(notice)
    driver = open_driver(folder, settings, extra, boxed=boxed)
    try:
        if problem := about_tools(settings, driver):
            tell(problem)
    except BaseException:
        driver.close()
        raise
    return driver
