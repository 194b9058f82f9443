"""Signals and process groups: what the operating system offers, made safe to use."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["lives", "signals_held"]


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
