"""Checks of the settings, of the driver that they name, and of the CLI that it starts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from bridge.errors import BridgeError
from bridge.setups.diagnosis import DoctorCheck, Examined, Skipped, checks, failed_with, passed, warned
from bridge.setups.dot_ralph import rc
from bridge.setups.dot_ralph.doctor.case import FolderCase
from bridge.setups.dot_ralph.settings import Settings, resolve
from bridge.setups.dot_ralph.tools import about_tools

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bridge.driver import Driver


class DriverCase(FolderCase[Settings]):
    """What the checks get to see."""

    @cached_property
    def rc(self) -> rc.Rc:
        """The settings file."""
        return rc.read(self.folder, self.env)

    def resolved(self) -> Settings:
        """Decide the settings; raises what is wrong with them."""
        return resolve(self.folder, env=self.env, rc=self.rc)

    def load_driver(self) -> Driver:
        """Load the project's driver.

        Raises:
            BridgeError: it can't be loaded.
        """
        from bridge.driver import Driver

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
        """The driver's script."""
        from bridge.driver import find

        return find(self.settings.platform_driver, self.folder.all_drivers)


def settings(case: DriverCase) -> Examined:
    """Every setting can be used, and every line of the file is understood."""
    try:
        found = case.resolved()
    except BridgeError as error:
        return failed_with(error)
    if found.notices:
        return warned("\n".join(found.notices), "correct these lines")
    return passed(case.rc.shown if case.rc.exists else "no file: defaults and environment")


def loads(case: DriverCase) -> Examined:
    """The driver is there and its required hooks answer."""
    try:
        with case.load_driver() as driver:
            return passed(f"{driver.display_name()}: {case.folder.name_of(driver.script)}")
    except BridgeError as error:
        return failed_with(error, "name another with PLATFORM_DRIVER, or correct it (ralph-bridge verify)")


def contract(case: DriverCase) -> Examined:
    """The driver meets the contract."""
    script = _script(case)
    return checks.contract(script, case.folder.name_of(script))


def tools(case: DriverCase) -> Examined:
    """The list of allowed tools is one of tools that the driver knows."""
    settings = case.settings
    try:
        with case.load_driver() as driver:
            found = about_tools(settings, driver)
    except BridgeError as error:
        raise Skipped("the driver can't be loaded") from error
    if found:
        return warned(found, "correct ALLOWED_TOOLS, or delete it")
    return passed("by default" if settings.sources["allowed_tools"].kind == "default" else settings.allowed_tools)


def available(case: DriverCase) -> Examined:
    """The CLI is installed where the loop looks for it."""
    binary, _ = _cli(case)
    return checks.installed(binary, case)


def version(case: DriverCase) -> Examined:
    """The CLI is as new as the driver, or for claude the settings, need it."""
    binary, least = _cli(case)
    settings = case.settings
    if settings.platform_driver == "claude-code" and settings.sources["claude_min_version"].kind != "default":
        least = settings.claude_min_version
    return checks.new_enough(binary, least, case)


def drift(case: DriverCase) -> Examined:
    """The CLI knows every option that the driver passes."""
    binary, _ = _cli(case)
    script = _script(case)
    return checks.options(script, case.folder.name_of(script), binary, case)


def _script(case: DriverCase) -> Path:
    try:
        return case.script
    except BridgeError as error:
        raise Skipped("there is no such driver") from error


def _cli(case: DriverCase) -> tuple[str, str | None]:
    """Return the CLI's name and the least version."""
    try:
        with case.load_driver() as driver:
            return driver.cli_binary(), driver.min_version()
    except BridgeError as error:
        raise Skipped("the driver can't be loaded") from error


CHECKS: Mapping[str, DoctorCheck[DriverCase]] = {
    "driver": DoctorCheck("the driver loads", loads, 60),
    "driver-contract": DoctorCheck("the driver meets the contract", contract, 120),
    "driver-tools": DoctorCheck("the allowed tools are the driver's", tools, 60),
    "cli-available": DoctorCheck("the agent's CLI is installed", available, 60),
    "cli-version": DoctorCheck("the agent's CLI is new enough", version, 60),
    "cli-drift": DoctorCheck("the agent's CLI knows the driver's options", drift, 90),
}
