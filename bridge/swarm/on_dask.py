"""Dask as the engine of a swarm: a cluster on this machine.

Dask is imported only when somebody asks for it: it is an extra, and costs a second.
"""

from __future__ import annotations

import logging
import os
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

_LIMITS = {
    # Each time that a worker dies Dask starts its task anew on another one, three times by default.
    "distributed.scheduler.allowed-failures": 0,
    # A task of which no worker takes notice would wait for ever.
    "distributed.scheduler.no-workers-timeout": "10 minutes",
    "distributed.scheduler.worker-ttl": "60s",
    # Else agents, and the tests that they run, would be told to use one thread.
    "distributed.nanny.pre-spawn-environ": {},
}


@contextmanager
def local_cluster(jobs: int) -> Iterator[Executor]:
    """Start a cluster on this machine with a process per job; it is ended when the block ends.

    Raises:
        ConfigurationError: dask isn't installed.
    """
    dask, distributed = _dask()
    with (
        tempfile.TemporaryDirectory(prefix="ralph-bridge-dask-", ignore_cleanup_errors=True) as scratch,
        dask.config.set({**_LIMITS, "temporary-directory": scratch}),
        distributed.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            memory_limit=0,  # it would count itself only, and not the agents
            dashboard_address=None,
            preload=[__name__],
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor(pure=False, retries=0) as executor,
    ):
        yield executor


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
