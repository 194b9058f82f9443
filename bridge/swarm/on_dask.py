"""Dask as the engine of a swarm: a cluster on this machine, or one that runs anyway.

Dask is imported only when somebody asks for it: it is an extra, and costs a second.
"""

from __future__ import annotations

import logging
import os
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from bridge.errors import ConfigurationError, ProjectUnusable

if TYPE_CHECKING:
    from collections.abc import Iterator

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
_CONNECT, _WORKERS = 20.0, 30.0


@contextmanager
def local_cluster(jobs: int) -> Iterator[Any]:
    """Start a cluster on this machine with a process per job; it is ended when the block ends.

    Whoever reaches a scheduler runs code as its user, and every local user reaches loopback: so all connections
    are TLS, with a certificate that is made for this cluster and known to its processes alone.

    Raises:
        ConfigurationError: dask isn't installed, or cryptography, which makes the certificate.
    """
    dask, distributed = dask_modules()
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
    """Connect to a scheduler (``tcp://HOST:PORT`` or ``tls://HOST:PORT``); its limits are a swarm's until the block
    ends.

    Raises:
        ConfigurationError: dask isn't installed.
        ProjectUnusable: nobody answers there.
    """
    dask, distributed = dask_modules()
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


def dask_modules() -> tuple[Any, Any]:
    try:
        import dask
        import distributed
    except ImportError as error:
        raise ConfigurationError(
            f"--executor dask: {error}\n  next: pip install 'ralph-bridge[dask]', here and wherever workers run"
        ) from None
    return dask, distributed
