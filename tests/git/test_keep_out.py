"""A loop's own state is never part of what an agent commits, in any kind of setup."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.base.git.ignore import keep_out
from bridge.base.git.repository import Files, Repository

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Project

OWN = Files(is_own=lambda path: path.startswith(("state/.ralph_bridge", "state/logs/")), own=("state/mine.json",))


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "state/logs").mkdir(parents=True)
    (tmp_path / "state/.ralph_bridge.json").write_text("{}")
    (tmp_path / "state/logs/turns.jsonl").write_text("")
    return tmp_path


def test_a_folder_of_ours_alone_has_git_pass_over_it(project: Path) -> None:
    assert keep_out(project, project / "state", OWN) == ""
    assert (project / "state/.gitignore").read_text() == "*\n"
    assert git(project, "status", "--porcelain") == ""


def test_a_folder_that_others_may_use_stays_open_to_git(project: Path) -> None:
    assert keep_out(project, project / "state", OWN._replace(shared=True)) == ""
    assert git(project, "status", "--porcelain") == ""
    (project / "state/later.md").write_text("x")
    assert git(project, "status", "--porcelain", "-uall") == "?? state/later.md\n"


@pytest.mark.parametrize("where", ["app/[id]", "a*b", "c\\d/e?"])
def test_in_a_part_of_a_repository_whose_name_has_a_patterns_signs(project: Path, where: str) -> None:
    part = project / where
    (part / "state/logs").mkdir(parents=True)
    (part / "state/.ralph_bridge.json").write_text("{}")
    (part / "state/yours.md").write_text("x")
    files = OWN._replace(own=("state/.ralph_bridge*", "state/mine.json"), shared=True)
    repository = Repository(part, files)
    (part / "state/mine.json").write_text("x")
    own = git(project, "ls-files", "--others", "-z", "--", *repository.own(""))
    assert {each.rpartition("/")[2] for each in own.split("\0")} == {".ralph_bridge.json", "mine.json", ""}
    assert keep_out(part, part / "state", files) == ""
    assert git(part, "status", "--porcelain", "-uall", "-z", ".") == f"?? {where}/state/yours.md\0"
    (project / ".git/info/exclude").unlink()
    repository.exclude(*files.own)
    assert git(part, "status", "--porcelain", "-uall", "-z", ".") == f"?? {where}/state/yours.md\0"


def test_state_among_the_users_files_is_excluded_by_the_repository(project: Path) -> None:
    for name in ("mine.json", "yours.md"):
        (project / "state" / name).write_text("x")
    (project / ".git/info").mkdir(exist_ok=True)
    (project / ".git/info/exclude").write_text("*.bak")  # without an end of line
    for _ in range(2):
        assert keep_out(project, project / "state", OWN) == ""
    assert git(project, "status", "--porcelain", "-uall") == "?? state/yours.md\n"
    lines = (project / ".git/info/exclude").read_text().splitlines()
    assert lines[0] == "*.bak"
    assert len(lines) == len(set(lines))


def test_below_the_top_of_the_repository_and_in_a_work_tree(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    below = project / "a b/project"
    (below / "state/logs").mkdir(parents=True)
    for name in ("state/.ralph_bridge.json", "state/logs/turns.jsonl", "state/yours.md"):
        (below / name).write_text("x")
    assert keep_out(below, below / "state", OWN) == ""
    assert git(below, "status", "--porcelain", "-uall", ".") == '?? "a b/project/state/yours.md"\n'
    git(project, "commit", "-q", "--allow-empty", "-m", "one")
    tree = tmp_path_factory.mktemp("trees") / "tree"
    git(project, "worktree", "add", "-q", str(tree))
    (tree / "state/logs").mkdir(parents=True)
    (tree / "state/yours.md").write_text("x")
    (tree / "state/.ralph_bridge.json").write_text("{}")
    assert keep_out(tree, tree / "state", OWN) == ""
    assert git(tree, "status", "--porcelain", "-uall") == "?? state/yours.md\n"


def test_what_can_t_be_written_is_told(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (project / "state/yours.md").write_text("x")
    (project / ".git/info/exclude").unlink(missing_ok=True)
    (project / ".git/info").mkdir(exist_ok=True)
    (project / ".git/info/exclude").symlink_to(tmp_path_factory.mktemp("elsewhere") / "exclude")
    assert "doctor --fix" in keep_out(project, project / "state", OWN)


def test_an_agent_that_commits_everything_commits_none_of_it(example: Project) -> None:
    """The state files that the loop has written by then are in no commit."""
    example.turns(otherwise="work; git add -A && git commit -qm all")
    loop = example.start("--max-iterations", "2")
    loop.finished()
    committed = git(example.path, "log", "--all", "--name-only", "--format=").splitlines()
    assert committed
    assert [each for each in committed if ".ralph_bridge" in each or "turns.jsonl" in each] == []


def test_nor_does_a_loop_that_is_refused_at_its_start_leave_any(example: Project) -> None:
    example.env["RALPH_BRIDGE_MAX_COST"] = "0"
    subprocess.run(["git", "add", "-A"], cwd=example.path, check=True)
    loop = example.start()
    loop.finished()
    assert "max_cost is 0.0, expected a number, more than 0" in loop.said
    left = [
        line for line in git(example.path, "status", "--porcelain", "-uall").splitlines() if ".ralph_bridge" in line
    ]
    assert not left
