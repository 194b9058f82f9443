"""``adapter repl``: at a terminal, and with lines from elsewhere."""

from __future__ import annotations

import os
import sys

import click

from bridge.adapters.adapter import Adapter
from bridge.cli._terminal import guarded
from bridge.cli.adapter import show_result
from bridge.errors import BridgeError, SessionEnded

__all__ = ["on_lines", "on_terminal"]


def on_terminal(name: str, cwd: str) -> int:
    """Hand the terminal to the program until it ends."""
    size = os.get_terminal_size(sys.stdout.fileno())
    env = {**os.environ, "RALPH_BRIDGE_PERSON": "1"}  # who wants start-up files and history
    with Adapter.load(name).start(
        cwd=os.path.abspath(cwd), env=env, columns=size.columns, rows=size.lines, probe=False
    ) as session:
        sys.stdout.flush()
        status = session.interact(sys.stdin.fileno(), sys.stdout.fileno())
    return 0 if status in (0, None) else 1


def on_lines(name: str, cwd: str) -> int:
    """Run each line of stdin as one command; goes on after errors. 1 when some command failed."""
    good = True
    with guarded(), Adapter.load(name).start(cwd=os.path.abspath(cwd)) as session:
        for line in sys.stdin:
            try:
                result = session.run(line.rstrip("\r\n"))
            except SessionEnded:
                break
            except BridgeError as error:
                click.echo(f"ralph-bridge: error: {error}", err=True)
                good = False
                continue
            show_result(result)
            good = good and result.ok
            if result.ended_by == "exit":
                return 0 if result.exit_code == 0 and good else 1
    return 0 if good else 1
