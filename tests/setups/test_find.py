"""Which folder is the project, and the commands from a folder below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.loop.setups.projects import project_above

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import MakeProject, Project

DEEP = "src/deep"


@pytest.mark.parametrize("sign", [".ralph/", "PROMPT.md", ".claude/ralph-state.json", ".claude/ralph/"])
def test_the_nearest_folder_with_a_loops_files(tmp_path: Path, sign: str) -> None:
    deep = tmp_path / "project" / "a" / "b"
    deep.mkdir(parents=True)
    assert project_above(deep, home=tmp_path) == deep
    path = tmp_path / "project" / sign
    path.parent.mkdir(exist_ok=True)
    path.mkdir() if sign.endswith("/") else path.touch()
    assert project_above(deep, home=tmp_path) == tmp_path / "project"
    (deep / "PROMPT.md").touch()
    assert project_above(deep, home=tmp_path) == deep


def test_no_further_than_the_repository_and_not_into_home(tmp_path: Path) -> None:
    (tmp_path / ".ralph").mkdir()
    deep = tmp_path / "repository" / "a"
    deep.mkdir(parents=True)
    assert project_above(deep, home=tmp_path) == deep
    assert project_above(tmp_path, home=tmp_path) == tmp_path
    assert project_above(deep, home=None if tmp_path == deep else deep / "x") == tmp_path
    (tmp_path / "repository" / ".git").mkdir()
    assert project_above(deep, home=deep / "x") == deep


def test_the_loops_own_folder_is_no_project(tmp_path: Path) -> None:
    (tmp_path / ".ralph" / "logs").mkdir(parents=True)
    (tmp_path / ".ralph" / "PROMPT.md").touch()
    for folder in (tmp_path / ".ralph", tmp_path / ".ralph" / "logs"):
        assert project_above(folder, home=tmp_path / "x") == tmp_path


def test_paths_are_seen_from_where_the_user_is(make_project: MakeProject) -> None:
    loops = make_project("plain")
    loops.write(f"{DEEP}/mine.md", "Another prompt.\n")
    done = loops.run("run", "--prompt", "mine.md", "--dry-run", folder=DEEP)
    assert (done.returncode, "Another prompt." in done.stdout) == (0, True), done.stderr
    assert done.stderr.startswith(f"project: {loops.path} (")
    here = loops.run("run", "--dry-run")
    assert (here.returncode, "project: " in here.stderr) == (0, False)
    there = loops.run("run", "--project", "../..", "--dry-run", folder=DEEP)
    assert (there.returncode, "project: " in there.stderr) == (0, False)
    assert loops.run("run", "--project", ".", "--dry-run", folder=DEEP).returncode == 2, "as it is given"


def test_doctor_adopt_and_eject(make_project: MakeProject) -> None:
    loops = make_project("ralph-loop")
    controller = (loops.path / ".ralph/ralph").read_bytes()
    assert loops.run("doctor", folder=DEEP).stdout.startswith(f"{loops.path}\n")
    assert loops.run("adopt", folder=DEEP).returncode == 0
    assert (loops.path / ".ralph/ralph").read_bytes() != controller
    assert loops.run("eject", folder=DEEP).returncode == 0
    assert (loops.path / ".ralph/ralph").read_bytes() == controller


def test_wiggum_makes_no_second_project(make_project: MakeProject) -> None:
    loops = make_project("wiggum")
    loops.done_after("", loops.held)
    loop = loops.loop(folder=DEEP)
    loops.wait_until_up()
    second = loops.run("wiggum", "start", "--no-live", folder=DEEP)
    assert (second.returncode, f"process {loop.pid}" in second.stderr) == (4, True), second.stderr
    assert "the loop" in loops.run("wiggum", "stop", folder=DEEP).stdout
    loops.let_go()
    _, err = loop.communicate(timeout=60)
    assert (loop.returncode, err.startswith(f"project: {loops.path} (")) == (130, True), "stopped by hand"
    assert _files(loops) == ["code.txt"]
    assert loops.run("wiggum", "checkpoints", folder=DEEP).stdout.count("\n") >= 1


def _files(loops: Project) -> list[str]:
    return sorted(path.name for path in (loops.path / DEEP).iterdir())
