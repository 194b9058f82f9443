"""Something at work, as its events: for a `for` loop, for threads, for asyncio."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from bridge.base.log import logger
from bridge.base.process.stopping import StopRequest
from bridge.errors import BridgeError
from bridge.loop.turn.tool import Event as LoopEvent

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Generator
    from concurrent.futures import Executor
    from types import TracebackType

E = TypeVar("E", bound=LoopEvent)


class EventStream(Generic[E]):
    """Something at work, as its events: iterate over them. The last one, of the kind `E`, is kept in `ended`.

    Leaving early (:meth:`close`, the end of a ``with`` block, or dropping it) ends what is at work.
    """

    _last: ClassVar[type[LoopEvent]]

    def _begin(self, events: Generator[LoopEvent, None, None]) -> None:
        self.ended: E | None = None
        self._events = events
        self._mutex = threading.RLock()
        self._request = StopRequest()
        self._thread: Executor | None = None
        self._first: LoopEvent | None = next(events)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> LoopEvent:
        with self._mutex:
            event, self._first = self._first, None
            if event is None:
                with self._request.heeded():
                    event = next(self._events)
            if isinstance(event, self._last):
                self.ended = event  # type: ignore[assignment]
            return event

    def stop(self) -> None:
        """Ask for the end, from any thread: what is at work is ended in order, and told of in the last event.

        Returns at once. The thread that iterates gets the events up to the last one, which comes when everything
        has ended; where none iterates, that happens when one does. Nothing, once the end has begun.
        """
        self._request.ask()

    def close(self) -> None:
        """End now, with everything that was started. May be repeated; waits for a thread that iterates."""
        elsewhere = not self._mutex.acquire(blocking=False)
        if elsewhere:  # another thread waits for an event
            self.stop()
            self._mutex.acquire()
        try:
            if elsewhere:
                self._to_its_end()
            self._first = None
            self._events.close()
        finally:
            self._mutex.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- in asyncio ------------------------------------------------------------------------------------

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> LoopEvent:
        """Wait for the next event in a thread of its own; a task that is cancelled meanwhile ends what is at work.

        The cancellation is raised again when everything has ended.
        """
        import asyncio

        step = self._in_thread(next, self, None)
        try:
            event: LoopEvent | None = await asyncio.shield(step)
        except asyncio.CancelledError:
            self.stop()
            await self._in_thread(self._to_its_end)
            raise
        if event is None:
            raise StopAsyncIteration
        return event

    def _in_thread(self, call: Callable[..., Any], *arguments: object) -> asyncio.Future[Any]:
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        if self._thread is None:  # not asyncio's own few threads: an event may be an hour away
            self._thread = ThreadPoolExecutor(1, "ralph-bridge")
        return asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)

    def _to_its_end(self) -> None:
        try:
            deque(self, maxlen=0)
        except BridgeError as error:
            logger().warning("while it was stopped: %s", error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._in_thread(self.close)
