"""What ``--executor`` names: where the tasks of a swarm run."""

from __future__ import annotations

import os
import sys
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from importlib import import_module
from inspect import signature
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from bridge.errors import ConfigurationError
from bridge.swarm.courier import Courier
from bridge.swarm.links import DaskHost
from bridge.swarm.on_dask import connected, local_cluster
from bridge.swarm.transport import check_hub
from bridge.swarm.trees import repository

if TYPE_CHECKING:
    from collections.abc import Iterator

_REMOTE = ("dask://", "dask+tls://", "tls://")


@contextmanager
def opened(
    given: str | None, jobs: int, hub: str | None = None, *, insecure: bool = False
) -> Iterator[Executor | None]:
    """Make the executor that a word names; it is shut down when the block ends.

    Args:
        given: ``dask`` (a cluster on this machine), ``tls://HOST:PORT`` (a scheduler whose workers see none of the
            host's files; certificates as Dask's own configuration names them), ``MODULE:NAME`` of a function that
            gives any :class:`concurrent.futures.Executor`, or
            None: threads.
        jobs: how many tasks are to run at once.
        hub: the URL of a bare repository by which work goes out and comes back: then no worker needs the host's
            files, whatever the executor is. A scheduler that runs anyway needs one.
        insecure: let ``dask://HOST:PORT`` be a scheduler without TLS.

    Raises:
        ConfigurationError: there is no such function, what it gives is no executor, dask isn't installed, the
            scheduler has no TLS, or the hub is missing or can't be reached.
        ProjectUnusable: no scheduler answers there.
    """
    with ExitStack() as held:
        url = check_hub(hub, repository(Path.cwd())) if hub else ""
        if given is not None and (given == "dask" or given.startswith(_REMOTE)):
            address = "" if given == "dask" else _address(given, insecure=insecure)
            if address and not url:
                raise ConfigurationError(
                    f"--executor {given}: its workers share no files with this machine, so work goes by a hub\n"
                    "  next: git init --bare hub.git, on a machine that all reach, and --hub ssh://HOST/PATH/hub.git"
                )
            where = connected(address) if address else local_cluster(jobs)
            client = held.enter_context(where)
            engine = held.enter_context(client.get_executor(pure=False, retries=0))
            if url:
                line = held.enter_context(closing(DaskHost(client)))
                engine = held.enter_context(Courier(engine, hub=url, line=line))
            yield engine
        elif given is not None or url:
            chosen = ThreadPoolExecutor(jobs) if given is None else _from_factory(given, jobs)
            engine = held.enter_context(chosen)
            yield held.enter_context(Courier(engine, hub=url)) if url else engine
        else:
            yield None


def _address(given: str, *, insecure: bool) -> str:
    scheme, _, address = given.partition("://")
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isdigit()):
        raise ConfigurationError(f"--executor {given}: expected tls://HOST:PORT, such as tls://127.0.0.1:8786")
    if scheme == "dask" and not insecure:
        raise ConfigurationError(
            f"--executor {given}: a scheduler without TLS runs the code of whoever reaches its port\n"
            f"  next: --executor tls://{address}, with certificates in Dask's configuration"
            " (distributed.comm.tls); or --insecure, in a network that nobody else is in"
        )
    return f"{'tcp' if scheme == 'dask' else 'tls'}://{address}"


def _from_factory(given: str, jobs: int) -> Executor:
    module, colon, name = given.partition(":")
    if not colon or not module or not name:
        raise ConfigurationError(
            f"--executor {given}: expected dask, tls://HOST:PORT, dask://HOST:PORT, or MODULE:NAME, such as"
            " concurrent.futures:ThreadPoolExecutor"
        )
    sys.path.insert(0, os.getcwd())
    try:
        factory = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"--executor {given}: {error}") from None
    finally:
        sys.path.remove(os.getcwd())
    takes = signature(factory).parameters
    # A process that is forked beside threads may wait for ever for what one of them held.
    of_pool = {"mp_context": get_context("forkserver"), "initializer": _end_with_host}
    further: dict[str, Any] = of_pool if factory is ProcessPoolExecutor else {}
    sized = any(each in takes for each in ("max_workers", "jobs"))
    made: Executor = factory(jobs, **further) if sized else factory()
    if not isinstance(made, Executor):
        raise ConfigurationError(f"--executor {given}: gives {type(made).__name__}, which is no Executor")
    return made


def _end_with_host() -> None:
    """In a process of a pool: end when the host has been killed, which would wait for tasks for ever.

    The loop of a task that is under way notices, ends its agent and saves.
    """

    def wait() -> None:
        if (host := parent_process()) is not None:
            host.join()
            os._exit(1)

    Thread(target=wait, daemon=True).start()
