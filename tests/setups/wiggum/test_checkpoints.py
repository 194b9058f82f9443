"""Checkpoints in repositories of every condition: the work is kept, the index and the branch are respected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bridge.base.git.repository import Repository, find_repository
from bridge.base.git.work import WorkDetector
from bridge.errors import ConfigurationError
from bridge.loop.setups.wiggum.checkpoints import CheckpointResult, listed, make, restore
from bridge.loop.setups.wiggum.files import FILES
from bridge.loop.setups.wiggum.state import Checkpointing
from tests.setups.wiggum.project import Project, none_sleeps, unique_seconds

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.base.process.ask import Ran


def checkpoint(
    project: Project, number: int = 1, *, since: str | None = None, **settings: bool
) -> CheckpointResult:
    git = repository(project)
    since = git.head() if since is None else since
    return make(git, number, Checkpointing(**settings), run="run", since=since)


def repository(project: Project) -> Repository:
    found = find_repository(project.path, FILES)
    assert found is not None
    return found


def test_untracked_staged_changed_and_deleted_files_are_kept(project: Project) -> None:
    project.write("staged.txt", "staged\n")
    project.git("add", "staged.txt")
    project.write("new folder/ünïcode \t\n.txt", "new\n")
    project.write("PROMPT.md", "changed\n")
    (project.path / "fix_plan.md").unlink()
    made = checkpoint(project)
    assert made.warning == ""
    names = set(project.git("show", "--format=", "--name-only", "-z", made.commit).split("\0")) - {""}
    assert names == {"staged.txt", "new folder/ünïcode \t\n.txt", "PROMPT.md", "fix_plan.md"}
    assert project.git("status", "--porcelain") == ""


def test_no_empty_commits_unless_asked_for(project: Project) -> None:
    assert checkpoint(project) == CheckpointResult()
    project.write("progress.txt", "## Iteration 1\n")
    assert checkpoint(project) == CheckpointResult(), "progress.txt alone is no work"
    assert project.commits == ["init"]
    assert checkpoint(project, allow_empty=True).commit
    assert project.commits == ["ralph: checkpoint iteration 1", "init"]


def test_no_checkpoints_when_they_are_off_or_there_is_no_repository(project: Project) -> None:
    project.write("new.txt", "new\n")
    assert checkpoint(project, enabled=False) == CheckpointResult()
    assert make(None, 1, Checkpointing(), run="run", since="") == CheckpointResult()


def test_a_commit_of_the_agents_own_is_a_checkpoint(project: Project) -> None:
    before = repository(project).head()
    project.write("new.txt", "new\n")
    project.git("add", "-A")
    project.git("commit", "--quiet", "-m", "Add new")
    made = checkpoint(project, 4, since=before)
    assert [(each.iteration, each.commit, each.kind) for each in listed(repository(project))] == [
        (4, made.commit, "agent")
    ]


def test_the_reason_is_gits_error_and_not_its_advice(project: Project) -> None:
    project.git("config", "commit.gpgsign", "true")
    project.git("config", "gpg.program", "false")
    project.write("untracked.txt", "untracked\n")
    assert "gpg failed to sign" in checkpoint(project).warning


@pytest.mark.parametrize("no_verify", [False, True])
def test_commit_hooks_are_heeded_unless_told_otherwise(project: Project, no_verify: bool) -> None:
    project.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n", 0o755)
    project.write("staged.txt", "staged\n")
    project.git("add", "staged.txt")
    project.write("untracked.txt", "untracked\n")
    made = checkpoint(project, no_verify=no_verify)
    assert (len(project.commits) == 2) == no_verify
    assert project.git("show", f"{made.commit}:untracked.txt") == "untracked\n"
    if not no_verify:
        assert "was not committed" in made.warning
        assert project.git("status", "--porcelain").splitlines() == ["A  staged.txt", "?? untracked.txt"], (
            "as it was"
        )
        assert listed(repository(project))[0].kind == "snapshot"


def test_a_merge_under_way_is_not_concluded(project: Project) -> None:
    project.git("checkout", "--quiet", "-b", "other")
    project.write("PROMPT.md", "theirs\n")
    project.git("commit", "--quiet", "-am", "theirs")
    project.git("checkout", "--quiet", "main")
    project.write("PROMPT.md", "ours\n")
    project.git("commit", "--quiet", "-am", "ours")
    with pytest.raises(Exception, match="merge"):
        project.git("merge", "other")
    project.write("new.txt", "new\n")
    made = checkpoint(project)
    assert "MERGE_HEAD under way" in made.warning
    assert project.git("show", f"{made.commit}:new.txt") == "new\n"
    assert (project.path / ".git" / "MERGE_HEAD").exists()
    assert "UU PROMPT.md" in project.git("status", "--porcelain")
    with pytest.raises(ConfigurationError, match="MERGE_HEAD"):
        restore(repository(project), listed(repository(project))[0], stamp="x")


def test_the_first_commit_of_a_repository_may_be_a_checkpoint(project: Project, tmp_path: Path) -> None:
    project.path = tmp_path / "unborn"
    project.write("a.txt", "a\n")
    project.git("init", "--quiet")
    made = checkpoint(project)
    assert project.commits == ["ralph: checkpoint iteration 1"]
    assert made.commit


def test_who_has_no_name_gets_one(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("user.name", "user.email"):
        project.git("config", "--unset", name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("HOME", str(tmp_path))
    project.git("config", "user.useConfigOnly", "true")
    project.write("new.txt", "new\n")
    assert checkpoint(project).warning == ""
    assert project.git("log", "-1", "--format=%an") == "ralph-bridge\n"


def test_the_loops_own_files_are_no_part_of_it(project: Project) -> None:
    project.keep()
    project.write(".claude/ralph/logs/x.log", "x")
    project.write("new.txt", "new\n")
    made = checkpoint(project)
    assert project.git("show", "--format=", "--name-only", made.commit) == "new.txt\n"


def test_a_project_below_the_top_of_its_repository(project: Project) -> None:
    project.write("packages/app/PROMPT.md", "x\n")
    project.write("packages/app/.claude/ralph-state.json", "{}")
    project.write("packages/lib/code.txt", "x\n")
    git = find_repository(project.path / "packages" / "app", FILES)
    assert git is not None
    made = make(git, 1, Checkpointing(), run="run", since=git.head())
    names = project.git("show", "--format=", "--name-only", made.commit).split()
    assert names == ["packages/app/PROMPT.md", "packages/lib/code.txt"]


def test_a_worktree_of_its_own(project: Project, tmp_path: Path) -> None:
    project.git("worktree", "add", "--quiet", str(tmp_path / "tree"), "-b", "tree")
    project.path = tmp_path / "tree"
    project.write("new.txt", "new\n")
    assert checkpoint(project).warning == ""
    assert project.commits[0] == "ralph: checkpoint iteration 1"


def test_restore_brings_files_back_and_loses_nothing(project: Project) -> None:
    project.write("work.txt", "one\n")
    checkpoint(project, 1)
    project.write("work.txt", "two\n")
    project.write("later/deep.txt", "later\n")
    project.write("progress.txt", "## Iteration 2\n")
    checkpoint(project, 2)
    project.write("work.txt", "unsaved\n")
    project.write("untracked.txt", "untracked\n")
    project.write(".claude/ralph-state.json", "{}")
    git = repository(project)
    done = restore(git, listed(git)[0], stamp="now")
    assert project.read("work.txt") == "one\n"
    assert not (project.path / "later").exists()
    assert project.read("untracked.txt") == "untracked\n"
    assert project.read("progress.txt") == "## Iteration 2\n"
    assert project.read(".claude/ralph-state.json") == "{}"
    assert (done.changed, git.head()) == (2, listed(git)[1].commit)
    assert project.git("show", f"{done.saved}:work.txt") == "unsaved\n"
    assert project.git("show", f"{done.saved}:untracked.txt") == "untracked\n"
    restore(git, listed(git)[1], stamp="then")
    assert project.read("work.txt") == "two\n"
    assert project.read("later/deep.txt") == "later\n"


@pytest.mark.parametrize(
    ("now", "kept"), [("kept", "kept"), ("kept/deep/x.txt", "kept/deep/x.txt"), ("kept/x.txt", "kept/x.txt")]
)
@pytest.mark.parametrize("then", ["kept", "kept/x.txt"])
def test_req_rw_110_an_ignored_file_in_the_way_of_a_restore_is_kept(
    project: Project, now: str, kept: str, then: str
) -> None:
    project.write(then, "one\n")
    checkpoint(project, 1)
    project.git("rm", "--quiet", "--cached", then)
    (project.path / then).unlink()
    if "/" in then:
        (project.path / "kept").rmdir()
    project.write(".gitignore", "bin/\n/kept\n")
    project.git("add", ".gitignore")
    project.git("commit", "--quiet", "-m", "ignore")
    project.write(now, "precious\n")
    git = repository(project)
    done = restore(git, listed(git)[0], stamp="now")
    assert project.read(then) == "one\n"
    there = project.path / now
    still = there.is_file() and there.read_text() == "precious\n"
    assert still or project.git("show", f"{done.saved}:{kept}") == "precious\n"


def test_req_rw_108_work_in_a_repository_inside_is_work(project: Project) -> None:
    """As in a submodule, or in a workspace of several repositories (pain 2)."""
    project.write("inner/file.txt", "one\n")
    inner = Project(project.path / "inner")
    inner.repository()
    project.git("-c", "advice.addEmbeddedRepo=false", "add", "inner")
    project.git("commit", "--quiet", "-m", "inner")
    probe = WorkDetector(project.path, FILES)
    first = probe.look()
    assert probe.changed(first, probe.look()) is False
    inner.write("file.txt", "two\n")
    second = probe.look()
    assert probe.changed(first, second) is True
    inner.write("file.txt", "three\n")
    assert probe.changed(second, probe.look()) is True


def test_a_commit_hook_that_takes_too_long_is_ended_and_leaves_no_lock(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = unique_seconds()
    project.write(".git/hooks/pre-commit", f"#!/bin/sh\nsleep {mark}\n", 0o755)
    project.write("work.txt", "work\n")
    given = Repository.run

    def run(git: Repository, *arguments: str, **more: Any) -> Ran:
        monkeypatch.setattr(Repository, "_patience", 0.5 if arguments[0] == "commit" else 100)
        return given(git, *arguments, **more)

    monkeypatch.setattr(Repository, "run", run)
    made = checkpoint(project)
    assert "took longer than" in made.warning
    assert project.git("show", f"{made.commit}:work.txt") == "work\n"
    assert not (project.path / ".git/index.lock").exists()
    assert none_sleeps(mark)


def test_as_commands(project: Project) -> None:
    assert project.wiggum("checkpoints").stdout == "there are no checkpoints\n"
    project.claude("work; [ $TURN != 2 ] || promise")
    project.wiggum("start", "--no-live")
    assert [line.split()[0] for line in project.wiggum("checkpoints").stdout.splitlines()] == ["1", "2"]
    assert "restored checkpoint 1" in project.wiggum("restore", "1").stdout
    assert project.read("work.txt") == "turn 1\n"
    refused = project.wiggum("restore", "7")
    assert (refused.returncode, "there are: 1, 2" in refused.stderr) == (2, True)


def test_what_can_t_be_added_doesn_t_keep_out_the_rest(project: Project) -> None:
    project.write("nested/file.txt", "x\n")
    project.write("work.txt", "work\n")
    project.git("init", "--quiet", "nested")
    made = checkpoint(project)
    assert "lacks something: error: 'nested/'" in made.warning
    assert project.git("show", "HEAD:work.txt") == "work\n"


def test_an_agent_that_cleans_up_everything_ignored_ends_nothing(project: Project) -> None:
    project.claude("work; rm -rf .claude; [ $TURN != 2 ] || promise")
    assert project.wiggum("start", "--no-live").returncode == 0
    assert (project.state["iteration"], project.state["outcome"]) == (2, "complete")
