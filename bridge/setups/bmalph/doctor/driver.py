"""Checks of the driver and of the CLI that it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.errors import BridgeError
from bridge.setups.diagnosis import Examined, Skipped, checks, failed_with, passed, warned
from bridge.setups.dot_ralph.tools import about_tools

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.setups.bmalph.doctor.model import BmalphCase


def loads(case: BmalphCase) -> Examined:
    """The driver is there and its required hooks answer."""
    try:
        with case.load_driver() as driver:
            return passed(f"{driver.display_name()}: {case.folder.name_of(driver.script)}")
    except BridgeError as error:
        return failed_with(error, "name another with PLATFORM_DRIVER, or correct it (ralph-bridge verify)")


def contract(case: BmalphCase) -> Examined:
    """The driver meets the contract."""
    script = _script(case)
    return checks.contract(script, case.folder.name_of(script))


def tools(case: BmalphCase) -> Examined:
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


def available(case: BmalphCase) -> Examined:
    """The CLI is installed where the loop looks for it."""
    binary, _ = _cli(case)
    return checks.installed(binary, case)


def version(case: BmalphCase) -> Examined:
    """The CLI is as new as the driver, or for claude the settings, need it."""
    binary, least = _cli(case)
    settings = case.settings
    if settings.platform_driver == "claude-code" and settings.sources["claude_min_version"].kind != "default":
        least = settings.claude_min_version
    return checks.new_enough(binary, least, case)


def drift(case: BmalphCase) -> Examined:
    """The CLI knows every option that the driver passes."""
    binary, _ = _cli(case)
    script = _script(case)
    return checks.options(script, case.folder.name_of(script), binary, case)


def _script(case: BmalphCase) -> Path:
    try:
        return case.script
    except BridgeError as error:
        raise Skipped("there is no such driver") from error


def _cli(case: BmalphCase) -> tuple[str, str | None]:
    """Return the CLI's name and the least version."""
    try:
        with case.load_driver() as driver:
            return driver.cli_binary(), driver.min_version()
    except BridgeError as error:
        raise Skipped("the driver can't be loaded") from error
