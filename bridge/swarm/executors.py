"""What ``--executor`` names: where the tasks of a swarm run."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

_MOST = 300


@contextmanager
def opened(given: str | None, jobs: int) -> Iterator[Executor | None]:
    """Make the executor that a word names; it is shut down when the block ends.

    Args:
        given: ``dask`` (a cluster on this machine), ``MODULE:NAME`` of a function that gives any
            :class:`concurrent.futures.Executor`, or None: threads, which the swarm makes itself.
        jobs: how many tasks are to run at once.

    Raises:
        ConfigurationError: there is no such function, what it gives is no executor, or dask isn't installed.
    """
    if given is None:
        yield None
    elif given == "dask":
        from bridge.swarm.on_dask import local_cluster

        with local_cluster(jobs) as executor:
            yield executor
    else:
        with _from_factory(given, jobs) as executor:
            yield executor


def _from_factory(given: str, jobs: int) -> Executor:
    from concurrent.futures import Executor

    module, colon, name = given.partition(":")
    if not colon or not module or not name:
        raise ConfigurationError(
            f"--executor {given}: expected dask, or MODULE:NAME such as concurrent.futures:ThreadPoolExecutor"
        )
    sys.path.insert(0, os.getcwd())
    try:
        factory = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"--executor {given}: {error}") from None
    finally:
        sys.path.remove(os.getcwd())
    takes = signature(factory).parameters
    made: Executor = factory(jobs) if any(each in takes for each in ("max_workers", "jobs")) else factory()
    if not isinstance(made, Executor):
        raise ConfigurationError(f"--executor {given}: gives {type(made).__name__}, which is no Executor")
    return made


def words(error: BaseException) -> str:
    """Say in one line what an executor says of a task that it has lost."""
    if type(error).__name__ == "KilledWorker":
        return "its worker died"  # Dask says so in five lines
    return (str(error).splitlines() or [""])[0][:_MOST] or type(error).__name__
