"""A bmalph project's loop, ready to run: its settings checked, its driver loaded."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.git.repository import Repository
from bridge.base.process.ask import NOT_STARTED, TOO_LONG
from bridge.base.records import dataclass
from bridge.errors import ConfigurationError, ProjectCodeNotRun
from bridge.loop.setups.bmalph import layout
from bridge.loop.setups.bmalph.policy import BmalphPolicy, BmalphState
from bridge.loop.setups.box_options import is_boxed
from bridge.loop.setups.dot_ralph import opening, rc
from bridge.loop.setups.dot_ralph.breaker import breaker_settings
from bridge.loop.setups.dot_ralph.controller import ControlledLoop
from bridge.loop.setups.dot_ralph.folder import read_plan
from bridge.loop.setups.dot_ralph.opening import (
    given_settings,
    live_needs_json,
    open_driver,
    require_prompt,
    run_in_folder,
    settings_of,
)
from bridge.loop.setups.dot_ralph.policy import state_of
from bridge.loop.setups.dot_ralph.settings import KEYS, resolve
from bridge.loop.setups.dot_ralph.tools import about_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from bridge.loop.engine.events import LoopEnded, LoopEvent
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.setups.declared_settings import GivenOption
    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.loop.setups.dot_ralph.settings import Settings
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.turn.tool import Command
    from bridge.scripts.driver import Driver


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedLoop(ControlledLoop):
    driver: Driver
    settings: Settings

    @property
    def live(self) -> bool:
        return self.loop.live

    @property
    def calls_per_hour(self) -> int:
        return self.settings.max_calls_per_hour

    def begun(self) -> tuple[Driver, LoopSettings]:
        return self.driver, self.loop

    def context(self, *, resumed: bool) -> str:
        from bridge.loop.setups.bmalph.handler import context_of

        return context_of(BmalphState(), read_plan(self.folder), resumed=resumed)

    def notes(self, command: Command) -> Sequence[str]:
        return f"driver: {self.driver.script}", f"live: {'yes' if command.live else 'no'}"

    def breaker_is_open(self, end: LoopEnded) -> bool:
        return state_of(end).breaker.is_open

    def remark(self, end: LoopEnded) -> str:
        """Name the list of tools that a loop ended by a refused one had; what to do about it was said before."""
        if end.reason == "permission_denied" and self.driver.supports_tool_allowlist():
            return f"ALLOWED_TOOLS now: {self.settings.allowed_tools}"
        return ""

    def events(
        self,
        on_log: Callable[[str, str], None] = lambda _level, _line: None,
        leaving: Callable[[], bool] = lambda: False,
    ) -> Generator[LoopEvent, None, None]:
        """Nobody is asked whether it is to end at a limit."""
        del leaving
        from bridge.loop.setups.bmalph.handler import BmalphHandler
        from bridge.loop.turn.driver import DriverTool

        name = self.driver.script.stem
        return run_in_folder(
            DriverTool(self.driver, self.loop, f"driver {name}"),
            loop_policy(self.settings, self.loop),
            BmalphHandler(self.folder, self.settings, self.loop, driver=name, on_log=on_log),
            BmalphState(),
        )


def loop_settings(
    folder: Folder, settings: Settings, options: RunOptions, *, env: Mapping[str, str]
) -> LoopSettings:
    """The agent gets RALPH_DIR."""
    loop = opening.loop_settings(
        folder, settings, options, env={**env, "RALPH_DIR": folder.shown}, live=options.live
    )
    return replace(loop, write_timeout=settings.write_timeout, heartbeat_seconds=settings.heartbeat_seconds)


def loop_policy(settings: Settings, loop: LoopSettings) -> BmalphPolicy:
    return BmalphPolicy(
        limits=loop.limits,
        pauses=loop.pauses,
        breaker=replace(
            breaker_settings(settings),
            count_denials=settings.permission_denial_mode == "threshold",
            read_only_timeouts=settings.cb_read_only_timeout_threshold,
        ),
        halt_on_denial=settings.permission_denial_mode == "halt",
        calls_per_hour=settings.max_calls_per_hour,
    )


@contextmanager
def open_loop(folder: Folder, options: RunOptions, tell: Callable[[str], None]) -> Iterator[OpenedLoop]:
    """Check everything and load the driver, which is closed when the block ends. Nothing is started.

    Raises:
        bridge.errors.BridgeError: settings, files or options that can't be used; a driver that can't be loaded.
    """
    extra = options.globals
    given = {**settings_of(extra), **given_settings(options, KEYS)}
    settings = ready(folder, env=os.environ, options=given)
    for notice in settings.notices:
        tell(notice)
    log = None if options.dry_run else folder.logs / "ralph.log"
    try:
        boxed = is_boxed(folder.project, options, os.environ)
        driver = open_driver(folder, settings, extra, log=log, boxed=boxed)
    except ProjectCodeNotRun as error:
        error.shown = settings.lines()
        raise
    with driver:
        settings = _checked(driver, settings, options, tell)
        loop = loop_settings(folder, settings, options, env=os.environ)
        yield OpenedLoop(folder=folder, driver=driver, settings=settings, loop=loop)


def _checked(driver: Driver, settings: Settings, options: RunOptions, tell: Callable[[str], None]) -> Settings:
    """Check what depends on the driver; return the settings with what there is to tell, for the log, too."""
    found = []
    if options.live and settings.output_format == "text" and driver.supports_live_output():
        found.append(live_needs_json(settings))
    if problem := about_tools(settings, driver):
        found.append(problem)
    for line in found:
        tell(line)
    return replace(settings, notices=(*settings.notices, *found))


def ready(folder: Folder, *, env: Mapping[str, str], options: Mapping[str, GivenOption] | None = None) -> Settings:
    """Check everything that needs no driver, and return the settings. Nothing is written.

    Raises:
        ConfigurationError: settings that can't be used (all of them are named), a layout that isn't ours, no
            prompt, no git repository with a commit.
    """
    settings = resolve(folder, env=env, rc=rc.read(folder, env), options=options)
    layout.require(folder)
    require_prompt(folder, settings, _prompt_advice(folder, settings.prompt_file))
    _repository(folder, env)
    return settings


def _prompt_advice(folder: Folder, name: str) -> str:
    others = [each for each in ("@fix_plan.md", "specs", "@AGENT.md") if (folder / each).exists()]
    if others:
        return f"{folder.shown} has {', '.join(others)} and no prompt: write {name}, or `bmalph implement`"
    return f"write {name}, or name another with --prompt"


def _repository(folder: Folder, env: Mapping[str, str]) -> None:
    repository = Repository(folder.project, env=env)
    asked = repository.run("rev-parse", "--git-dir")
    if asked.ok and repository.head():
        return
    if asked.status == NOT_STARTED:
        problem, advice = "can't be asked about its history: git is not on PATH", "install git"
    elif asked.status == TOO_LONG:
        problem, advice = f"does not answer: {asked.err}", "try `git status` by hand"
    elif not asked.ok:
        problem, advice = "is not a git repository", "git init, then a first commit"
        if os.path.lexists(folder.project / ".git"):
            problem, advice = "has a .git that git can't read", "look at what `git status` says"
    else:
        problem, advice = "has no commit yet", "git add -A && git commit -m 'first commit'"
    raise ConfigurationError(f"{folder.project} {problem}; the loop measures progress by git\n  next: {advice}")
