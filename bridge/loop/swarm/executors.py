"""What ``--executor`` names: where the tasks of a swarm run."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import tempfile
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib import import_module
from inspect import signature
from multiprocessing import get_context, parent_process, spawn
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from bridge.base.packages import install_command
from bridge.errors import ConfigurationError, ProjectUnusable
from bridge.loop.swarm.courier import Courier
from bridge.loop.swarm.links import DaskHost, dask_modules
from bridge.loop.swarm.transport import check_hub
from bridge.loop.swarm.work_trees import repository

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
_REMOTE = ("dask://", "dask+tls://", "tls://")


@contextmanager
def opened(
    given: str | None, jobs: int, hub: str | None = None, *, insecure: bool = False
) -> Iterator[Executor | None]:
    """Make the executor that a word names; it is shut down when the block ends.

    Args:
        given: ``dask`` (a cluster on this machine), ``tls://HOST:PORT`` (a scheduler whose workers see none of the
            host's files; certificates as Dask's own configuration names them), ``MODULE:NAME`` of a function that
            gives any :class:`concurrent.futures.Executor`, or None: threads.
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
        if given is not None:
            held.enter_context(_importing_nothing_here())
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


@contextmanager
def _importing_nothing_here() -> Iterator[None]:
    """Have the processes of pools begin with ``python -P``: else they would import from the folder that they begin
    in, the project, in which a turn may have put a module of any name.

    Not by PYTHONSAFEPATH, which agents and their programs would inherit.
    """
    python = sys.executable
    with tempfile.TemporaryDirectory(prefix="ralph-bridge-python-", ignore_cleanup_errors=True) as folder:
        starter = Path(folder, "python")
        starter.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} -P "$@"\n', encoding="utf-8")
        starter.chmod(0o700)
        sys.executable = str(starter)  # which loky goes by
        spawn.set_executable(sys.executable)
        try:
            yield
        finally:
            sys.executable = python
            spawn.set_executable(python)


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
    sys.path.append(here := os.getcwd())  # behind all else: no file of the project stands in for a library
    try:
        factory = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"--executor {given}: {error}") from None
    finally:
        sys.path.remove(here)
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


# -- Dask, imported only when somebody asks for it: it is an extra, and costs a second -----------------


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
            f" could run code in the swarm\n  next: {install_command('dask')}"
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
