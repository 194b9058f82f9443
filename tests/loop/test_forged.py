"""A record lies where the agent writes: no process that it names is ended for that."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from bridge.base.process.leftovers import MARK
from bridge.base.process.table import environments_visible, has_open, identify
from bridge.loop.engine.lock import FILE as LOCK
from bridge.loop.engine.run_record import FILE, begin_run, end_leftovers, read_run
from bridge.loop.setups.wiggum.controls import stop
from bridge.loop.setups.wiggum.files import Layout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.base.process.table import Identity

pytestmark = pytest.mark.skipif(not environments_visible(), reason="environments can't be seen here")


@contextmanager
def _sleeper(**variables: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "300"], start_new_session=True, env=os.environ | variables)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _names(folder: Path, agent: Identity, loop: Identity) -> None:
    """Have the record of a run name these processes."""
    begin_run(folder, command=["run"], now=0.0, tool="agent x")
    path = folder / FILE
    record = json.loads(path.read_text()) | loop._asdict() | {"agent": agent._asdict(), "end": None}
    path.write_text(json.dumps(record))


def test_a_process_of_the_user_s_isn_t_taken_for_what_a_run_left(tmp_path: Path) -> None:
    with _sleeper() as victim, _sleeper(**{MARK: str(tmp_path)}) as left:
        _names(tmp_path, identify(victim.pid), identify(victim.pid))
        assert end_leftovers(tmp_path, read_run(tmp_path)), "what carries the mark is ended"
        assert left.wait(10) < 0
        assert victim.poll() is None


def test_wiggum_stop_ends_only_who_holds_the_lock(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.folder.mkdir(parents=True)
    with _sleeper() as victim, open(layout.folder / LOCK, "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _names(layout.folder, identify(victim.pid), identify(victim.pid))
        assert stop(layout, at_once=True).message == "the loop ends before its next turn"
        assert victim.poll() is None
        assert layout.cancel.exists()


def test_who_has_a_file_open(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    with open(path, "rb") as file:
        holder = [sys.executable, "-c", "print(flush=True); input()"]
        pipe = subprocess.PIPE
        with subprocess.Popen(holder, stdin=pipe, stdout=pipe, pass_fds=[file.fileno()]) as it:
            assert it.stdout is not None
            it.stdout.readline()
            assert has_open(it.pid, path)
            assert not has_open(it.pid, tmp_path / "other")
            it.kill()
