"""An agent script's program, shown through its own filter, until it ends or its time is up."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.errors import HookTimeout

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterator

    from bridge.agent import Agent
    from bridge.shell.jobs import Errors, Input, Job, Tee

__all__ = ["AgentEnd", "run_agent", "run_hook", "watched"]

_LONG = 10.0
"""Seconds after which a hook is named that is still running."""


class AgentEnd(NamedTuple):
    """How it ended.

    Attributes:
        status: of the rightmost stage that failed: the filter's, else the program's.
        timed_out: it was ended because it ran for too long.
    """

    status: int
    timed_out: bool = False


def run_agent(
    agent: Agent,
    prompt_file: str | os.PathLike[str],
    capture: Tee,
    *,
    stdin: Input = 0,
    stderr: Errors = None,
    end_line: bool = True,
    grace: float | None = None,
    timeout: float | None = None,
) -> Generator[str, None, AgentEnd]:
    """Run ``agent_invoke`` through ``agent_format_display``; yields the text for people as it comes.

    Args:
        agent: the script.
        prompt_file: path of the prompt, as the script shall see it.
        capture: gets every byte that the program prints.
        stdin: see :meth:`bridge.agent.Agent.invoke`, as the next three.
        stderr: see there.
        end_line: see there.
        grace: see there.
        timeout: seconds that it may take; None: any number.

    Raises:
        bridge.errors.BridgeError: it can't be started.
    """
    with (
        agent.invoke(
            prompt_file, stdin=stdin, stderr=stderr, tee=capture, end_line=end_line, grace=grace
        ) as running,
        _ended_after(timeout, running) as over,
        agent.format_display(running, end_line=end_line) as display,
    ):
        yield from display
    status = display.status or running.status or 0
    return AgentEnd(status or 124, True) if over.is_set() else AgentEnd(status)


def run_hook(
    agent: Agent, hook: Literal["agent_pre_iteration", "agent_post_iteration"], seconds: float
) -> list[str]:
    """Call a hook before or after the program; one that hangs is ended at its deadline, and the loop goes on.

    Args:
        agent: the script; its shell has the deadline.
        hook: which.
        seconds: that deadline, for people.

    Returns:
        What people should be told.

    Raises:
        bridge.errors.HookExited: it called ``exit``.
    """
    told: list[str] = []
    try:
        with watched(hook, seconds, told.append):
            if hook == "agent_pre_iteration":
                agent.pre_iteration()
            else:
                agent.post_iteration()
    except HookTimeout:
        told.append(f"{hook} was ended: it took longer than {seconds:g} s")
    return told


@contextmanager
def watched(what: str, deadline: float, say: Callable[[str], None]) -> Iterator[None]:
    """Say once that `what` is taking its time, well before its deadline.

    Args:
        what: such as ``agent_post_iteration``.
        deadline: seconds after which somebody else ends it.
        say: is called from a thread of its own.
    """
    seconds = min(_LONG, deadline / 2)
    timer = threading.Timer(seconds, say, [f"{what} has been running for {seconds:g} s"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


@contextmanager
def _ended_after(seconds: float | None, job: Job) -> Iterator[threading.Event]:
    """End a job that runs for longer; the event says that it did."""
    over = threading.Event()
    if seconds is None:
        yield over
        return

    def end() -> None:
        over.set()
        job.terminate()

    timer = threading.Timer(max(seconds, 0.0), end)
    timer.daemon = True
    timer.start()
    try:
        yield over
    finally:
        timer.cancel()
        timer.join()
