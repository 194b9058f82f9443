"""Which CLI a run is with: the one that is asked for, else the one that the project's own script calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.clis import cli_of_script
from bridge.setups.prompted.job import Tool

if TYPE_CHECKING:
    from bridge.setups.options import RunOptions
    from bridge.setups.prompted.calls import Call
    from bridge.setups.prompted.script import Script


def asked_for(options: RunOptions) -> str | None:
    """The program of the driver or agent that is asked for, '' where nobody knows it; None: nobody asks."""
    named = options.script("driver") or options.script("agent")
    if named is None:
        return None
    cli = cli_of_script(named)
    return cli.programs[0] if cli else ""


def call_for(script: Script, options: RunOptions) -> Call | None:
    """The call of the script that a run stands for; None: it has none of that CLI."""
    program = asked_for(options)
    if program is None:
        return script.by_default
    return next((call for call in script.calls if call.cli.programs[0] == program), None)


def tool_of(call: Call | None, options: RunOptions, default: str) -> Tool:
    """How the CLI is called; `default`: its program where the script calls none that we know."""
    if call is not None:
        return call.tool
    return Tool(program=asked_for(options) or default, on_stdin=True)
