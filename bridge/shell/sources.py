"""Where the bytes come from that the host feeds to a job: one small reader per kind of source.

None of them blocks, so that the host can serve a job's output while it waits for the next piece of its input.
Only what can't be waited for in a poll() gets a thread.
"""

from __future__ import annotations

import contextlib
import io
import os
import queue
import select
import stat
import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from bridge.errors import ValueNotAccepted
from bridge.shell import protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Item = bytes | str


_PIECE = 1 << 16


class Source(ABC):
    """What a job is fed with, piece by piece."""

    @abstractmethod
    def take(self) -> bytes | None:
        """The next piece; b"" at the end; None when there is nothing at the moment.

        Raises:
            Exception: whatever the source itself raises.
        """

    def watch(self, poll: select.poll) -> bool:  # noqa: ARG002
        """Register what tells of the next piece; True when `take` need not wait for it."""
        return True

    def patience(self) -> float | None:
        """Milliseconds after which to `take` again, whatever was registered; None: any number."""
        return None

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of it; a source that the caller has opened stays open."""


class _Items(Source):
    """Something that has everything at hand: a list, a file on a disk."""

    def __init__(self, items: Iterator[Item], *, end_lines: bool) -> None:
        self._items = items
        self._end_lines = end_lines

    def take(self) -> bytes | None:
        pieces = []
        size = 0
        for item in self._items:
            pieces.append(_bytes(item, end_lines=self._end_lines))
            size += len(pieces[-1])
            if size >= _PIECE:
                break
        return b"".join(pieces)


class _Descriptor(Source):
    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)

    def take(self) -> bytes | None:
        if not self._poll.poll(0):
            return None
        try:
            return os.read(self._fd, _PIECE)
        except BlockingIOError:
            return None

    def watch(self, poll: select.poll) -> bool:
        poll.register(self._fd, select.POLLIN)
        return False


class _Buffered(_Descriptor):
    """A binary file over a pipe or a terminal: first what it has read ahead, then as a descriptor."""

    def __init__(self, file: io.BufferedReader) -> None:
        super().__init__(file.fileno())
        self._file = file
        blocking = os.get_blocking(self._fd)
        os.set_blocking(self._fd, False)  # peek() would wait for the first byte
        try:
            self._ahead = bool(file.peek())
        finally:
            os.set_blocking(self._fd, blocking)

    def take(self) -> bytes | None:
        if not self._ahead and not self._poll.poll(0):
            return None
        self._ahead = False
        return self._file.read1(_PIECE)

    def watch(self, poll: select.poll) -> bool:
        return super().watch(poll) or self._ahead


class _Thread(Source):
    """Anything that can be iterated over, asked for its next item in a thread of its own.

    The thread is at most a few items ahead. It can't be woken from within the iterable: after `close` it ends
    as soon as that hands out its next item.
    """

    def __init__(self, items: Iterable[Item], *, end_lines: bool) -> None:
        self._items = items
        self._end_lines = end_lines
        self._queue: queue.Queue[bytes | BaseException | None] = queue.Queue(64)
        self._news, news = os.pipe()
        os.set_blocking(self._news, False)
        os.set_blocking(news, False)
        self._closed = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._work, args=(news,), name="ralph-bridge-feeder", daemon=True)
        self._thread.start()

    def _work(self, news: int) -> None:
        try:
            for item in self._items:
                if not self._put(_bytes(item, end_lines=self._end_lines), news):
                    return
            self._put(None, news)
        except BaseException as error:  # noqa: BLE001 - whoever reads raises it
            self._put(error, news)
        finally:
            os.close(news)

    def _put(self, item: bytes | BaseException | None, news: int) -> bool:
        if item == b"":
            return not self._closed.is_set()
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self._queue.put(item, timeout=0.5)
                with contextlib.suppress(OSError):  # full: then the reader knows; broken: it has left
                    os.write(news, b".")
                return True
        return False

    def take(self) -> bytes | None:
        with contextlib.suppress(OSError):
            os.read(self._news, _PIECE)
        pieces: list[bytes] = []
        while not self._ended:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if isinstance(item, bytes):
                pieces.append(item)
                continue
            self._ended = True
            if item is not None:
                raise item
        return b"".join(pieces) if pieces or self._ended else None

    def watch(self, poll: select.poll) -> bool:
        poll.register(self._news, select.POLLIN)
        return self._ended

    def close(self) -> None:
        if self._news < 0:
            return
        self._closed.set()
        while not self._queue.empty():  # what waits for room may go on, and sees that nobody wants it
            with contextlib.suppress(queue.Empty):
                self._queue.get_nowait()
        if self._thread is not threading.current_thread():
            self._thread.join(0.2)
        os.close(self._news)
        self._news = -1


@runtime_checkable
class _Pieces(Protocol):
    """What can be read as a source is."""

    def take(self) -> bytes | None: ...
    def watch(self, poll: select.poll) -> bool: ...
    def patience(self) -> float | None: ...


class _Borrowed(Source):
    """What others close."""

    def __init__(self, inner: _Pieces) -> None:
        self._inner = inner

    def take(self) -> bytes | None:
        return self._inner.take()

    def watch(self, poll: select.poll) -> bool:
        return self._inner.watch(poll)

    def patience(self) -> float | None:
        return self._inner.patience()


class _LastLine(_Borrowed):
    """Another source, whose last line gets the newline that it may lack."""

    def __init__(self, inner: Source) -> None:
        super().__init__(inner)
        self._source = inner
        self._last = b"\n"

    def take(self) -> bytes | None:
        piece = self._inner.take()
        if piece:
            self._last = piece[-1:]
        elif piece is not None and self._last != b"\n":
            self._last = piece = b"\n"
        return piece

    def close(self) -> None:
        self._source.close()


def source_of(given: object, *, end_lines: bool = False) -> Source:
    """The reader for what a caller gave: a descriptor, a binary file, an iterable of bytes or str, or a job.

    end_lines: the items of an iterable are lines, and each gets the newline that it may lack, as does the
        last line of a file or descriptor; a job has an option of its own for that.

    Raises:
        ValueNotAccepted: it is none of them.
    """
    if isinstance(given, Source):
        return _LastLine(given) if end_lines else given
    if isinstance(given, _Pieces):
        return _Borrowed(given)
    if isinstance(given, (list, tuple, io.BytesIO, io.StringIO)) or _is_on_disk(given):
        return _Items(iter(given), end_lines=end_lines)  # type: ignore[call-overload]
    fd = _descriptor(given)
    if fd is not None:
        source = _Buffered(given) if isinstance(given, io.BufferedReader) else _Descriptor(fd)
        return _LastLine(source) if end_lines else source
    if not hasattr(given, "__iter__") or isinstance(given, (bytes, bytearray, memoryview, str, dict)):
        raise ValueNotAccepted(
            f"{given!r:.60} is not a stream; give a descriptor, a binary file, or an iterable of bytes or str"
        )
    return _Thread(given, end_lines=end_lines)


def _is_on_disk(given: object) -> bool:
    """Whether reading it never takes long."""
    try:
        return isinstance(given, io.IOBase) and stat.S_ISREG(os.fstat(given.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def _descriptor(given: object) -> int | None:
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return given
    if isinstance(given, (io.FileIO, io.BufferedReader)):
        with contextlib.suppress(OSError, ValueError):
            return given.fileno()
    return None


def _bytes(item: object, *, end_lines: bool) -> bytes:
    if isinstance(item, str):
        data = protocol.encode(item)
    elif isinstance(item, (bytes, bytearray, memoryview)):
        data = bytes(item)
    else:
        raise ValueNotAccepted(f"{item!r:.60} is {type(item).__name__}; a stream is made of bytes or str")
    return data + b"\n" if end_lines and not data.endswith(b"\n") else data
