"""What a run changed: real git, real files."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.base.git.repository import Files
from bridge.base.git.repository import Repository as Asked
from bridge.base.git.tree import (
    FileStat,
    TreeState,
    changed_paths,
    diff_summary,
    parse_numstat,
    parse_tree,
)
from bridge.loop.setups.dot_ralph.folder import is_own_state

if TYPE_CHECKING:
    from pathlib import Path


class Repository:
    """A repository that is asked for its state as the engine asks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.asked = Asked(path, Files(is_own=is_own_state))
        self.git("init", "-q")
        self.git("config", "user.email", "a@b.test")
        self.git("config", "user.name", "A")

    def git(self, *arguments: str) -> bytes:
        return subprocess.run(["git", *arguments], cwd=self.path, check=True, capture_output=True).stdout

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "x")

    def state(self) -> TreeState:
        found = self.asked.look()
        assert found is not None
        return found

    def changed(self, before: TreeState) -> set[str]:
        found = self.asked.changes(before)
        assert found is not None
        return set(found.paths)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    found = Repository(tmp_path)
    found.write("a.py", "1\n")
    found.write("old name.py", "".join(f"{number}\n" for number in range(9)))
    found.write(".ralph/@fix_plan.md", "- [ ] x\n")
    found.write(".ralph/status.json", "{}")
    found.commit()
    return found


def test_D18_a_new_file_counts(repository: Repository) -> None:  # noqa: N802
    before = repository.state()
    repository.write("dir/ü new.py", "x")
    assert repository.changed(before) == {"dir/ü new.py"}


def test_commits_count(repository: Repository) -> None:
    before = repository.state()
    repository.write("b.py", "x")
    repository.git("mv", "old name.py", "c.py")
    repository.commit()
    assert repository.changed(before) == {"b.py", "c.py", "old name.py"}  # gone under one name, new under the other


def test_a_renaming_in_the_index(repository: Repository) -> None:
    before = repository.state()
    repository.git("mv", "old name.py", "c.py")
    repository.write("d.py", "")
    assert repository.changed(before) == {"c.py", "d.py", "old name.py"}


def test_T6_the_loops_own_state_is_no_progress(repository: Repository) -> None:  # noqa: N802
    before = repository.state()
    for name in ("status.json", ".exit_signals", "logs/ralph.log", "live.log", ".response_analysis", ".run.lock"):
        repository.write(f".ralph/{name}", "x")
    repository.write(".response_analyzer.Ab3xYz", "x")
    assert repository.changed(before) == set()
    repository.commit()
    assert repository.changed(before) == set()
    repository.write(".ralph/@fix_plan.md", "- [x] x\n")
    assert repository.changed(before) == {".ralph/@fix_plan.md"}


def test_what_was_dirty_before_is_no_progress(repository: Repository) -> None:
    repository.write("a.py", "2\n")
    repository.write("mine.txt", "x")
    before = repository.state()
    assert repository.changed(before) == set()
    repository.write("a.py", "33\n")
    assert repository.changed(before) == {"a.py"}
    assert set(changed_paths(None, before)) == {"a.py", "mine.txt"}


def test_deleting_and_reverting_count(repository: Repository) -> None:
    repository.write("a.py", "2\n")
    before = repository.state()
    repository.git("checkout", "-q", "a.py")
    (repository.path / "old name.py").unlink()
    assert repository.changed(before) == {"a.py", "old name.py"}


def test_before_the_first_commit(tmp_path: Path) -> None:
    found = Repository(tmp_path)
    assert found.state() == TreeState()
    found.write("a", "x")
    assert (found.state().head, found.state().dirty) == ("", True)


@pytest.mark.parametrize(
    ("path", "folder", "own"),
    [
        (".ralph/status.json", ".ralph", True),
        ("state/status.json", "state", True),
        (".ralph/status.json", "app/.ralph", False),
        (".response_analyzer.x1", ".ralph", True),
        (".ralph/specs/status.json", ".ralph", False),
        (".ralph/PROMPT.md", ".ralph", False),
        ("status.json", ".ralph", False),
    ],
)
def test_own_state(path: str, folder: str, own: bool) -> None:
    assert is_own_state(path, folder) is own


def test_a_touched_or_staged_file_is_no_work(repository: Repository) -> None:
    repository.write("mine.txt", "x")
    repository.write("a.py", "2\n")
    before, look = repository.state(), repository.asked.fingerprint()
    os.utime(repository.path / "mine.txt", (1, 1))
    repository.write("a.py", "2\n")
    repository.git("add", "a.py")
    assert repository.changed(before) == set()
    assert repository.asked.moved(look, repository.asked.fingerprint()) is False


def test_a_project_in_a_folder_of_the_repository(repository: Repository) -> None:
    repository.write("app/.ralph/status.json", "{}")
    inside = Asked(repository.path / "app", Files(is_own=is_own_state))
    before = inside.look()
    repository.write("app/.ralph/status.json", "{...}")
    repository.write(".ralph/status.json", "{...}")  # not this project's
    found = inside.changes(before)
    assert found is not None
    assert found.paths == {".ralph/status.json"}


def test_no_lines_of_a_giant_are_counted(repository: Repository) -> None:
    """One that is a hole is made in no time, and read for hours."""
    before = repository.asked.look()
    os.truncate(repository.path / "a.py", 2 << 40)
    os.close(os.open(repository.path / "new", os.O_CREAT))
    os.truncate(repository.path / "new", 2 << 40)
    repository.write("b.py", "1\n")
    began = time.monotonic()
    found = repository.asked.changes(before)
    assert time.monotonic() - began < 60
    assert found is not None
    assert found.paths == {"a.py", "b.py", "new"}
    assert found.summary == "Changed: a.py (+0/-0), b.py (new), new (new)"


def test_the_diff_summary_of_a_repository(repository: Repository) -> None:
    repository.write("a.py", "1\n2\n")
    repository.git("mv", "old name.py", "c.py")
    (repository.path / "logo.png").write_bytes(b"\0\1")
    repository.git("add", "-A")
    stats = parse_numstat(repository.git("diff", "--numstat", "-z", "HEAD"))
    assert diff_summary(stats, ["b.py"]) == "Changed: a.py (+1/-0), c.py (+0/-0), b.py (new)"


def test_the_diff_summary_is_one_short_line() -> None:
    many = [FileStat(f"src/module_{number}.py", 10, 2) for number in range(20)]
    found = diff_summary([*many, *many])
    assert len(found) == 147
    assert found.endswith("...")
    assert diff_summary([]) == ""
    assert diff_summary([FileStat("a\nb", 1, 1)]) == "Changed: a b (+1/-1)"


@given(st.binary(max_size=80))
def test_no_bytes_raise(data: bytes) -> None:
    parse_tree(data.replace(b"|", b"\0"))
    parse_numstat(data.replace(b"|", b"\0").replace(b"!", b"\t"))


def test_work_inside_of_a_submodule_counts_each_time(repository: Repository, tmp_path: Path) -> None:
    inner = Repository(make(tmp_path / "nested"))
    inner.write("f", "1\n")
    inner.commit()
    repository.git("add", "nested")  # a gitlink, as `git submodule add` makes it
    repository.git("commit", "-qm", "nested")
    asked = Asked(tmp_path, env={**os.environ, "GIT_DIR": str(tmp_path / ".git"), "GIT_WORK_TREE": str(tmp_path)})
    for work in (lambda: inner.write("f", "22\n"), lambda: inner.write("f", "333\n"), inner.commit, None):
        before = asked.look()
        if work is not None:
            work()
        found = asked.changes(before)
        assert found is not None
        assert found.paths == ({"nested"} if work is not None else set())


@pytest.mark.parametrize("form", ["--index-version=2", "--index-version=4", "--split-index"])
def test_a_filter_of_a_submodule_is_no_program_for_us_in_any_form_of_index(
    repository: Repository, tmp_path: Path, form: str
) -> None:
    inner = Repository(make(tmp_path / "nested"))
    inner.write("f", "1\n")
    inner.write(".gitattributes", "f filter=a\n")
    inner.commit()
    repository.git("add", "nested")
    repository.git("commit", "-qm", "nested")
    repository.git("update-index", *form.replace("version=", "version ").split(" "))
    inner.git("config", "filter.a.clean", f"touch {tmp_path}/ran; cat")
    inner.write("f", "22\n")
    asked = Asked(tmp_path)
    before = asked.look()
    inner.write("f", "333\n")
    found = asked.changes(before)
    assert found is not None
    assert found.paths == {"nested"}
    assert not (tmp_path / "ran").exists()


def test_a_folder_in_the_place_of_a_file_is_no_repository(repository: Repository, tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    before = asked.look()
    (tmp_path / "a.py").unlink()
    (tmp_path / "a.py").mkdir()
    found = asked.changes(before)
    assert found is not None
    assert found.paths == {"a.py"}
    assert repository.git("status", "--porcelain") == b" D a.py\n"


def make(path: Path) -> Path:
    path.mkdir()
    return path


def test_no_other_repository_takes_the_place_of_a_deleted_one(tmp_path: Path) -> None:
    outside = Repository(tmp_path)
    outside.write("secret", "of others")
    project = tmp_path / "project"
    project.mkdir()
    Repository(project)
    asked = Asked(project)
    before = asked.look()
    (project / ".git").rename(project / "gone")
    assert asked.changes(before) is None
    assert not asked.commit("checkpoint", no_verify=True, allow_empty=True)[0].ok
    assert outside.asked.head() == ""
