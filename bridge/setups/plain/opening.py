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

    from bridge.driver import Driver
    from bridge.loop.events import LoopEvent
    from bridge.loop.options import LoopSettings
    from bridge.setups.plain.settings import PlainSettings

__all__ = ["Opened", "driver_of", "open_loop"]


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
