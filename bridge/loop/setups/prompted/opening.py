"""The loop of such a setup, ready to run: with a driver or an agent for the CLI that its script calls."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.clis import find_cli
from bridge.base.records import dataclass
from bridge.errors import ConfigurationError
from bridge.loop.engine.loop_settings import night, numbers
from bridge.loop.setups.plain.settings import FILES, loop_settings
from bridge.loop.setups.setup_kind import Opened
from bridge.loop.turn.language_model import refuse_for_agent

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from bridge.base.git.repository import Files
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.prompted.job import Job
    from bridge.loop.turn.tool import Command, Tool
    from bridge.scripts.agent import Agent
    from bridge.scripts.driver import Driver

PAUSE = "RALPH_BRIDGE_PAUSE_SECONDS"


@dataclass(frozen=True, slots=True)
class PromptedLoop(Opened):
    """A loop that may start."""

    job: Job
    loop: LoopSettings
    script: Driver | Agent

    def begun(self) -> tuple[Driver | Agent, LoopSettings]:
        return self.script, self.loop

    def preview(self) -> tuple[Sequence[str], Command | bytes]:
        import tempfile

        from bridge.loop.engine.state import LoopState
        from bridge.loop.setups.prompted.job import PromptedPolicy
        from bridge.loop.turn.driver import build_command
        from bridge.scripts.driver import Driver

        if (end := PromptedPolicy(job=self.job).over(LoopState(), self.job.read_plan())) is not None:
            return (f"{end.detail}: no turn would be run",), b""
        prompt = self.job.prompt(1)
        if not isinstance(self.script, Driver):
            refuse_for_agent(self.script, self.loop.model)
            return (), prompt
        with tempfile.NamedTemporaryFile(prefix="ralph_bridge.", suffix=".md") as file:  # nothing in the project
            file.write(prompt)
            file.flush()
            return (), build_command(self.script, self.loop, file.name)

    def _tool(self) -> Tool:
        from bridge.loop.turn.agent import AgentTool
        from bridge.loop.turn.driver import DriverTool
        from bridge.scripts.driver import Driver

        if isinstance(self.script, Driver):
            return DriverTool(self.script, self.loop, f"driver {self.script.script.stem}")
        return AgentTool(self.script, self.loop)

    def require(self) -> None:
        """See whether the CLI is there, before anything is changed.

        Raises:
            bridge.errors.ProgramNotFound, ProgramNotStarted, HookError: it isn't, or can't be asked for.
        """
        from bridge.loop.setups.script_loading import require_driver
        from bridge.loop.turn.agent import AgentTool
        from bridge.scripts.driver import Driver

        if isinstance(self.script, Driver):
            require_driver(self.script, self.loop)
        else:
            AgentTool(self.script, self.loop).require_program()

    def events(self) -> Generator[LoopEvent, None, None]:
        from bridge.loop.engine.runner import run_loop
        from bridge.loop.engine.state import LoopState
        from bridge.loop.setups.projects import active_run
        from bridge.loop.setups.prompted.handler import PromptedHandler
        from bridge.loop.setups.prompted.job import PromptedPolicy

        loop, tool = self.loop, self._tool()
        logs_bytes = night(loop.environment).turn_logs_bytes
        handler = PromptedHandler(self.job, loop, require=self.require, logs_bytes=logs_bytes)
        policy = PromptedPolicy(loop.limits, loop.pauses, job=self.job)
        active = active_run(loop.project / ".ralph", loop.project, tool.name)
        return run_loop(tool, policy, handler, loop, active=active, state=LoopState())


@contextmanager
def open_job(
    job: Job,
    options: RunOptions,
    tell: Callable[[str], None],
    files: Files = FILES,
    protected: Sequence[str] = (),
) -> Iterator[PromptedLoop]:
    """Load the script for a job, which is closed when the block ends. Nothing is started.

    Args:
        files: which of the project's are no work.
        protected: which nothing in a box may write to, relative to the project.

    Raises:
        ConfigurationError: there is nothing for its CLI; an option doesn't apply.
    """
    for note in job.notes:
        tell(note)
    most = job.most if options.max_iterations is None else options.max_iterations
    promised = replace(options, promise=options.promise or job.promise)
    loop = loop_settings(job.project, promised, prompt=job.shown, protected=protected)
    pause = numbers(loop.environment, {"pause": PAUSE}).get("pause", job.pause)
    driver, agent = options.named("driver"), options.named("agent")
    own = driver is None and agent is None
    if own:
        driver, agent = _for_cli(job.program)
    loop = replace(
        loop,
        limits=replace(loop.limits, max_iterations=most),
        pauses=replace(loop.pauses, between=pause),
        promise=options.promise or job.promise,
        files=files,
        resume=False,
        stdin=own,
    )
    if driver is not None:
        from bridge.loop.setups.dot_ralph.folder import locate
        from bridge.scripts.driver import Driver

        mode = {"CLAUDE_PERMISSION_MODE": "bypassPermissions"} if own else {}
        settings: Mapping[str, object] = {"PROMPT_FILE": job.shown, **mode, **options.globals}
        with Driver.load(
            driver,
            folders=locate(job.project).all_drivers,
            cwd=job.project,
            settings=settings,
            boxed=loop.box is not None,
        ) as script:
            yield PromptedLoop(job, loop, script)
        return
    from bridge.loop.setups.script_loading import agent_of

    assert agent is not None
    wait, boxed = loop.hook_seconds, loop.box is not None
    with agent_of(job.project, agent, options.globals, timeout=wait, lift=options.lift, boxed=boxed) as script:
        yield PromptedLoop(job, loop, script)


def _for_cli(program: str) -> tuple[str | None, str | None]:
    """Name the driver, else the agent, that ships for a CLI."""
    from bridge.base.resources import scripts_in, shipped

    cli = find_cli(program)
    if cli is not None and cli.driver is not None:
        return cli.driver.name, None
    if cli is not None and cli.name in scripts_in("agent", [shipped("agents")]):
        return None, cli.name
    raise ConfigurationError(
        f"its script calls {program}, for which no driver and no agent ships\n"
        "  next: name one with --driver or --agent (`ralph-bridge drivers` and `ralph-bridge agents` list them)"
    )
