"""What `doctor` asks of a project whose loop lies in ``.ralph``: its settings, its driver, the CLI that it starts.

What is asked of the folder and of the state in it is :mod:`bridge.loop.setups.dot_ralph.state_checks`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from bridge.errors import BridgeError
from bridge.loop.setups.diagnosis import DoctorCheck, Examined, Skipped, checks, failed_with, passed, warned
from bridge.loop.setups.dot_ralph import rc
from bridge.loop.setups.dot_ralph.common import CommonSettings
from bridge.loop.setups.dot_ralph.settings import Settings, resolve
from bridge.loop.setups.dot_ralph.tools import about_tools

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.loop.setups.declared_settings import Rc
    from bridge.loop.setups.dot_ralph.folder import Folder
    from bridge.scripts.driver import Driver

S = TypeVar("S", bound=CommonSettings)


class FolderCase(ABC, Generic[S]):
    """What these checks get to see; what several of them need is found out once."""

    def __init__(self, folder: Folder, env: Mapping[str, str]) -> None:
        self.folder = folder
        self.env = env
        self.project = folder.project

    @cached_property
    def settings(self) -> S:
        """Raises `Skipped` where they can't be used, which the check of .ralphrc reports."""
        try:
            return self.resolved()
        except BridgeError as error:
            raise Skipped("the settings can't be used") from error

    @abstractmethod
    def resolved(self) -> S:
        """Read and decide the settings; raises what is wrong with them."""


class DriverCase(FolderCase[Settings]):
    @cached_property
    def rc(self) -> Rc:
        return rc.read(self.folder, self.env)

    def resolved(self) -> Settings:
        return resolve(self.folder, env=self.env, rc=self.rc)

    def load_driver(self) -> Driver:
        """Raises `BridgeError` where it can't be loaded."""
        from bridge.scripts.driver import Driver

        return Driver.load(
            self.settings.platform_driver,
            folders=self.folder.all_drivers,
            cwd=self.folder.project,
            env=dict(self.env),
            settings=self.settings.shell_globals(),
            timeout=10,
        )

    @cached_property
    def script(self) -> Path:
        """Raises `Skipped` where there is no such driver."""
        from bridge.scripts.driver import find

        try:
            return find(self.settings.platform_driver, self.folder.all_drivers)
        except BridgeError as error:
            raise Skipped("there is no such driver") from error

    @cached_property
    def cli(self) -> tuple[str, str | None]:
        """The CLI's name, and the least version that the driver asks for."""
        try:
            with self.load_driver() as driver:
                return driver.cli_binary(), driver.min_version()
        except BridgeError as error:
            raise Skipped("the driver was not loaded") from error


def settings(case: DriverCase) -> Examined:
    """Every setting can be used, and every line of the file is understood."""
    try:
        found = case.resolved()
    except BridgeError as error:
        return failed_with(error)
    if found.notices:
        return warned("\n".join(found.notices), "correct these lines")
    return passed(case.rc.shown if case.rc.exists else "no file: defaults and environment")


def _loads(case: DriverCase) -> Examined:
    """Loading asks all required hooks for an answer."""
    try:
        with case.load_driver() as driver:
            return passed(f"{driver.display_name()}: {case.folder.name_of(driver.script)}")
    except BridgeError as error:
        return failed_with(error, "name another with PLATFORM_DRIVER, or correct it (ralph-bridge verify)")


def _tools(case: DriverCase) -> Examined:
    settings = case.settings
    try:
        with case.load_driver() as driver:
            found = about_tools(settings, driver)
    except BridgeError as error:
        raise Skipped("the driver was not loaded") from error
    if found:
        return warned(found, "correct ALLOWED_TOOLS, or delete it")
    return passed("by default" if settings.sources["allowed_tools"].kind == "default" else settings.allowed_tools)


def _available(case: DriverCase) -> Examined:
    found = checks.installed(case.cli[0], case)
    try:
        with case.load_driver() as driver:
            return checks.refused(found, driver.check_available(), case.folder.name_of(driver.script))
    except BridgeError as error:
        return failed_with(error)


def _version(case: DriverCase) -> Examined:
    """It has to be as new as the driver, or for claude the settings, need it."""
    binary, least = case.cli
    settings = case.settings
    if settings.platform_driver == "claude-code" and settings.sources["claude_min_version"].kind != "default":
        least = settings.claude_min_version
    return checks.new_enough(binary, least, case)


def _drift(case: DriverCase) -> Examined:
    binary, _ = case.cli
    return checks.options(case.script, case.folder.name_of(case.script), binary, case)


DRIVER: Mapping[str, DoctorCheck[DriverCase]] = {
    "driver": DoctorCheck("the driver loads", _loads, 60),
    "driver-contract": DoctorCheck(
        "the driver meets the contract",
        lambda case: checks.contract(case.script, case.folder.name_of(case.script)),
        120,
    ),
    "driver-tools": DoctorCheck("the allowed tools are the driver's", _tools, 60),
    "cli-available": DoctorCheck("the agent's CLI is installed", _available, 60),
    "cli-version": DoctorCheck("the agent's CLI is new enough", _version, 60),
    "cli-drift": DoctorCheck("the agent's CLI knows the driver's options", _drift, 90),
}
"""By stable ids, as all tables of checks."""
