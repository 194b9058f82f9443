"""A real scheduler and real workers of Dask on loopback; no worker shares a folder with the host or another."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil

from tests.swarm.projects import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.swarm.projects import Project

_OF_CLUSTERS = ("distributed.cli", "multiprocessing.spawn", "multiprocessing.resource_tracker")
_LISTENS = re.compile(r"Scheduler at:\s+(tcp://\S+)")


@dataclass
class Cluster:
    """What `--executor` takes, and the processes."""

    address: str
    folder: Path
    env: dict[str, str]
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def executor(self) -> str:
        return self.address.replace("tcp", "dask")

    def start(self, *words: str, env: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
        with open(log, "wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
                cwd=self.folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self.started.append(process)
        return process

    def worker(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        """Start one with a home and a state folder of its own, as on a machine of its own."""
        home = self.folder / name
        home.mkdir(exist_ok=True)
        env = self.env | {"XDG_STATE_HOME": str(home / "state"), "HOME": str(home)}
        place = ("--local-directory", str(home), "--host", "127.0.0.1", "--no-dashboard", "--memory-limit", "0")
        log = home / "log"
        worker = self.start("dask_worker", self.address, "--nthreads", "1", *place, *words, env=env, log=log)
        until(lambda: b"Registered to" in log.read_bytes())
        return worker


@contextmanager
def dask_cluster(project: Project, workers: int = 2) -> Iterator[Cluster]:
    folder = project.notes / "cluster"
    folder.mkdir()
    made = Cluster("", folder, project.env)
    log = folder / "scheduler.log"
    try:
        words = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        made.start("dask_scheduler", *words, env=project.env, log=log)
        until(lambda: _LISTENS.search(log.read_text()))
        found = _LISTENS.search(log.read_text())
        assert found is not None
        made.address = found[1]
        for number in range(workers):
            made.worker(f"machine{number}")
        yield made
    finally:
        for process in reversed(made.started):
            _end(process)
        until(lambda: not project.processes())


def _end(process: subprocess.Popen[bytes]) -> None:
    """With all below it: a nanny starts a worker that was killed anew."""
    if process.poll() is None:
        below = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        for each in below:
            with suppress(psutil.Error):
                each.kill()
    process.wait()


def of_swarms(project: Project) -> list[str]:
    """What is running beside the cluster itself."""
    return [each for each in project.processes() if not any(word in each for word in _OF_CLUSTERS)]
