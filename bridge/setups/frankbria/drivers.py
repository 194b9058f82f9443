"""``--driver``: another CLI than claude in a frankbria project, and what it can't do of the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.setups.dot_ralph.tools import unknown_tools

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.driver import Driver
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.frankbria.settings import FrankbriaSettings

_OF_CLAUDE = {
    "code_cmd": "the driver starts its own CLI",
    "model": "the driver has no option for it",
    "effort": "the driver has no option for it",
    "show_tool_args": "the driver has a display of its own",
    "claude_min_version": "the driver knows its own CLI",
}


def load(
    name: str, folder: Folder, settings: FrankbriaSettings, extra: Mapping[str, str], env: Mapping[str, str]
) -> Driver:
    """Load a driver: one of ours by name, any by path.

    Raises:
        bridge.errors.BridgeError: it can't be loaded.
    """
    from bridge.driver import Driver
    from bridge.resources import os_text

    globals_of = {**settings.shell_globals(folder), **extra}
    return Driver.load(
        name,
        folders=folder.all_drivers,
        cwd=folder.project,
        env=dict(env),
        settings={key: os_text(value) for key, value in globals_of.items()},
    )


def about_settings(settings: FrankbriaSettings, driver: Driver) -> list[str]:
    """Say which settings that somebody has made the driver can't honour.

    Raises:
        bridge.errors.HookError: a hook of the driver failed.
    """
    return list(_unhonoured(settings, driver))


def _unhonoured(settings: FrankbriaSettings, driver: Driver) -> Iterator[str]:
    name = driver.display_name()
    given = {key: source for key, source in settings.sources.items() if source.kind != "default"}
    for field, why in _OF_CLAUDE.items():
        if field in given and str(getattr(settings, field)) not in ("claude", "", "False"):
            yield f"{given[field].name} {given[field].where} does nothing with {name}: {why}"
    if "allowed_tools" in given:
        source = given["allowed_tools"]
        if not driver.supports_tool_allowlist():
            yield f"{source.name} {source.where} does nothing with {name}: it has no list of allowed tools"
        elif unknown := unknown_tools(settings.allowed_tools, driver.valid_tools()):
            yield f"{source.name} {source.where} names tools that {name} doesn't have: {', '.join(unknown)}"
    if settings.session_continuity and not driver.supports_sessions():
        yield f"SESSION_CONTINUITY does nothing with {name}: it has no sessions to resume"
    if settings.live and not driver.supports_live_output():
        yield f"{given['live'].name} does nothing with {name}: its output comes at the end of a run"
    if settings.max_tokens_per_hour:
        yield f"MAX_TOKENS_PER_HOUR counts what {name} reports, which may be nothing"
