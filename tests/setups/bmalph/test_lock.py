"""One loop per project, with real processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bridge.errors import ProjectBusy, ProjectUnusable
from bridge.loop.engine import lock, run_record
from tests.cli.conftest import _drop_right_to_read_everything
from tests.setups.bmalph.conftest import NOW

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.setups.bmalph.conftest import Project

HOLDER = """
import sys, time
from bridge.loop.engine import lock, run_record
from bridge.loop.setups.dot_ralph.folder import locate
folder = locate(sys.argv[1], {})
with lock.one_loop(folder.path, folder.project):
    run_record.begin_run(folder.path, command=["ralph-bridge", "run"], now=time.time())
    print("held", flush=True)
    sys.stdin.read()
"""


def start(project: Project) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(project.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=project.environment(),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_t16_a_second_loop_is_refused_and_told_who_holds_it(project: Project) -> None:
    with start(project) as process:
        with pytest.raises(ProjectBusy) as raised, lock.one_loop(project.folder.path, project.path):
            pytest.fail("two loops")
        for said in (f"process {process.pid}", "since 2", "command: ralph-bridge run", f"kill {process.pid}"):
            assert said in str(raised.value)
        assert raised.value.exit_code == 4
        assert lock.is_locked(project.folder.path)
        held = lock.holder(project.folder.path)
        assert held is not None
        assert held.pid == process.pid
        process.communicate("")
    assert not lock.is_locked(project.folder.path)


def test_t16_the_lock_goes_with_a_killed_holder(project: Project) -> None:
    with start(project) as process:
        process.send_signal(signal.SIGKILL)
    assert lock.holder(project.folder.path) is None
    with lock.one_loop(project.folder.path, project.path):
        run = run_record.begin_run(project.folder.path, command=["x"], now=NOW)
        assert lock.holder(project.folder.path) == run


def test_a_child_that_lives_on_does_not_hold_it(project: Project) -> None:
    with lock.one_loop(project.folder.path, project.path):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        assert not lock.is_locked(project.folder.path)
    finally:
        child.kill()
        child.wait()


def test_looking_creates_nothing(project: Project) -> None:
    before = project.files()
    assert not lock.is_locked(project.folder.path)
    assert project.files() == before


def test_a_folder_that_is_not_there(project: Project) -> None:
    (project.path / ".ralph/PROMPT.md").unlink()
    (project.path / ".ralph").rmdir()
    with (
        pytest.raises(ProjectUnusable, match=r"\.ralph_bridge\.lock"),
        lock.one_loop(project.folder.path, project.path),
    ):
        pytest.fail("no folder")
    assert not (project.path / ".ralph").exists()


def test_a_folder_that_may_not_be_written_to(project: Project) -> None:
    os.chmod(project.path / ".ralph", 0o555)
    code = (
        "import sys\nfrom bridge.loop.engine import lock\nfrom bridge.loop.setups.dot_ralph.folder import locate\n"
        "from bridge.errors import ProjectUnusable\n"
        "try:\n  with lock.one_loop((f := locate(sys.argv[1], {})).path, f.project): print('taken')\n"
        "except ProjectUnusable as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(project.path)],
        env=project.environment(),
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=_drop_right_to_read_everything,
    )
    os.chmod(project.path / ".ralph", 0o755)
    assert "can't be taken: Permission denied" in done.stdout
    assert "next: check that" in done.stdout


def test_t16_the_lock_outlives_a_git_clean(project: Project) -> None:
    with lock.one_loop(project.folder.path, project.path) as renew:
        for _ in range(2):
            (project.folder / lock.FILE).unlink(missing_ok=True)
            renew()
            assert lock.is_locked(project.folder.path)
            with pytest.raises(ProjectBusy), lock.one_loop(project.folder.path, project.path):
                pytest.fail("two loops")
            renew()
    assert not lock.is_locked(project.folder.path)


@pytest.mark.parametrize("gone", ["the lock", "the folder"])
def test_t16_a_second_loop_is_refused_before_it_is_taken_anew(project: Project, gone: str) -> None:
    with start(project) as process:
        if gone == "the folder":
            shutil.rmtree(project.folder.path)
            project.folder.path.mkdir()
        (project.folder / lock.FILE).unlink(missing_ok=True)
        for _ in range(2):  # the refused one has left a file of its own
            with (
                pytest.raises(ProjectBusy, match=f"process {process.pid}"),
                lock.one_loop(project.folder.path, project.path),
            ):
                pytest.fail("two loops")
        process.communicate("")
    with lock.one_loop(project.folder.path, project.path):
        pass


def test_t16_a_lock_that_was_replaced_is_taken_anew(project: Project) -> None:
    with lock.one_loop(project.folder.path, project.path) as renew:
        (project.folder / lock.FILE).unlink()
        (project.folder / lock.FILE).touch()
        renew()
        assert lock.is_locked(project.folder.path)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/etc/passwd", path)])
def test_what_is_no_file_in_its_place_holds_nobody_up_and_is_told_of(
    project: Project, make: Callable[[Path], None]
) -> None:
    make(project.folder / lock.FILE)
    with pytest.raises(ProjectUnusable, match=r"\.ralph_bridge\.lock (.|\n)*next: "):
        lock.is_locked(project.folder.path)
