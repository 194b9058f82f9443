"""What a call reads: its prompt and its stdin, for a CLI that gets it again with each attempt, or in a box."""

from __future__ import annotations

import os
import select
import stat
import sys
import tempfile
from contextlib import contextmanager, suppress
from fcntl import ioctl
from termios import FIONREAD
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from bridge.loop.setups.script.server import Call

PIECE = 4096  # that a pipe takes at once where it takes anything
_MOST_STDIN = 256 * 1024 * 1024
CHUNK = 65536
_MUCH_IN_A_PIPE = 32 * 1024


def feed(call: Call, fd: int, to: int, enough: threading.Event) -> None:
    """Hand on what comes in a pipe, and keep it, until it ends, or nobody reads any more."""
    os.set_blocking(to, False)
    left = memoryview(bytes(call.fed))
    try:
        while not (enough.is_set() or len(call.fed) > _MOST_STDIN):
            poller = select.poll()
            poller.register(to, select.POLLOUT if left else 0)
            if not left:
                poller.register(fd, select.POLLIN)
            ready = dict(poller.poll(100))
            if ready.get(to, 0) & ~select.POLLOUT:
                return
            if to in ready:
                left = left[os.write(to, left[:PIECE]) :]
            elif fd in ready:
                piece = os.read(fd, CHUNK)
                if not piece:
                    return
                call.fed += piece
                left = memoryview(piece)
    except OSError:  # nobody reads it any more
        return
    finally:
        os.close(to)


def prompt_of(call: Call) -> bytes:
    """Read the prompt of a call, whose CLI won't; an option's file is left to it."""
    form, fd = call.form, call.request.fds[0]
    if form.prompt is not None:
        words = os.fsencode(call.argv[form.prompt][form.before :])
        if fd is None or not call.has_own_stdin:
            return words
        call.fed += read_all(fd, lambda: call.gone)
        return words + (b"\n\n" + call.fed if call.fed.strip() else b"")
    if fd is None or os.isatty(fd):
        return b""
    if call.stdin is None:
        call.stdin = read_all(fd, lambda: call.gone)
    return call.stdin


@contextmanager
def lent(fd: int) -> Iterator[int | None]:
    """Give what a box gets in the place of a stdin: of a file the rest in a copy, since by its descriptor the file
    could be opened to be written to, wherever it lies; a pipe as it is; nothing instead of a terminal or a device.

    What was read of the copy counts as read of the file: the rest is the next command's.
    """
    mode = os.fstat(fd).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        yield fd
    elif not stat.S_ISREG(mode):
        yield None
    else:
        with tempfile.TemporaryFile(buffering=0) as copy:
            begin = at = os.lseek(fd, 0, os.SEEK_CUR)
            while at - begin < _MOST_STDIN and (data := os.pread(fd, 1 << 20, at)):
                copy.write(data)
                at += len(data)
            copy.seek(0)
            yield copy.fileno()
            os.lseek(fd, begin + min(copy.tell(), at - begin), os.SEEK_SET)


def is_being_written(call: Call) -> bool:
    """Whether its stdin is a pipe that somebody may still write to, and that isn't full: CLIs read to the end."""
    fd = call.request.fds[0]
    if fd is None or not stat.S_ISFIFO(os.fstat(fd).st_mode):
        return False
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    if any(event & select.POLLHUP for _, event in poller.poll(0)):
        return False
    held = bytearray(4)
    ioctl(fd, FIONREAD, held)
    return int.from_bytes(held, sys.byteorder) < _MUCH_IN_A_PIPE


def read_all(fd: int, ended: Callable[[], bool]) -> bytes:
    """Read a prompt to its end, as a CLI would; within bounds."""
    data = bytearray()
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    while len(data) < _MOST_STDIN and not ended():
        if poller.poll(200):
            piece = os.read(fd, CHUNK)
            if not piece:
                break
            data += piece
    return bytes(data)


def position_of(fd: int) -> int | None:
    """Where reading goes on; None: it can't be gone back in."""
    with suppress(OSError):
        return os.lseek(fd, 0, os.SEEK_CUR)
    return None
