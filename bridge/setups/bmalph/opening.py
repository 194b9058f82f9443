"""A bmalph project's loop, ready to run: its settings checked, its driver loaded."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.git.repository import Repository
from bridge.process.ask import NOT_STARTED, TOO_LONG
from bridge.setups.bmalph import layout
from bridge.setups.bmalph.loop_settings import loop_policy, loop_settings
from bridge.setups.dot_ralph import rc
from bridge.setups.dot_ralph.opening import (
    WantedRun,
    asked_in_folder,
    live_needs_json,
    open_driver,
    require_prompt,
    run_in_folder,
    settings_of,
)
from bridge.setups.dot_ralph.settings import resolve
from bridge.setups.dot_ralph.tools import about_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from bridge.driver import Driver
    from bridge.loop.events import LoopEvent
    from bridge.loop.store import LoopSettings
    from bridge.setups.asked import RunOptions
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.dot_ralph.keys import GivenOption
    from bridge.setups.dot_ralph.settings import Settings


@dataclass(frozen=True, slots=True)
class OpenedLoop:
    """A loop that may start.

    Attributes:
        folder: its folder of the project.
        driver: loaded.
        settings: of the project.
        loop: the same for the engine.
    """

    folder: Folder
    driver: Driver
    settings: Settings
    loop: LoopSettings

    def events(
        self, on_log: Callable[[str, str], None] = lambda _level, _line: None
    ) -> Generator[LoopEvent, None, None]:
        """Run it; see :func:`bridge.loop.runner.run_loop`.

        Args:
            on_log: gets the level of each line of the loop's log, and the line.
        """
        from bridge.setups.bmalph.policy import BmalphState
        from bridge.setups.bmalph.store import BmalphStore
        from bridge.turn.driver import DriverTool

        name = self.driver.script.stem
        return run_in_folder(
            DriverTool(self.driver, self.loop, f"driver {name}"),
            loop_policy(self.settings, self.loop),
            BmalphStore(self.folder, self.settings, self.loop, driver=name, on_log=on_log),
            BmalphState(),
        )


@contextmanager
def open_loop(
    folder: Folder, wanted: WantedRun, tell: Callable[[str], None], *, log: bool = True
) -> Iterator[OpenedLoop]:
    """Check everything and load the driver, which is closed when the block ends. Nothing is started.

    Args:
        folder: the loop's folder of the project.
        wanted: what is asked for.
        tell: gets what people should know of it.
        log: the driver may write to the loop's log.

    Raises:
        bridge.errors.ConfigurationError: settings, files or options that can't be used.
        bridge.errors.BridgeError: the driver can't be loaded.
    """
    settings = ready(folder, env=os.environ, options={**settings_of(wanted.extra), **wanted.options})
    for notice in settings.notices:
        tell(notice)
    with open_driver(folder, settings, wanted.extra, log=folder.logs / "ralph.log" if log else None) as driver:
        settings = _checked(driver, settings, wanted, tell)
        loop = loop_settings(folder, settings, wanted, env=os.environ)
        yield OpenedLoop(folder, driver, settings, loop)


def _checked(driver: Driver, settings: Settings, wanted: WantedRun, tell: Callable[[str], None]) -> Settings:
    """Check what depends on the driver; return the settings with what there is to tell, for the log, too.

    Raises:
        bridge.errors.ConfigurationError: the option for allowed tools names some that the driver doesn't know.
    """
    found = []
    if wanted.live and settings.output_format == "text" and driver.supports_live_output():
        found.append(live_needs_json(settings))
    if said := about_tools(settings, driver):
        found.append(said)
    for line in found:
        tell(line)
    return replace(settings, notices=(*settings.notices, *found))


def ready(folder: Folder, *, env: Mapping[str, str], options: Mapping[str, GivenOption] | None = None) -> Settings:
    """Check everything that needs no driver, and return the settings. Nothing is written.

    Raises:
        ConfigurationError: settings that can't be used (all of them are named), a layout that isn't ours, no
            prompt, no git repository with a commit.
        ProjectUnusable: a file can't be read.
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
    else:
        problem, advice = "has no commit yet", "git add -A && git commit -m 'first commit'"
    raise ConfigurationError(f"{folder.project} {problem}; the loop measures progress by git\n  next: {advice}")


def bmalph_run(asked: RunOptions) -> WantedRun:
    """Give what a bmalph loop is asked for."""
    return WantedRun(**asked_in_folder(asked, driver=asked.script("driver"), timeout=asked.timeout))
