"""Nothing that an agent can plant in a repository is run by commands that only look. Each plant leaves a mark."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bridge.base.git.immune import command_of, environment, outside, overrides, program
from bridge.base.git.repository import Repository
from bridge.errors import ProjectUnusable
from tests.cli.conftest import Project

_ENV = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
SETTINGS = {
    "fsmonitor": ["core.fsmonitor"],
    "pager": ["core.pager", "pager.status", "pager.diff"],
    "diff": ["diff.external", "diff.mine.command"],
    "textconv": ["diff.mine.textconv"],
    "clean": ["filter.mine.clean"],
    "smudge": ["filter.mine.smudge"],
    "process": ["filter.other.process"],
    "editor": ["core.editor", "sequence.editor"],
    "ssh": ["core.sshCommand"],
    "ask": ["core.askPass"],
    "gpg": ["gpg.program"],
    "interactive": ["interactive.diffFilter"],
}
HOOKS = ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "post-rewrite")


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *identity, *words], cwd=folder, env=_ENV, check=True, capture_output=True)


def planted(folder: Path, marks: Path) -> None:
    """Make a repository whose files name a program wherever they can, and change its files behind git's back."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    files = {folder / "a.txt": "1\n", folder / "b.bin": "1\n"}
    for path, text in files.items():
        path.write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    (folder / ".gitattributes").write_text("*.txt filter=mine diff=mine\n*.bin filter=other diff=mine\n")
    git(folder, "config", "log.showSignature", "true")
    for name, keys in SETTINGS.items():
        script = folder / ".git" / f"plant-{name}"
        script.write_text(f"#!/bin/bash\necho {folder.name} {name} >> {marks}\n")
        script.chmod(0o755)
        for key in keys:
            git(folder, "config", key, str(script))
    for name in HOOKS:
        hook = folder / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/bash\necho {folder.name} hook {name} >> {marks}\n")
        hook.chmod(0o755)
    for path in files:  # as large as they were, so that git has to read them
        path.write_text("2\n")
        os.utime(path, (1, 1))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    planted(folder / "inner", tmp_path / "marks")
    planted(folder / "inner/deep", tmp_path / "marks")
    subprocess.run(["git", "-c", "core.fsmonitor=", "add", "deep"], cwd=folder / "inner", env=_ENV, check=True)
    planted(folder, tmp_path / "marks")
    (tmp_path / "marks").unlink(missing_ok=True)
    return folder


def test_the_plants_work(project: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "status"], cwd=project, env=_ENV, check=False, capture_output=True)
    subprocess.run(["git", "diff"], cwd=project, env=_ENV, check=False, capture_output=True)
    found = (tmp_path / "marks").read_text()
    for name in ("project fsmonitor", "project clean", "inner fsmonitor", "inner clean"):
        assert name in found


def test_looking_runs_none_of_them(project: Path, tmp_path: Path) -> None:
    repository = Repository(project, env=_ENV)
    before = repository.look()
    assert before is not None
    assert {"a.txt", "b.bin", "inner"} <= before.marks.keys()
    (project / "a.txt").write_text("3\n")
    changes = repository.changes(before)
    assert changes is not None
    assert changes.paths == {"a.txt"}
    assert repository.fingerprint().tree is not None
    assert repository.stat("HEAD", lines=5)
    repository.head(), repository.branch(), repository.identity()
    for words in (["diff", "-p", "HEAD"], ["log", "-p", "-1"], ["show"], ["status"]):
        argv, env = repository.looking(words)
        subprocess.run(argv, cwd=project, env=env, check=True, capture_output=True)
    assert repository.keep("refs/ralph/x", repository.head())
    assert not (tmp_path / "marks").exists(), (tmp_path / "marks").read_text()


def test_no_hook_runs_where_something_is_checked_out(project: Path, tmp_path: Path) -> None:
    """Those of ``core.hooksPath`` may come with what is checked out."""
    subprocess.run(["git", "config", "--unset", "filter.other.process"], cwd=project, env=_ENV, check=True)
    repository = Repository(project, env=_ENV)
    assert repository.run("worktree", "add", "-q", "--no-checkout", "../tree").ok
    assert repository.run("checkout", "-q", "-b", "other").ok
    found = (tmp_path / "marks").read_text().split("\n") if (tmp_path / "marks").exists() else []
    assert not [each for each in found if "hook" in each]


def test_a_snapshot_runs_the_filters_of_the_repository_alone(project: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "config", "--unset", "filter.other.process"], cwd=project, env=_ENV, check=True)
    assert Repository(project, env=_ENV).snapshot("kept")
    assert set((tmp_path / "marks").read_text().splitlines()) == {"project clean"}


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--driver", "claude-code", "--max-iterations", "2"),
        ("status",),
        ("doctor",),
        ("report",),
        ("watch", "--once"),
    ],
)
def test_no_command_of_ours_does(project: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    made = Project(project)
    made.cli("claude", "echo work >> work.txt; echo done")
    made.write(".ralph/PROMPT.md", "Do it.\n")
    made.run(*words, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null")
    assert not (tmp_path / "marks").exists(), (tmp_path / "marks").read_text()


def test_overrides_leave_a_user_s_own_filters_in_force() -> None:
    mine = b"global\0filter.lfs.clean\ngit-lfs clean -- %f\0local\0filter.lfs.clean\n/tmp/evil\0"
    mine += b"local\0filter.x.clean\ny\0"
    inner = [b"local\0filter.lfs.clean\n/tmp/evil\0local\0filter.z.process\n/tmp/evil\0"]
    assert overrides(mine, inner, looks=True) == {
        "filter.lfs.clean": "git-lfs clean -- %f",
        "filter.x.clean": "",
        "filter.x.required": "false",
        "filter.z.process": "",
        "filter.z.required": "false",
    }
    assert overrides(mine, inner, looks=False) == {
        "filter.lfs.clean": "/tmp/evil", "filter.z.process": "", "filter.z.required": "false",
    }  # fmt: skip
    assert overrides(b"", [], looks=True) == {}


def test_hooks_that_a_configuration_names_are_switched_off() -> None:
    named = b"local\0hook.a.b.command\nx\0local\0hook.a.b.event\npre-commit\0"
    assert overrides(named, [], looks=False) == {"hook.a.b.enabled": "false", "hook.a.b.command": "true"}


def test_git_looks_into_no_repository_whose_folder_lies_elsewhere(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    for each in (project, project / "inner"):
        each.mkdir()
        git(each, "init", "-q")
        (each / "a").write_text("1\n")
        git(each, "add", "a")
        git(each, "commit", "-q", "-m", "first")
    git(project, "add", "inner")
    (project / "inner/.git").rename(elsewhere)
    (project / "inner/.git").write_text(f"gitdir: {elsewhere}\n")
    git(elsewhere, "config", "core.fsmonitor", f"touch {tmp_path}/marks; false")
    (project / "inner/a").write_text("2\n")
    seen = Repository(project, env=_ENV)
    trees = []
    for _ in range(2):
        tree = seen.look()
        assert tree is not None
        trees.append({*tree.marks})
    assert trees == [{"inner"}] * 2  # added, and not committed
    assert not (tmp_path / "marks").exists()


@pytest.mark.parametrize("name", ["index", "logs/HEAD", "info/exclude"])
def test_links_and_giants_where_git_writes_or_reads_are_refused(tmp_path: Path, name: str) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    path = tmp_path / ".git" / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if name == "info/exclude":
        with path.open("wb") as file:
            file.truncate(600 << 20)
    else:
        path.symlink_to("../../mine")
    with pytest.raises(ProjectUnusable, match=rf"{name} is .*\n  next: delete it"):
        Repository(tmp_path, env=_ENV).look()


def test_git_is_found_in_no_folder_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("git", "bin/git"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    system = outside("git", os.environ, "/nowhere")
    assert system is not None
    folders = f".:bin::{tmp_path}/bin:{Path(system).parent}"
    assert program({"PATH": folders}, tmp_path) == system
    assert outside("git", {"PATH": ".:bin"}, tmp_path) is None


def test_commands_are_told_apart() -> None:
    assert command_of(["-C", "/x", "-c", "a=b", "--literal-pathspecs", "add", "-A"]) == "add"
    assert command_of(["--version"]) == ""
    assert "core.hooksPath" in environment({}, "status").values()
    assert "core.hooksPath" not in environment({}, "commit").values()
    assert environment({}, "status")["GIT_ALLOW_PROTOCOL"] == "none"
    assert "GIT_ALLOW_PROTOCOL" not in environment({}, "fetch")


def test_a_filter_of_any_name_runs_in_no_look(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("1\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    (tmp_path / ".gitattributes").write_text("a.txt filter=a=b\n")
    for name in ("clean", "process"):
        git(tmp_path, "config", f"filter.a=b.{name}", f"touch {tmp_path}/marks; cat")
    git(tmp_path, "config", "filter.a=b.required", "true")
    os.utime(tmp_path / "a.txt", (1, 1))
    tree = Repository(tmp_path, env=_ENV).look()
    assert tree is not None
    assert {*tree.marks} == {".gitattributes"}
    assert not (tmp_path / "marks").exists()


def test_a_look_fetches_nothing_from_where_a_repository_says_it_is(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("1\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    tree = Repository(tmp_path, env=_ENV).run("rev-parse", "HEAD^{tree}").text
    (tmp_path / ".git/objects" / tree[:2] / tree[2:]).unlink()
    settings = {
        "core.repositoryformatversion": "1", "extensions.partialClone": "origin", "remote.origin.url": "/nowhere",
        "remote.origin.promisor": "true", "remote.origin.uploadpack": f"touch {tmp_path}/marks;",
        "protocol.file.allow": "always", "protocol.allow": "always",
    }  # fmt: skip
    for name, value in settings.items():
        git(tmp_path, "config", name, value)
    Repository(tmp_path, env=_ENV).look()
    assert not (tmp_path / "marks").exists()


def test_commits_are_what_they_are_whatever_a_repository_says_in_their_place(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    (tmp_path / "checked").write_text("good\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "good")
    git(tmp_path, "checkout", "-q", "-b", "other", "HEAD~")
    (tmp_path / "checked").write_text("evil\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "evil")
    ours = Repository(tmp_path)
    evil, good, first = (ours.run("rev-parse", name).text for name in ("other", "main", "main~"))
    git(tmp_path, "replace", evil, good)  # looks good where it is checked, and is pushed as it is
    (tmp_path / ".git/info").mkdir(exist_ok=True)
    (tmp_path / ".git/info/grafts").write_text(f"{first} {good}\n")
    assert ours.run("show", "other:checked").text == "evil"
    counted = ours.run("rev-list", "--count", "other")
    assert (counted.text, counted.err) == ("2", "")
    assert not ours.run("merge-base", "--is-ancestor", good, "other").ok
