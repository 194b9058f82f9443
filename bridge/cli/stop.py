"""``ralph-bridge stop``: the end of the running loop."""

from __future__ import annotations

import os
import signal
import time

import click

from bridge.base.files import confine
from bridge.cli._failures import guarded
from bridge.cli._options import choose_loop, loop_option, project_folder, project_option
from bridge.cli._terminal import say
from bridge.loop.engine.inbox import Inbox
from bridge.loop.engine.lock import standing

_SECONDS = 60.0
"""How long a loop may take to end in order, its tool's kill ladder included."""


@click.command()
@click.option("--now", is_flag=True, help="End the turn that is under way, too.")
@loop_option
@project_option
def stop(*, now: bool, setup_name: str | None, project: str | None) -> int:
    """End the loop that is running in this project, in order: its records say so, and nothing is left running.

    It ends behind the turn that is under way; one that waits ends at once. `ralph-bridge run` goes on from there.

    Exit codes: 0 it ends, or with --now has ended; 1 no loop is running here, or it hasn't ended after a minute.
    """
    with guarded():
        folder = project_folder(project)
        confine(folder)
        loop = choose_loop(folder, setup_name)
        where = standing(loop.state)
        if not where.running:
            return _other(folder)
        if not now:
            Inbox(loop.logs).stop()
            say(
                "the loop ends behind the turn that is under way",
                "  next: ralph-bridge stop --now ends that turn, too",
            )
            return 0
        if where.run is None or where.word == "starting":
            say("the loop is only just beginning", "  next: ralph-bridge stop --now, in a moment")
            return 1
        os.kill(where.run.pid, signal.SIGTERM)
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until:
            if not standing(loop.state).running:
                say("the loop has ended")
                return 0
            time.sleep(0.05)
        say(f"process {where.run.pid} is still at work", f"  next: kill -9 {where.run.pid}")
        return 1


def _other(folder: os.PathLike[str]) -> int:
    """Say that no loop of ours runs; a controller of the setup's own may."""
    from pathlib import Path

    from bridge.loop.setups.projects import at_work

    if pid := at_work(Path(folder)):
        say(f"process {pid} is at work here, which is no loop of ralph-bridge", f"  next: kill {pid}")
    else:
        say("no loop is running here", "  next: `ralph-bridge run`; `ralph-bridge status` shows the last one")
    return 1
