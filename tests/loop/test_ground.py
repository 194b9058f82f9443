"""What keeps agents from committing, or their commits from being found: told before the first turn."""

from __future__ import annotations

import os
import subprocess
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bridge.base.git.left_open import git_dir, locks, remove_stale_locks
from bridge.base.git.repository import Repository
from bridge.loop.engine.stages.ground import GitLock, Ground

if TYPE_CHECKING:
    from pathlib import Path

NOBODY = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
SOMEBODY = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    _git(tmp_path, "init", "-q", "-b", "main", str(made))
    _git(made, "commit", "-q", "--allow-empty", "-m", "first")
    return made


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env=NOBODY | SOMEBODY, check=True)


def _told(project: Path, **more: str) -> list[str]:
    repository = Repository(project, env=NOBODY | {"HOME": str(project)} | more)
    loop: Any = SimpleNamespace(repository=repository, settings=SimpleNamespace(project=project))
    return [*Ground(loop).open()]


def test_nothing_is_told_of_a_repository_in_order_or_of_none(project: Path, tmp_path: Path) -> None:
    assert _told(project, **SOMEBODY) == []
    assert _told(tmp_path) == []


def test_a_detached_head_below_the_top(project: Path) -> None:
    _git(project, "checkout", "-q", "--detach")
    (project / "packages").mkdir()
    assert ["detached HEAD" in each for each in _told(project / "packages", **SOMEBODY)] == [True]


def test_no_identity(project: Path) -> None:
    told = _told(project, GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="user.useConfigOnly", GIT_CONFIG_VALUE_0="true")
    assert ["agents can't commit" in each for each in told] == [True]


def test_a_repository_of_another_user(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.lstat(project / ".git").st_uid + 1)
    told = _told(project, GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
    assert [f"safe.directory {project}" in each for each in told] == [True]
    monkeypatch.undo()
    if os.geteuid() == 0:
        assert _told(project, **SOMEBODY) == []
        os.chown(project / ".git", 12345, 12345)
        assert ["safe.directory" in each for each in _told(project)] == [True]


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/main.lock", "packed-refs.lock"])
def test_a_lock(project: Path, name: str) -> None:
    (project / ".git" / name).touch()
    assert [f"{name}: nobody can commit" in each for each in _told(project, **SOMEBODY)] == [True]
    assert remove_stale_locks(project / ".git", since=9e9) == []
    assert remove_stale_locks(project / ".git", since=0.0) == [name]
    assert _told(project, **SOMEBODY) == []


def test_a_lock_of_a_turn_whose_host_was_killed(project: Path) -> None:
    (project / ".git/index.lock").touch()

    def told(**before: object) -> list[str]:
        active = SimpleNamespace(before=SimpleNamespace(**before) if before else None)
        loop: Any = SimpleNamespace(active=active, settings=SimpleNamespace(project=project))
        return [*GitLock(loop).open()]

    assert told() == told(end=object(), turn=3, turn_began=1.0) == told(end=None, turn=0, turn_began=0.0) == []
    assert told(end=None, turn=3, turn_began=9e9) == []
    assert ["turn 3 of the run before" in each for each in told(end=None, turn=3, turn_began=1.0)] == [True]
    assert not (project / ".git/index.lock").exists()


def test_a_lock_that_somebody_holds_is_left(project: Path) -> None:
    with (project / ".git/HEAD.lock").open("w"):
        assert remove_stale_locks(project / ".git", since=0.0) == []


def test_locks_of_a_work_tree_and_of_what_it_shares(project: Path, tmp_path: Path) -> None:
    _git(project, "worktree", "add", "-q", str(tmp_path / "other"))
    folder = git_dir(tmp_path / "other")
    made = [folder / "index.lock", project / ".git/refs/heads/other.lock"]
    for each in made:
        each.touch()
    assert {each.resolve() for each in locks(folder)} == {each.resolve() for each in made}


def test_a_head_that_leads_out_of_the_folder_names_no_lock(project: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.lock").touch()
    (project / ".git/HEAD").write_text("ref: refs/heads/../../../../mine\n")
    assert locks(project / ".git") == []


def test_an_empty_git_folder_above_is_no_repository(project: Path, tmp_path: Path) -> None:
    """CLIs' own sandboxes put one into /tmp while they run; git goes by the next one above, if there is any."""
    for top in (tmp_path, project):
        (top / "sub/.git").mkdir(parents=True)
        (top / "sub/project").mkdir()
    assert _told(tmp_path / "sub/project") == []
    assert _told(project / "sub/project")[0].startswith("git has no user.name")
    asked = subprocess.check_output(
        ["git", "rev-parse", "--absolute-git-dir"], cwd=project / "sub/project", text=True
    )
    assert git_dir(project / "sub/project").samefile(asked.strip())
