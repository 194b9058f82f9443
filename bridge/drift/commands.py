"""The commands that a driver can build, one for each thing that an iteration may need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.errors import BridgeError

if TYPE_CHECKING:
    from bridge.driver import Driver

__all__ = ["SESSION", "commands_of"]

SESSION = "0b9f3f0a-2d35-4c5e-9b0f-6f1f7d0d4c11"
"""An id such as CLIs give, of a session that nobody knows."""


def commands_of(driver: Driver, prompt: str) -> dict[str, list[str]]:
    """Build every command, by what is special about it; the same command under one name only.

    Args:
        driver: the driver.
        prompt: a prompt file.

    Raises:
        bridge.errors.HookError: a hook failed.
    """
    built: dict[str, list[str]] = {}

    def build(name: str, *, context: str = "Loop #1.", session: str = "") -> None:
        argv = driver.build_command(prompt, context, session)
        for each, words in ((name, argv), (f"{name}, live", _live(driver))):
            if words and words not in built.values():
                built[each] = words

    build("new session")
    build("without context", context="")
    if driver.supports_sessions():
        driver.set("CLAUDE_USE_CONTINUE", "true")
        build("resumed", session=SESSION)
    if driver.supports_tool_allowlist():
        driver.set("CLAUDE_ALLOWED_TOOLS", "Read, Bash(git add, git commit)")
        build("with allowed tools")
        driver.set("CLAUDE_ALLOWED_TOOLS", "")
    for choice in ("json", "text"):
        driver.set("CLAUDE_OUTPUT_FORMAT", choice)
        build(f"output {choice}")
    return built


def _live(driver: Driver) -> list[str]:
    try:
        return driver.prepare_live_command() if driver.supports_live_output() else []
    except BridgeError:
        return []
