"""A watched process: alive, a zombie, reaped; with a descriptor of its own and where the system has none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bridge.base.process.ladder import Watch


@pytest.fixture(params=["pidfd", "waitid", "reaping"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "pidfd" and not hasattr(os, "pidfd_open"):
        pytest.skip("no pidfd here")
    if request.param != "pidfd":
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    if request.param == "reaping":
        monkeypatch.delattr(os, "waitid", raising=False)
    return str(request.param)


@pytest.mark.usefixtures("way")
def test_a_child_has_ended_before_it_is_reaped() -> None:
    child = subprocess.Popen(["sleep", "60"])
    watch = Watch(child.pid, child)
    try:
        assert not watch.ended()
        begun = time.monotonic()
        assert not watch.wait(0.1)
        assert time.monotonic() - begun >= 0.1
        child.send_signal(signal.SIGTERM)
        assert watch.wait(10)
        assert watch.ended()
    finally:
        child.kill()
        child.wait()
        watch.close()
        watch.close()
    assert watch.ended()
    assert child.returncode == -signal.SIGTERM


@pytest.mark.usefixtures("way")
def test_a_process_of_somebody_else_ends_when_it_is_gone() -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL).pid)"
    pid = int(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout)
    watch = Watch(pid)
    assert not watch.ended()
    os.kill(pid, signal.SIGKILL)
    reaper = time.monotonic() + 10
    while not watch.wait(0.1) and time.monotonic() < reaper:
        pass
    ended = watch.ended()
    watch.close()
    if not ended:
        pytest.skip("nobody reaps orphans here, and nothing but that shows their end")


@pytest.mark.usefixtures("way")
def test_several_threads_may_watch_one_process() -> None:
    child = subprocess.Popen(["sleep", "60"])
    watch = Watch(child.pid, child)
    try:
        with ThreadPoolExecutor() as pool:
            waiting = [pool.submit(watch.wait, 0.3) for _ in range(3)]
            assert not watch.ended()
            assert [each.result() for each in waiting] == [False] * 3
    finally:
        child.kill()
        child.wait()
        watch.close()


def test_what_has_never_been_has_ended() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    watch = Watch(child.pid)
    assert watch.wait(0)
    watch.close()
