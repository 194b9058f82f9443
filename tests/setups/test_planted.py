"""Links and FIFOs that a stranger has put into a project: whoever looks says so, and other loops go on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.examples import SETUPS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import MakeProject, Project


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "canary").write_text("what belongs to the user\n")
    return folder


@pytest.fixture(params=SETUPS)
def loops(request: pytest.FixtureRequest, make_project: MakeProject) -> Project:
    return make_project(request.param)


def _state(loops: Project) -> Path:
    loops.state.mkdir(parents=True, exist_ok=True)
    return loops.state


def test_doctor_names_what_was_planted(loops: Project, outside: Path) -> None:
    state = _state(loops)
    (state / "x.json").symlink_to(outside / "canary")
    os.mkfifo(state / "y.log")
    (state / "z.json").symlink_to("elsewhere.json")
    done = loops.run("doctor")
    names = [os.path.relpath(state / name, loops.path) for name in ("x.json", "y.log")]
    told = f"{names[0]} leads out of the project, to {outside / 'canary'}; {names[1]} is no file"
    assert f"no link leads the loop out of the project ({told})" in done.stdout
    assert f"next: rm {' '.join(names)}\n" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize("words", [("status",), ("watch", "--once"), ("reset",)])
def test_what_lies_in_the_place_of_the_lock_is_named(loops: Project, words: tuple[str, ...]) -> None:
    lock = _state(loops) / ".ralph_bridge.lock"
    os.mkfifo(lock)
    done = loops.run(*words)
    assert (done.returncode, f"{lock} is a FIFO" in done.stderr, "next: " in done.stderr) == (4, True, True)


@pytest.mark.parametrize("kind", [each.setup for each in SETUPS.values() if not each.counts_on])
def test_a_claude_folder_that_is_linked_is_the_user_s(kind: str, outside: Path, make_project: MakeProject) -> None:
    loops = make_project(kind)
    (loops.path / ".claude").symlink_to(outside)
    assert loops.run("status").returncode == 0
    with loops.loop() as loop:
        _, told = loop.communicate(timeout=60)
    assert loop.returncode != 4, told
    assert [each.name for each in outside.iterdir()] == ["canary"]
    assert "! no link leads the loop out" in loops.run("doctor").stdout


def test_who_has_a_wiggum_loop_alone_is_told_why_it_is_not_seen(outside: Path, make_project: MakeProject) -> None:
    loops = make_project("wiggum")
    (loops.path / ".claude").symlink_to(outside)
    done = loops.run("status")
    assert (done.returncode, f"{loops.path / '.claude'} is a symbolic link that leads out" in done.stderr) == (
        4,
        True,
    )


def test_a_setup_that_lies_elsewhere_is_refused(tmp_path: Path, make_project: MakeProject) -> None:
    loops = make_project("ralph-loop")
    (tmp_path / "home").mkdir()
    (loops.path / ".ralph").rename(tmp_path / "home" / ".ralph")
    (loops.path / "ralph").symlink_to(tmp_path / "home" / ".ralph" / "ralph")
    for words in (("run", "plan"), ("status",), ("adopt",), ("doctor",)):
        done = loops.run(*words)
        assert done.returncode == 4, (words, done)
        assert "its controller is a link out of it" in done.stderr
        assert f"next: start {tmp_path / 'home' / '.ralph' / 'ralph'} itself" in done.stderr
    assert not (tmp_path / "home" / ".ralph" / "logs").exists()


def test_scripts_that_are_linked_are_a_setup(tmp_path: Path, make_project: MakeProject) -> None:
    loops = make_project("ralph-loop")
    (loops.path / ".ralph" / "agents").rename(tmp_path / "agents")
    (loops.path / ".ralph" / "agents").symlink_to(tmp_path / "agents")
    assert loops.run("adopt").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", [".gitignore", ".git/info/exclude", "src/.gitignore"])
def test_a_fifo_that_git_reads_ends_the_start(name: str, make_project: MakeProject) -> None:
    loops = make_project("plain")
    path = loops.path / name
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    with loops.loop() as loop:
        _, told = loop.communicate(timeout=60)
    says = "is no file" if name == ".git/info/exclude" else "is a FIFO, and git waits for it"
    assert (loop.returncode, f"{path} {says}" in told) == (4, True), told
