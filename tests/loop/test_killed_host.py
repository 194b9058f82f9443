"""A host that is killed with -9 leaves nothing of its tool, in whatever session; what is the user's stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bridge.base.process.leftovers import MARK
from bridge.base.process.table import environments_visible
from tests.swarm.projects import until

pytestmark = pytest.mark.skipif(not environments_visible(), reason="environments can't be seen here")
ROOT = Path(__file__).parents[2]
HOST = """
import sys, time
from pathlib import Path
from bridge.loop.engine.active_run import ActiveRun
project = Path(sys.argv[1])
with ActiveRun(project / "state", project, command=["x"]):
    print(flush=True)
    sys.stdin.read()
"""


def sleeper(**variables: str) -> subprocess.Popen[bytes]:
    env = {name: value for name, value in os.environ.items() if name != MARK} | variables
    return subprocess.Popen(["sleep", "300"], start_new_session=True, env=env)


def test_what_left_its_session_ends_with_the_host(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", HOST, str(tmp_path)]
    with subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        host.stdout.readline()
        guardians = psutil.Process(host.pid).children()
        assert guardians, "nobody guards a run that has no shell"
        left = sleeper(**{MARK: str(tmp_path)})
        others = [sleeper(), sleeper(**{MARK: f"{tmp_path}/other"}), sleeper(NOT=f"{MARK}={tmp_path}")]
        try:
            host.kill()
            assert left.wait(20) < 0
            until(lambda: not any(map(psutil.Process.is_running, guardians)))
            assert [each.poll() for each in others] == [None] * 3
        finally:
            for each in (left, *others):
                each.kill()
                each.wait()


def test_a_run_that_ends_in_order_leaves_no_guardian(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", HOST, str(tmp_path)]
    with subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        host.stdout.readline()
        guardians = psutil.Process(host.pid).children()
        host.communicate()
    assert host.returncode == 0
    assert guardians
    assert not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in guardians)
