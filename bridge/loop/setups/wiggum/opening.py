"""The outer loop of a project, ready to run: the project held, the state prepared, the tool loaded."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bridge.base.files import make_folder, usable
from bridge.base.git.work import WorkDetector
from bridge.base.process.argv import resolve
from bridge.base.records import dataclass
from bridge.base.resources import os_text
from bridge.errors import ConfigurationError, HookError, StateUnreadable
from bridge.loop.engine.loop_settings import LoopSettings, night
from bridge.loop.engine.policy import Limits
from bridge.loop.engine.runner import run_loop
from bridge.loop.setups.asked import asked_settings
from bridge.loop.setups.box_options import box_of
from bridge.loop.setups.declared_settings import TEXT, SettingKey, whole
from bridge.loop.setups.dot_ralph.folder import locate, protected
from bridge.loop.setups.projects import active_run
from bridge.loop.setups.setup_kind import Opened
from bridge.loop.setups.wiggum.files import FILES, PROTECTED, latest_state
from bridge.loop.setups.wiggum.handler import OuterHandler
from bridge.loop.setups.wiggum.outer import RETRY_DELAY, OuterPolicy, OuterState
from bridge.loop.setups.wiggum.start import check, prepare
from bridge.loop.setups.wiggum.state import (
    ENV_MAX_ITERATIONS,
    ENV_PROMISE,
    MAX_ITERATIONS,
    PROMISE,
    read_environment,
)
from bridge.loop.setups.wiggum.task import StartRequest
from bridge.loop.turn.agent import AgentTool
from bridge.loop.turn.driver import DriverTool
from bridge.scripts.driver import Driver

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from bridge.loop.engine.active_run import ActiveRun
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.wiggum.files import Layout
    from bridge.loop.setups.wiggum.state import WiggumState
    from bridge.scripts.agent import Agent

_TOOL = "driver claude-code"
SETTINGS = (
    SettingKey(field="max_iterations", name=ENV_MAX_ITERATIONS, kind=whole(1), default=str(MAX_ITERATIONS),
               meaning="Turns of the agent after which the loop ends.", option="max_iterations"),
    SettingKey(field="completion_promise", name=ENV_PROMISE, kind=TEXT, default=PROMISE, option="promise",
               meaning="What completes the loop, unless PROMPT.md asks for one promise, and that is another."),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class OuterLoop(Opened):
    """A loop that may start, or that is over because there is nothing left to do."""

    active: ActiveRun
    state: WiggumState
    tool: DriverTool | AgentTool
    settings: LoopSettings
    policy: OuterPolicy
    handler: OuterHandler

    @property
    def script(self) -> Driver | Agent:
        if isinstance(self.tool, AgentTool):
            return self.tool.agent
        assert isinstance(self.tool.driver, Driver)
        return self.tool.driver

    def events(self) -> Generator[LoopEvent, None, None]:
        state = OuterState(self.state.iteration, saved=self.state)
        return run_loop(self.tool, self.policy, self.handler, self.settings, active=self.active, state=state)


@contextmanager
def open_outer(
    layout: Layout, request: StartRequest, asked: RunOptions, tell: Callable[[str], None]
) -> Iterator[OuterLoop]:
    """Take the project's lock, prepare the state and load the tool, all of which is let go of when the block ends.

    Raises:
        bridge.errors.ProjectBusy: another loop is running there.
        bridge.errors.LoopRefused, bridge.errors.ConfigurationError: see
            :func:`bridge.loop.setups.wiggum.start.prepare`.
    """
    probe = WorkDetector(layout.project, FILES)
    waits = night(os.environ)
    prompt = str(layout.prompt.relative_to(layout.project))
    box = box_of(layout.project, asked, (*protected(locate(layout.project)), *PROTECTED))
    settings = replace(
        asked_settings(layout.project, prompt, asked, waits, files=FILES, box=box), live=asked.live, resume=False
    )
    if probe.git is not None and settings.box is not None:
        probe.git.within = settings.box.around  # checkpoints run the project's hooks
    if check(layout, probe, request, datetime.now(UTC)):
        _check_program(layout, request, settings, asked)
    with usable(layout.folder):
        make_folder(layout.folder)
    with ExitStack() as stack:
        active = stack.enter_context(active_run(layout.folder, layout.project, request.tool or ""))
        for notice in active.notices:
            tell(notice)
        # What was asked for by name first: a name that leads nowhere shall leave no loop behind.
        tool = _tool(stack, request.tool, settings, asked, tell) if request.tool else None
        prepared = prepare(layout, probe, request, datetime.now(UTC))
        for notice in prepared.notices:
            tell(notice)
        state = prepared.state
        if tool is None:
            name = state.tool or _TOOL
            active.uses(name)
            tool = _tool(stack, name, settings, asked, tell)
        if settings.model:
            active.uses(tool.name)
        seconds = None if state.max_minutes is None else state.max_minutes * 60
        settings = replace(settings, limits=Limits(state.max_iterations or None, 0, seconds))
        handler = OuterHandler(
            layout, probe, logs_bytes=waits.turn_logs_bytes, for_agent=isinstance(tool, AgentTool)
        )
        policy = OuterPolicy(RETRY_DELAY if asked.retry_delay is None else asked.retry_delay, waits.pauses)
        yield OuterLoop(active=active, state=state, tool=tool, settings=settings, policy=policy, handler=handler)


def start_request(asked: RunOptions, **more: Any) -> StartRequest:
    """Say what is asked for; `more` is wiggum's own. Raises ConfigurationError for the environment's nonsense."""
    promise = None if asked.promise is None else os_text(asked.promise)
    beside = {ENV_MAX_ITERATIONS: asked.max_iterations, ENV_PROMISE: promise}
    found = read_environment({name: os_text(os.environ.get(name, "")) for name in beside if beside[name] is None})
    if found.wrong:
        raise ConfigurationError(f"{found.wrong[0]}\n  next: put the variable right, or unset it")
    tools = (("driver", asked.named("driver")), ("agent", asked.named("agent")))
    return StartRequest(
        description=None if asked.task is None else os_text(asked.task),
        completion_promise=promise,
        max_iterations=asked.max_iterations,
        environment=found,
        max_minutes=asked.max_minutes,
        tool=next((f"{kind} {script}" for kind, script in tools if script is not None), None),
        **more,
    )


def _check_program(layout: Layout, request: StartRequest, settings: LoopSettings, asked: RunOptions) -> None:
    """Refuse, before anything is written, what the first turn would: a program that isn't there."""
    before = None
    with suppress(StateUnreadable):
        before = None if request.fresh else latest_state(layout)
    name = request.tool or (before.tool if before is not None else "") or _TOOL
    with ExitStack() as stack, TemporaryDirectory() as scratch:
        tool = _tool(stack, name, settings, asked, lambda _line: None)
        if isinstance(tool, AgentTool):
            tool.require_program()
            return
        if settings.model:
            tool.try_model()
        prompt = Path(scratch, "PROMPT.md")
        prompt.write_text("x")
        with suppress(HookError):  # which is the first turn's to tell
            if argv := tool.driver.build_command(str(prompt)):
                resolve(argv, cwd=layout.project, env=os.environ)


def _tool(
    stack: ExitStack, name: str, settings: LoopSettings, asked: RunOptions, tell: Callable[[str], None]
) -> DriverTool | AgentTool:
    from bridge.loop.setups.plain.opening import driver_of
    from bridge.loop.setups.script_loading import agent_of

    kind, _, script = name.partition(" ")
    project, extra, boxed = settings.project, dict(asked.settings), settings.box is not None
    if kind == "agent":
        agent = stack.enter_context(agent_of(project, script, extra, timeout=settings.hook_seconds, boxed=boxed))
        return AgentTool(agent, settings)
    driver = stack.enter_context(driver_of(project, script, extra, tell, boxed=boxed))
    return DriverTool(driver, settings, name)
