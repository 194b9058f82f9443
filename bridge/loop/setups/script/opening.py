"""The loop of a script, ready to run."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE, descriptor, usable
from bridge.base.json_files import read_text
from bridge.base.process import table
from bridge.base.records import dataclass
from bridge.base.resources import os_text
from bridge.loop.engine.loop_settings import night
from bridge.loop.engine.policy import Limits
from bridge.loop.engine.runner import run_loop
from bridge.loop.setups import SCRIPT
from bridge.loop.setups.plain.ending import PROMISE, plan_files
from bridge.loop.setups.plain.handler import PlainFiles
from bridge.loop.setups.plain.opening import driver_of
from bridge.loop.setups.plain.settings import FILES, loop_settings
from bridge.loop.setups.projects import active_run
from bridge.loop.setups.script.arguments import needs_words, takes_number
from bridge.loop.setups.script.handler import ScriptHandler
from bridge.loop.setups.script.policy import ScriptPolicy, ScriptState
from bridge.loop.setups.script.process import ScriptProcess, command_for
from bridge.loop.setups.script.which import LoopScript, chosen, place_of, require_cli
from bridge.loop.setups.script_loading import agent_of, require_driver
from bridge.loop.setups.setup_kind import Opened
from bridge.loop.turn.agent import AgentTool
from bridge.loop.turn.driver import DriverTool
from bridge.loop.turn.language_model import with_model
from bridge.shell.consent import sourced

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from bridge.base.git.repository import Files
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.engine.plan import Plan
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.setup_kind import Setup
    from bridge.loop.turn.tool import Command, Tool

_SAME_FAILURES = 10
"""A script has its own idea of what to do about a call that fails: it is the night that is to be saved."""
_OWN = (".ralph/logs/", ".ralph/.ralph_bridge*")
"""All that git passes over in the folder: a script may keep files of its own there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a kind of setup knows of its script that the script itself doesn't tell.

    Attributes:
        kind: its name.
        read_plan: reads its plan; None from it: there is none. noun, nouns: what that counts.
        most: iterations that it is told; None: it has a number of its own, or none.
        files: which of the project's are no work. protected: which nothing in a box may write to.
        idle_ends: a finished plan ends it behind a call that changed nothing: the script has no end of its own.
        endless: nobody has named a number of iterations, and so calls that come to nothing end it, as they end a
            loop of ours.
    """

    kind: str
    read_plan: Callable[[], Plan | None]
    most: int | None = None
    noun: str = "task"
    nouns: str = "tasks"
    files: Files = FILES
    protected: Sequence[str] = ()
    idle_ends: bool = False
    endless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptLoop(Opened):
    """See :class:`Opened`.

    Attributes:
        script: its file. argv: its command line. cwd: where its user is.
        loop: how its calls are run.
        known: what its kind knows of it.
        tool: answers all calls in the place of their CLIs; None: they do.
        here: its output is that of this process; else it goes into a log.
        task: what each call is asked beside its own prompt; what it comes to ends the loop.
        push: its `git push` pushes.
        bare: it gets no arguments.
    """

    script: Path
    argv: tuple[str, ...]
    cwd: Path
    loop: LoopSettings
    known: Known
    here: bool
    tool: Tool | None = None
    task: str = ""
    push: bool = True
    bare: bool = False

    @property
    def name(self) -> str:
        return self.script.name.removesuffix(".original")

    def preview(self) -> tuple[Sequence[str], Command | bytes]:
        from bridge.loop.setups.script.preview import NoCall, described, first_call, shows_stdin
        from bridge.loop.setups.script.which import shown
        from bridge.loop.turn.tool import Command

        env = dict(os.environ if self.loop.env is None else self.loop.env)
        project = self.loop.project
        calls = LoopScript(self.script, project).turns
        programs = dict.fromkeys(each.program for each in calls)
        there = [each for each in programs if shutil.which(each, path=env.get("PATH")) is not None]
        absent = [] if there else [*programs]
        found = first_call(self.argv, script=self.script, cwd=self.cwd, project=project, env=env, absent=absent)
        if isinstance(found, NoCall):
            told = "the calls that can be seen in its text:" if calls else "no call can be seen in its text"
            text = read_text(self.script, root=ANYWHERE) or ""
            step = [f"  next: {self._how_to_give_arguments(text)}"] if self.bare and needs_words(text) else []
            return (found.why, *step, told), os.fsencode(
                "".join(f"{shown(each, None if each.file == self.script else project)}\n" for each in calls)
            )
        lines = described(found, project, place_of(found.argv, calls, project))
        lines += [f"note: {each} is not on PATH" for each in absent]
        return lines, Command(found.argv, found.stdin if shows_stdin(found) else None)

    @property
    def prints(self) -> bool:
        return True

    def begun(self) -> tuple[str, LoopSettings]:
        return f"script {self.name}{f', {self.tool.name}' if self.tool else ''}", self.loop

    def events(self) -> Generator[LoopEvent, None, None]:
        loop, text = self.loop, read_text(self.script, root=ANYWHERE) or ""
        handler = ScriptHandler(
            PlainFiles(loop.project),
            loop,
            logs_bytes=night(loop.environment).turn_logs_bytes,
            name=f"script {self.name}{f'@{loop.model}' if loop.model else ''}",
            start=self._started,
            env=dict(os.environ if loop.env is None else loop.env),
            text=text,
            read_plan=self.known.read_plan,
            elsewhere=self.tool is not None,
            prints=self.here,
            task=self.task,
            push=self.push,
        )
        tool = self.tool or handler.tool
        active = active_run(handler.store.folder, loop.project, tool.name, setup=self.known.kind)
        policy = ScriptPolicy(
            loop.limits,
            loop.pauses,
            noun=self.known.noun,
            nouns=self.known.nouns,
            asked=self.known.most,
            promise=loop.promise is not None,
            idle_ends=self.known.idle_ends,
            one_task=bool(self.task),
            arguments=self._how_to_give_arguments(text) if self.bare and needs_words(text) else "",
        )
        return run_loop(tool, policy, handler, loop, active=active, state=ScriptState())

    def _how_to_give_arguments(self, text: str) -> str:
        if self.known.kind != SCRIPT and takes_number(text):
            return "where it wants to be told how many turns: --max-iterations 10"
        return f"its arguments go behind --{', such as a number of turns: -- 10' if takes_number(text) else ''}"

    def _started(self, env: dict[str, str], folder: str, ended: Callable[[], None]) -> ScriptProcess:
        grace = self.loop.graces.terminate
        output = None if self.here else _log(self.loop.project)
        table.hide_name(self.name)  # scripts look for others of their name, to leave it to them or to kill them
        return ScriptProcess(self.argv, self.cwd, env, ended, grace=grace, folder=folder, output=output)


@contextmanager
def open_loop(
    folder: Path, setup: Setup | None, options: RunOptions, tell: Callable[[str], None]
) -> Iterator[ScriptLoop]:
    """Check the script that is asked for, or found, and the options. Nothing is started.

    Raises:
        ConfigurationError: as of `open_script`; or none is named, and there is none or more than one.
    """
    script, cwd = chosen(folder, setup, options, tell)
    believed = [os.path.relpath(script, folder)] if script.is_relative_to(folder) else []
    plans = PlainFiles(folder, plans=plan_files(read_text(script, root=ANYWHERE) or ""))
    known = Known(kind=SCRIPT, read_plan=plans.read_plan, protected=believed, most=options.max_iterations)
    with open_script(script, cwd, options.words, folder, known, options, tell) as opened:
        yield opened


@contextmanager
def open_script(
    script: Path,
    cwd: Path,
    words: Sequence[str],
    folder: Path,
    known: Known,
    options: RunOptions,
    tell: Callable[[str], None],
) -> Iterator[ScriptLoop]:
    """Check a script and the options. Nothing is started.

    Args:
        script: its file. cwd: where it is started, with these `words`, for the project in `folder`.
        known: what its kind knows of it.

    Raises:
        ConfigurationError: there is no such script, or its interpreter isn't there.
        ProgramNotFound: none of the CLIs is there that its text shows, or the one that is asked for.
        ProjectCodeNotRun: its turns are to run in a box, and nothing of the project's outside of one.
    """
    argv: Sequence[str] = command_for(script, words, _named(script, cwd, options))
    loop = loop_settings(folder, options, prompt="", protected=known.protected)
    boxed = loop.box is not None
    if loop.box is not None and not options.dry_run:
        sourced(str(script), boxed=True)
        parts = {*LoopScript(script, folder).parts_paths} - {*loop.box.wanted.allow}
        loop = replace(loop, box=replace(loop.box, protected=(*loop.box.protected, *sorted(parts))))
    idle = int(night(loop.environment).max_idle) if known.endless else 0
    limits = Limits(
        options.max_iterations,
        options.max_failures or 0,
        options.max_seconds,
        idle if options.max_idle is None else options.max_idle,
        1,
        _SAME_FAILURES,
    )
    files = known.files._replace(shared=True, own=_OWN)
    promise = PROMISE if options.task and not options.promise else options.promise
    loop = replace(loop, limits=limits, promise=promise, files=files)
    task, argv = options.task or "", tuple(argv)
    made = ScriptLoop(
        script=script,
        argv=argv,
        cwd=cwd,
        loop=loop,
        known=known,
        here=options.prints,
        task=task,
        push=options.push,
        bare=not words,
    )
    driver, agent = options.named("driver"), options.named("agent")
    if loop.model and driver is None and agent is None:
        for each in dict.fromkeys(seen.program for seen in LoopScript(script, folder).turns):
            with_model([each], loop.model)  # or it is refused before anything begins
    if driver is not None:
        tools = options.allowed_tools
        with driver_of(folder, driver, options.globals, tell, allowed_tools=tools, boxed=boxed) as script_of:
            if not options.dry_run:
                require_driver(script_of, loop)
            yield replace(made, tool=DriverTool(script_of, loop, f"driver {script_of.script.stem}"))
    elif agent is not None:
        wait, lift = loop.hook_seconds, options.lift
        with agent_of(folder, agent, options.globals, timeout=wait, lift=lift, boxed=boxed) as script_of_agent:
            tool = AgentTool(script_of_agent, loop)
            if not options.dry_run:
                tool.require_program()
            yield replace(made, tool=tool)
    else:
        if not options.dry_run:
            require_cli(script, folder, loop.environment)
        yield made


def _named(script: Path, cwd: Path, options: RunOptions) -> str:
    """How its user would name the script that is started in `cwd`."""
    given = "" if options.script is None else os_text(options.script)
    if os.path.isabs(given) or not script.is_relative_to(cwd):
        return str(script)
    return given if given and cwd == Path.cwd() else os.path.relpath(script, cwd)


def _log(project: Path) -> int:
    with usable("the log of the script"):
        return descriptor(project / ".ralph/logs/script.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
