"""From the driver's hooks to a command line, and to what people are told about refused tools."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from bridge.errors import ConfigurationError, HookError

if TYPE_CHECKING:
    from bridge.loop.options import LoopSettings
    from bridge.loop.ports import LoopDriver

__all__ = ["denial_help", "prepare_command", "stdin_of"]


@runtime_checkable
class _OnStdin(Protocol):
    """A driver that knows of prompts on stdin; others give every prompt as an argument."""

    def offer_stdin(self) -> None: ...

    def command_stdin(self) -> str: ...


@runtime_checkable
class _Advising(Protocol):
    """A driver that knows what to do about refused tools."""

    def permission_denial_help(self) -> str: ...


def prepare_command(
    driver: LoopDriver, settings: LoopSettings, *, context: str, session_id: str | None
) -> tuple[list[str], bool]:
    """Build the command of one run; return it, and whether it is the live form.

    Args:
        driver: the driver.
        settings: the loop's.
        context: all that the agent is told beside its prompt; reviews and warnings too, since drivers know no
            other place for it (an option behind the prompt is refused by most CLIs, trap T8).
        session_id: session to resume, or None.

    Raises:
        bridge.errors.HookError: a hook of the driver failed.
        ConfigurationError: it built no command.
    """
    live = settings.live and driver.supports_live_output()
    driver.set("CLAUDE_USE_CONTINUE", "true" if settings.resume else "false")
    if live:
        # The live transform adds options that the CLI only accepts together with JSON output.
        driver.set("CLAUDE_OUTPUT_FORMAT", "json")
    if isinstance(driver, _OnStdin):
        driver.offer_stdin()
    command = driver.build_command(settings.prompt, context, session_id or "")
    hook = "driver_build_command left CLAUDE_CMD_ARGS"
    if live and command:
        command = driver.prepare_live_command()
        hook = "driver_prepare_live_command left LIVE_CMD_ARGS"
    if not command:
        raise ConfigurationError(f"there is no command to run: {hook} empty")
    # Drivers speak UTF-8; what the system passes on is whatever the locale says. The bytes stay the same.
    return [os.fsdecode(argument.encode("utf-8", "surrogateescape")) for argument in command], live


def stdin_of(driver: LoopDriver) -> bytes | None:
    """Give what the command that was built last reads on stdin: the prompt, where its driver put it there."""
    if not isinstance(driver, _OnStdin):
        return None
    text = driver.command_stdin()
    return text.encode("utf-8", "surrogateescape") if text else None


def denial_help(driver: LoopDriver) -> str:
    """Give what the driver says can be done about refused tools, without the last newline; '' when it says nothing.

    What it printed counts, whatever became of the hook: the loop goes on without.
    """
    if not isinstance(driver, _Advising):
        return ""
    try:
        return driver.permission_denial_help().rstrip("\n")
    except HookError as error:
        return error.stdout.rstrip("\n")
