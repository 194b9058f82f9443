"""What a hook prints: the reading end of the FIFO that is bash's stdout or stderr during a call."""

from __future__ import annotations

import os

_read = os.read

CHUNK = 1 << 16
LITTLE = 1 << 12
TURN = 16  # chunks read in one go: who writes faster than we read must not keep us from the clock


class Output:
    """The reading end of one output FIFO."""

    def __init__(self, path: str, limit: int) -> None:
        self._path = path
        self._limit = limit
        self._aside: list[int] = []
        self._buffer = bytearray()
        self.overflow = False
        os.mkfifo(path, 0o600)
        self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def hold_open(self) -> int:
        """A writing end for the host itself: while it is open, poll() reports no hang-up."""
        return os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)

    def drain(self) -> bool:
        """Read what is there, at most `TURN` chunks. False while somebody holds the other end."""
        try:
            for _ in range(TURN):
                data = os.read(self.fd, CHUNK)
                if not data:
                    return True
                self._take(data)
        except BlockingIOError:
            pass
        return False

    def _take(self, data: bytes) -> None:
        room = self._limit - len(self._buffer)
        if len(data) > room:
            self.overflow = True
            data = data[:room]
        self._buffer += data

    def finish(self) -> bytes:
        # The common cases first: nothing written, or little, and nobody holds the other end.
        if not self._buffer and not self._aside:
            data = b""
            try:
                data = _read(self.fd, LITTLE)
                if not data:
                    return data
                if not (more := _read(self.fd, LITTLE)) and len(data) <= self._limit:
                    return data
                data += more
            except BlockingIOError:
                pass
            self._take(data)
        if not self.drain():
            self._put_aside()
        self._drop()
        data = bytes(self._buffer)
        self._buffer.clear()
        return data

    def _put_aside(self) -> None:
        try:
            os.unlink(self._path)
            os.mkfifo(self._path, 0o600)
            fresh = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return  # the script has removed our folder: the next exchange ends this bash
        self._aside.append(self.fd)
        self.fd = fresh
        if len(self._aside) > 32:  # the oldest gets SIGPIPE if it ever writes again
            os.close(self._aside.pop(0))

    def _drop(self) -> None:
        """Let others go on writing: throw away what they wrote, forget those that are gone."""
        for fd in list(self._aside):
            try:
                if any(not os.read(fd, CHUNK) for _ in range(TURN)):
                    os.close(fd)
                    self._aside.remove(fd)
            except BlockingIOError:
                continue

    def close(self) -> None:
        for fd in (self.fd, *self._aside):
            os.close(fd)
        self._aside.clear()
