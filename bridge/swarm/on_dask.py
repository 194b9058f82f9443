"""Dask as the engine of a swarm: a cluster on this machine, or one that runs anyway.

Dask is imported only when somebody asks for it: it is an extra, and costs a second.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from bridge.errors import ConfigurationError, ProjectUnusable
from bridge.swarm.transport import Silence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LIMITS = {
    # Each time that a worker dies Dask starts its task anew on another one, three times by default.
    "distributed.scheduler.allowed-failures": 0,
    # A task of which no worker takes notice would wait for ever.
    "distributed.scheduler.no-workers-timeout": "10 minutes",
    "distributed.scheduler.worker-ttl": "60s",
    # Else agents, and the tests that they run, would be told to use one thread.
    "distributed.nanny.pre-spawn-environ": {},
    "distributed.admin.large-graph-warning-threshold": "1 TB",
}
_LOOPBACK = "127.0.0.1:0"
_NO_PAGES: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
_OF_SCHEDULER = {"allowed_failures": 0, "no_workers_timeout": 600.0, "worker_ttl": 60.0}
_CONNECT, _WORKERS, _ANSWER = 20.0, 30.0, 10.0
_SILENCE = 60.0
"""Seconds without a sign of the host after which it is taken for gone."""


@contextmanager
def local_cluster(jobs: int) -> Iterator[Any]:
    """Start a cluster on this machine with a process per job; it is ended when the block ends.

    Whoever reaches a scheduler runs code as its user, and every local user reaches loopback: so all connections
    are TLS, with a certificate that is made for this cluster and known to its processes alone.

    Returns:
        A :class:`distributed.Client`.

    Raises:
        ConfigurationError: dask isn't installed, or cryptography, which makes the certificate.
    """
    dask, distributed = _dask()
    try:
        security = distributed.Security.temporary()
    except ImportError as error:
        raise ConfigurationError(
            f"--executor dask: no TLS certificate can be made ({error}), and without TLS any user of this machine"
            " could run code in the swarm\n  next: pip install 'ralph-bridge[dask]'"
        ) from None
    with (
        tempfile.TemporaryDirectory(prefix="ralph-bridge-dask-", ignore_cleanup_errors=True) as scratch,
        dask.config.set({**_LIMITS, **_NO_PAGES, "temporary-directory": scratch}),
        distributed.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            memory_limit=0,  # it would count itself only, and not the agents
            security=security,
            protocol="tls://",
            host="127.0.0.1",
            # Without an address they would serve pages on all interfaces.
            scheduler_kwargs={"dashboard": False, "dashboard_address": _LOOPBACK},
            worker_dashboard_address=_LOOPBACK,
            preload=[__name__],
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect to a scheduler; its limits are a swarm's until the block ends.

    Args:
        address: ``tcp://HOST:PORT`` or ``tls://HOST:PORT``.

    Returns:
        A :class:`distributed.Client`.

    Raises:
        ConfigurationError: dask isn't installed.
        ProjectUnusable: nobody answers there.
    """
    dask, distributed = _dask()
    with dask.config.set(_LIMITS):
        try:
            client = distributed.Client(address, timeout=_CONNECT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ProjectUnusable(
                f"no scheduler of Dask answers at {address}: {error}\n  next: dask scheduler; dask worker {address}"
            ) from None
        with client:
            try:
                client.wait_for_workers(1, timeout=_WORKERS)
            except TimeoutError:
                raise ProjectUnusable(
                    f"no worker is connected to the scheduler at {address}\n  next: dask worker {address}"
                ) from None
            before = client.run_on_scheduler(_limit, values=_OF_SCHEDULER)
            try:
                yield client
            finally:
                with suppress(Exception):  # it may be gone
                    client.run_on_scheduler(_limit, values=before)


def _limit(values: dict[str, Any], dask_scheduler: Any = None) -> dict[str, Any]:
    """Set limits, on the scheduler; give those from before."""
    before = {name: getattr(dask_scheduler, name, None) for name in values}
    for name, value in values.items():
        setattr(dask_scheduler, name, value)
    return before


def dask_setup(_worker: object) -> None:
    """Dask calls this in each process of the local cluster: Ctrl-C in the terminal is for the host alone."""
    os.setpgid(0, 0)


def _dask() -> tuple[Any, Any]:
    try:
        import dask
        import distributed
    except ImportError as error:
        raise ConfigurationError(
            f"--executor dask: {error}\n  next: pip install 'ralph-bridge[dask]', here and wherever workers run"
        ) from None
    return dask, distributed


# -- the line between host and workers ---------------------------------------------------------------


def _topic(run: str) -> str:
    return f"ralph-bridge-{run}"


class HostLine:
    """The host's end: workers report events of a topic, and what is asked of them stands in a variable."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._variables: dict[str, Any] = {}

    def listen(self, run: str, take: Callable[[str, int, int, str], None]) -> None:
        """Hand on what workers report: task, attempt, number of the line, line."""

        def take_lines(event: tuple[float, dict[str, Any]]) -> None:
            for number, line in enumerate(event[1]["lines"], event[1]["first"]):
                take(event[1]["task"], event[1]["attempt"], number, line)

        self._client.subscribe_topic(_topic(run), take_lines)

    def announce(self, run: str, asked: str) -> None:
        """Show that the host lives, and what it asks for."""
        if run not in self._variables:
            self._variables[run] = _dask()[1].Variable(_topic(run), client=self._client)
        self._variables[run].set({"asked": asked, "sign": uuid4().hex}, timeout=_ANSWER)

    def close(self) -> None:
        """Take back what lies at the scheduler."""
        for variable in self._variables.values():
            with suppress(Exception):
                variable.delete()


class WorkerLink:
    """A worker's end; made in the thread that runs the task."""

    def __init__(self, run: str, task: str, attempt: int) -> None:
        distributed = _dask()[1]
        self._worker = distributed.get_worker()
        self._client = distributed.get_client()
        self._key = self._worker.get_current_task()
        self._attempt = (run, task, attempt)
        self._variable = distributed.Variable(_topic(run), client=self._client)
        self._silence = Silence(_SILENCE)
        self._reported = 0

    def report(self, lines: list[str]) -> None:
        """Carry events to the host."""
        run, task, attempt = self._attempt
        message = {"task": task, "attempt": attempt, "first": self._reported, "lines": lines}
        self._worker.log_event(_topic(run), message)
        self._reported += len(lines)

    def asked(self) -> str:
        """Say what is asked; ``now`` when the engine wants the task no more, or the host is gone."""
        if self._unwanted():
            return "now"
        value: dict[str, str] = {}
        with suppress(OSError, asyncio.TimeoutError):
            value = self._variable.get(timeout=_ANSWER)
        return value.get("asked", "") or ("now" if self._silence.gone(value.get("sign")) else "")

    def _unwanted(self) -> bool:
        """The engine's own cancelling, or the end of the client, changes the state of the task and nothing else."""
        with suppress(Exception):  # the state of a worker is none of Dask's public names
            task = self._worker.state.tasks.get(self._key)
            return task is None or task.state in ("cancelled", "released", "forgotten")
        return False
