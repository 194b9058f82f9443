"""Signals and process groups: what the operating system offers, made safe to use."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["end", "lives", "signals_held"]


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Hold Ctrl-C and TERM back while a process is being started, so that none is lost track of."""
    came: list[int] = []
    held: dict[int, Any] = {}
    try:
        for number in (int(signal.SIGINT), int(signal.SIGTERM), int(signal.SIGHUP)):
            handler = signal.getsignal(number)
            if callable(handler):
                held[number] = signal.signal(number, lambda got, _frame: came.append(got))
    except ValueError:  # not the main thread, which alone gets signals
        pass
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
    for number in came:
        signal.raise_signal(number)


def lives(group: int) -> bool:
    """Say whether the process group has a member that is not a zombie."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    if not os.path.isdir("/proc/self"):
        return True
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as file:
                # The name in parentheses may hold anything; behind it: state, parent, group.
                state, _parent, member_of = file.read().rpartition(b")")[2].split()[:3]
                if int(member_of) == group and state not in (b"Z", b"X"):
                    return True
    return False


def end(group: int, rungs: Sequence[tuple[int, float]], alive: Callable[[], bool]) -> None:
    """Climb the kill ladder until `alive` says no.

    Args:
        group: process group to signal.
        rungs: signals with the seconds that each may take, the sure one last.
        alive: asked again and again; may do what the group needs in order to obey.

    Raises:
        KeyboardInterrupt, SystemExit: came meanwhile. The rungs before the last were skipped for it, and
            it is raised when the ladder has been climbed.
    """
    came: BaseException | None = None
    *gentle, last = rungs
    try:
        for number, grace in gentle:
            if not _signal(group, number, grace, alive):
                return
    except (KeyboardInterrupt, SystemExit) as error:
        came = error
    with signals_held():
        _signal(group, *last, alive)
    if came is not None:
        raise came


def _signal(group: int, number: int, grace: float, alive: Callable[[], bool]) -> bool:
    """Signal the group and return whether it is alive after `grace`."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    deadline = time.monotonic() + grace
    pause = 0.001
    while left := alive():
        if time.monotonic() >= deadline:
            break
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
    return left
