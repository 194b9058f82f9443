"""The kill ladder: signals for whole process groups, each given some time to act, the sure one last."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.process.table import group_lives

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence


class Rung(NamedTuple):
    """A signal, and the seconds that a group may take to obey it."""

    signal: int
    patience: float


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


def end(groups: Collection[int], rungs: Sequence[Rung], alive: Callable[[], bool] | None = None) -> None:
    """Climb the ladder until nothing of the groups is left. All at once: ten servers take no longer than one.

    Args:
        groups: the process groups to signal.
        rungs: signals with the seconds that each may take, the sure one last.
        alive: asked again and again whether something is left; may do what the groups need in order to obey.
            None: ask the process table.

    Raises:
        KeyboardInterrupt, SystemExit: came meanwhile. The rungs before the last were skipped for it, and
            it is raised when the ladder has been climbed.
    """
    left = alive or (lambda: any(map(group_lives, groups)))
    came: BaseException | None = None
    *gentle, last = rungs
    try:
        for rung in gentle:
            if not _climb(groups, rung, left):
                return
    except (KeyboardInterrupt, SystemExit) as error:
        came = error
    with signals_held():
        _climb(groups, last, left)
    if came is not None:
        raise came


def send(number: int, groups: Collection[int]) -> None:
    """Signal each group; those that are gone meanwhile, or are not ours, are no error."""
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _climb(groups: Collection[int], rung: Rung, alive: Callable[[], bool]) -> bool:
    """Signal the groups and return whether something is alive after the rung's time."""
    send(rung.signal, groups)
    deadline = time.monotonic() + rung.patience
    pause = 0.001
    while left := alive():
        if time.monotonic() >= deadline:
            break
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
    return left
