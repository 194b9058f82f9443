"""The line between the host and a worker that sees none of its files: by the refs of a hub, or by Dask.

Both have an end for the host, which listens to what workers report (task, attempt, number of the line, line) and
shows them that it lives and what it asks for (`beat`: each so many seconds), and one for an attempt, which reports
lines and says what is asked: '', ``soon``, ``now``, ``kill``. A host that is gone shows by its signs, which
change no more: the clocks of two machines aren't compared.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from bridge.base.packages import install_command
from bridge.errors import ConfigurationError
from bridge.loop.swarm.transport import Hub

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.base.git.repository import Repository
    from bridge.loop.swarm.work_order import Order

_HUB_LOOK, _HUB_SILENCE = 2.0, 180.0
_DASK_ANSWER, _DASK_SILENCE = 10.0, 60.0


class Silence:
    """Tells a host that is gone: the same sign has been seen for so many seconds."""

    def __init__(self, most: float) -> None:
        self._most = most
        self._sign: object = None
        self._since = time.monotonic()

    def gone(self, sign: object) -> bool:
        """Whether it is, with this sign; None: there was none to be had."""
        now = time.monotonic()
        if sign is not None and sign != self._sign:
            self._sign, self._since = sign, now
        return now - self._since > self._most


# -- by a hub, for engines that have nothing better --------------------------------------------------


class HubHost:
    beat = 20.0

    def __init__(self) -> None:
        self._asked: dict[str, str] = {}

    def listen(self, run: str, take: Callable[[str, int, int, str], None]) -> None:
        """A push for each line would be too dear: the host reads them when the attempt is over."""

    def announce(self, order: Order, asked: str) -> None:
        hub, git = Hub(order.hub, order.run), order.repository()
        if self._asked.get(order.run) != asked:  # at first, too: what an earlier host asked is over
            hub.ask(git, asked)
        self._asked[order.run] = asked
        hub.beat(git)


class HubWorker:
    def __init__(self, order: Order, git: Repository) -> None:
        self._hub = Hub(order.hub, order.run)
        self._git = git
        self._silence = Silence(_HUB_SILENCE)
        self._next = 0.0
        self._asked = ""

    def report(self, lines: list[str]) -> None:
        pass

    def asked(self) -> str:
        if time.monotonic() >= self._next:
            found = self._hub.asked(self._git)
            self._next = time.monotonic() + _HUB_LOOK
            self._asked = found[0] if found is not None else self._asked
            if self._silence.gone(None if found is None else found[1]):
                self._asked = self._asked or "now"
        return self._asked


# -- by Dask, which is faster and costs the hub nothing ----------------------------------------------


def dask_modules() -> tuple[Any, Any]:
    try:
        import dask
        import distributed
    except ImportError as error:
        raise ConfigurationError(
            f"--executor dask: {error}\n  next: {install_command('dask')}; likewise wherever workers run"
        ) from None
    return dask, distributed


def _topic(run: str) -> str:
    return f"ralph-bridge-{run}"


class DaskHost:
    """Workers report events of a topic, and what is asked of them stands in a variable."""

    beat = 2.0

    def __init__(self, client: Any) -> None:
        self._client = client
        self._variables: dict[str, Any] = {}

    def listen(self, run: str, take: Callable[[str, int, int, str], None]) -> None:
        def take_lines(event: tuple[float, dict[str, Any]]) -> None:
            for number, line in enumerate(event[1]["lines"], event[1]["first"]):
                take(event[1]["task"], event[1]["attempt"], number, line)

        self._client.subscribe_topic(_topic(run), take_lines)

    def announce(self, order: Order, asked: str) -> None:
        run = order.run
        if run not in self._variables:
            self._variables[run] = dask_modules()[1].Variable(_topic(run), client=self._client)
        self._variables[run].set({"asked": asked, "sign": uuid4().hex}, timeout=_DASK_ANSWER)

    def close(self) -> None:
        for variable in self._variables.values():
            with suppress(Exception):
                variable.delete()


class DaskWorker:
    """Made in the thread that runs the task."""

    def __init__(self, order: Order) -> None:
        distributed = dask_modules()[1]
        self._worker = distributed.get_worker()
        self._client = distributed.get_client()
        self._key = self._worker.get_current_task()
        self._order = order
        self._variable = distributed.Variable(_topic(order.run), client=self._client)
        self._silence = Silence(_DASK_SILENCE)
        self._reported = 0

    def report(self, lines: list[str]) -> None:
        order = self._order
        message = {"task": order.task, "attempt": order.attempt, "first": self._reported, "lines": lines}
        self._worker.log_event(_topic(order.run), message)
        self._reported += len(lines)

    def asked(self) -> str:
        if self._unwanted():
            return "now"
        value: dict[str, str] = {}
        with suppress(OSError):  # TimeoutError among them
            value = self._variable.get(timeout=_DASK_ANSWER)
        return value.get("asked", "") or ("now" if self._silence.gone(value.get("sign")) else "")

    def _unwanted(self) -> bool:
        """The engine's own cancelling, or the end of the client, changes the state of the task and nothing else."""
        with suppress(Exception):  # the state of a worker is none of Dask's public names
            task = self._worker.state.tasks.get(self._key)
            return task is None or task.state in ("cancelled", "released", "forgotten")
        return False
