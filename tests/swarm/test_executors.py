"""The same swarm on other engines than threads."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge import ConfigurationError
from bridge.loop.swarm.executors import opened
from tests.swarm.projects import HOLD, Project, until
from tests.swarm.test_kills import nothing_runs, workers

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.timeout(400)

LOCAL = ("concurrent.futures:ProcessPoolExecutor", "loky:get_reusable_executor", "dask")


def test_what_dask_needs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigurationError, match=r"pip install .*distributed"), opened("dask", 2):
        pass


def holding(project: Project, *words: str) -> subprocess.Popen[bytes]:
    project.plan(f"one: echo precious > one.txt; {HOLD}", "two: echo 2 > two.txt")
    host = project.start("run", "-j", "1", *words)
    until(lambda: (project.notes / "holding").exists())
    return host


@pytest.mark.slow
@pytest.mark.parametrize("executor", LOCAL)
def test_tasks_are_merged(project: Project, executor: str) -> None:
    project.plan("one: echo 1 > one.txt", "two: echo 2 > two.txt; env > $NOTES/env")
    for name in ("struct", "selectors"):  # what a turn may leave: processes of pools begin in the project
        (project.path / f"{name}.py").write_text(f"open({str(project.notes / 'ran')!r}, 'a').write({name!r})\n")
    host = project.start("run", "--executor", executor)
    assert host.wait(200) == 0, (project.notes / "err").read_text()
    nothing_runs(project)
    assert project.outcomes() == {"one": "merged", "two": "merged"}
    assert not (project.notes / "ran").exists()
    env = (project.notes / "env").read_text()
    assert "OMP_NUM_THREADS" not in env
    assert "PYTHONSAFEPATH" not in env


@pytest.mark.slow
@pytest.mark.parametrize("executor", [LOCAL[0], "dask"])
def test_local_workers_with_a_hub(project: Project, executor: str) -> None:
    hub = project.notes / "hub.git"
    project.git("init", "-q", "--bare", str(hub))
    project.plan("one: echo 1 > one.txt", "two: echo 2 > two.txt")
    host = project.start("run", "--executor", executor, "--hub", str(hub))
    assert host.wait(200) == 0, (project.notes / "err").read_text()
    nothing_runs(project)
    assert project.outcomes() == {"one": "merged", "two": "merged"}


@pytest.mark.slow
def test_a_pool_ends_with_its_host(project: Project) -> None:
    host = holding(project, "--executor", LOCAL[0])
    host.kill()
    host.wait()
    nothing_runs(project)
    assert project.refs_hold("precious")


@pytest.mark.slow
def test_ctrl_c_on_dask(project: Project) -> None:
    """The terminal sends it to all of the foreground: it is for the host alone."""
    host = holding(project, "--executor", "dask")
    os.killpg(host.pid, signal.SIGINT)
    assert host.wait(200) == 130
    nothing_runs(project)
    assert project.outcomes() == {"one": "interrupted", "two": None}
    assert project.refs_hold("precious")
    assert "Traceback" not in (project.notes / "err").read_text()


@pytest.mark.slow
def test_a_worker_of_dask_is_killed(project: Project) -> None:
    host = holding(project, "--executor", "dask")
    (worker,) = workers(host)
    process = worker.parent()
    assert isinstance(process, psutil.Process)
    process.kill()
    assert host.wait(200) == 1
    nothing_runs(project)
    assert project.outcomes() == {"one": "lost", "two": "merged"}
    assert len(project.started()) == 2, "what was lost is not begun anew"
    assert project.refs_hold("precious")
    assert "lost: the executor lost it: its worker died" in (project.notes / "err").read_text()
