"""What a program waits for, as Linux shows it: a read from its terminal, or something else.

Elsewhere nothing of this can be seen, and every answer is None or False.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress

_TTY_READERS = frozenset({"wait_woken", "n_tty_read"})
_polls = re.compile("do_select|do_poll|do_sys_poll|poll_schedule_timeout|core_sys_select|do_epoll|ep_poll").match
_POLLIN = 0x001
_LOOKS = 2
"""How often a program is looked at again, a millisecond apart, when nothing can be seen."""
_MOST = 4096
"""More descriptors than anybody polls; larger numbers in a system call are addresses."""


def reads_terminal(pid: int, *, canonical: bool | None) -> bool | None:
    """Whether some thread of the program waits for input from a terminal; None where that can't be seen.

    Line editors turn `canonical` mode, in which the kernel edits lines, off, and wait in select or poll. A program
    that is just being woken, or has just been started, waits nowhere: it is looked at again.
    """
    for _ in range(_LOOKS if canonical else 0):
        if (found := _reads(pid, canonical=canonical)) is not None:
            return found
        time.sleep(0.001)
    return _reads(pid, canonical=canonical)


def _reads(pid: int, *, canonical: bool | None) -> bool | None:
    try:
        tasks = [f"/proc/{pid}/task/{number}" for number in os.listdir(f"/proc/{pid}/task")]
        channels = {task: _text(f"{task}/wchan") for task in tasks}
    except OSError:
        return None
    if _TTY_READERS & set(channels.values()):
        return True
    polling = [_polls_terminal(pid, task, channel) for task, channel in channels.items() if _polls(channel)]
    if True in polling:
        return True
    if canonical is False:
        return True if len(tasks) == len(polling) == 1 and polling[0] is None else None
    return False if set(channels.values()) - {"0", ""} or is_computing(pid) else None


def _text(path: str) -> str:
    with open(path) as file:
        return file.read()


def _polls_terminal(pid: int, task: str, channel: str) -> bool | None:
    """Whether the poll, select or epoll that a thread waits in looks at a terminal; None when it can't be seen.

    Which of the first two it is shows in the arguments, which are (address, count) or (count, address): the numbers
    of system calls differ between machines. A select without descriptors is a sleep.
    """
    try:
        words = _text(f"{task}/syscall").split()
        first, second = int(words[1], 16), int(words[2], 16)
        if "epoll" in channel or channel.startswith("ep_"):
            return any(_is_terminal(pid, each) for each in _epolled(pid, first))
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            if first < _MOST:
                watched = _selected(os.pread(memory.fileno(), first // 8 + 1, second), first) if second else []
            else:
                watched = _polled(os.pread(memory.fileno(), 8 * min(second, _MOST), first))
        return any(_is_terminal(pid, each) for each in watched)
    except (OSError, ValueError, IndexError, OverflowError):
        return None


def _epolled(pid: int, descriptor: int) -> list[int]:
    """What an epoll descriptor watches for input: ``tfd: NUMBER events: HEX ...``."""
    lines = (line.split() for line in _text(f"/proc/{pid}/fdinfo/{descriptor}").splitlines())
    return [int(words[1]) for words in lines if words[:1] == ["tfd:"] and int(words[3], 16) & _POLLIN]


def _selected(bits: bytes, count: int) -> list[int]:
    return [number for number in range(count) if bits[number // 8] >> number % 8 & 1]


def _polled(entries: bytes) -> list[int]:
    chunks = (entries[at : at + 8] for at in range(0, len(entries) - 7, 8))
    return [
        int.from_bytes(each[:4], "little", signed=True)
        for each in chunks
        if int.from_bytes(each[4:6], "little") & _POLLIN
    ]


def _is_terminal(pid: int, descriptor: int) -> bool:
    """Whether it is a terminal, or an epoll descriptor that watches one (which Racket polls)."""
    with suppress(OSError, ValueError, IndexError):
        file = os.readlink(f"/proc/{pid}/fd/{descriptor}")
        if file == "anon_inode:[eventpoll]":
            return any(_is_terminal(pid, each) for each in _epolled(pid, descriptor) if each != descriptor)
        return file.startswith(("/dev/pts/", "/dev/tty"))
    return False


def is_computing(pid: int) -> bool:
    """Whether the program is on a processor: then it waits nowhere, which looks like "may not be seen"."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"R"
    except (OSError, IndexError):
        return False
