"""Commits on their way between repositories that share nothing, and what doesn't travel."""

from __future__ import annotations

import subprocess
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bridge import ConfigurationError, Swarm
from bridge.base.git.repository import Repository
from bridge.loop.swarm import remote_work, transport
from bridge.loop.swarm.courier import Courier
from bridge.loop.swarm.transport import AttemptHub, check_hub
from bridge.loop.swarm.work_order import Order, pack

if TYPE_CHECKING:
    from tests.swarm.projects import Project


def git_in(folder: Path, *words: str, data: bytes = b"") -> str:
    done = subprocess.run(["git", *words], cwd=folder, input=data, capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.fixture
def hub(tmp_path: Path) -> str:
    path = tmp_path / "hub.git"
    transport.bare(path)
    return str(path)


def commit_of(folder: Path, tree: str, *parents: str) -> str:
    words = [word for parent in parents for word in ("-p", parent)]
    who = ("-c", "user.name=t", "-c", "user.email=t@e")
    return git_in(folder, *who, "commit-tree", tree, *words, "-m", "x")


def test_an_attempt_is_taken_once(tmp_path: Path, hub: str) -> None:
    first, second = transport.bare(tmp_path / "first.git"), transport.bare(tmp_path / "second.git")
    attempts = [AttemptHub(order(tmp_path, hub=hub, run="run", attempt=number)) for number in (1, 2)]
    assert attempts[0].claim(first, "first")
    assert not attempts[0].claim(second, "second")
    assert not attempts[0].claim(first, "first")
    assert attempts[1].claim(second, "second")


def test_a_repository_brings_what_the_other_lacks(tmp_path: Path) -> None:
    source, target = transport.bare(tmp_path / "source.git"), transport.bare(tmp_path / "target.git")
    tree = git_in(source.project, "mktree")
    base = commit_of(source.project, tree)
    work = commit_of(source.project, tree, base)
    for commit, known in ((base, ""), (work, base)):
        source.run("update-ref", "refs/heads/a", commit)
        assert transport.receive(target, str(source.project), {"refs/heads/a": commit}, base=known) == ""
    assert target.run("rev-parse", f"{work}^").text == base
    assert target.run("for-each-ref").text == "", "names are given by who asked for it"


@pytest.mark.parametrize("broken", ["a folder .git in a tree", "another commit"])
def test_what_is_not_sound_is_refused(tmp_path: Path, broken: str) -> None:
    source, target = transport.bare(tmp_path / "source.git"), transport.bare(tmp_path / "target.git")
    blob = git_in(source.project, "hash-object", "-w", "--stdin", data=b"x")
    name = b".git" if broken.startswith("a folder") else b"file"
    entry = b"100644 " + name + b"\0" + bytes.fromhex(blob)
    tree = git_in(source.project, "hash-object", "-w", "-t", "tree", "--literally", "--stdin", data=entry)
    commit = commit_of(source.project, tree)
    source.run("update-ref", "refs/heads/a", commit)
    promised = {"refs/heads/a": "1" * 40 if name == b"file" else commit}
    told = transport.receive(target, str(source.project), promised)
    assert ("1" * 40 if name == b"file" else "hasDotgit") in told
    assert not target.run("cat-file", "-e", commit).ok, "nothing of it has got in"


def test_a_hub_with_a_password_is_refused_and_one_that_is_not_there_named(tmp_path: Path) -> None:
    git = Repository(tmp_path)
    with pytest.raises(ConfigurationError, match="has a password") as caught:
        check_hub("https://me:very-secret@example.org/hub.git", git)
    assert "very-secret" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="git init --bare"):
        check_hub(str(tmp_path / "none.git"), git)


def order(top: Path, **further: Any) -> Order:
    values: dict[str, Any] = dict.fromkeys(
        ("run_folder", "folder", "kind", "home", "branch", "base", "kept", "lock"), ""
    )
    places = {"source": str(top), "top": str(top), "tree": "/tree", "project": "/tree/sub"}
    return Order(**values | places | {"task": "t", "attempt": 1} | further)


def test_names_of_secrets_travel_and_no_values(tmp_path: Path) -> None:
    texts = {
        "PROMPT.md": "Keep the API_KEY out of the log.\n",
        "config": "export OPENAI_API_KEY='sk-123'\n",
        ".ralphrc": "MAX_TOKENS=200000\nMY_TOKEN=\nOTHER_TOKEN=$FROM_ELSEWHERE\n",
        ".claude/settings.local.json": "{}",
        "some.json": '{"password": "x"}',
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "sub/ralph").mkdir(parents=True)
    settings = {"GITHUB_TOKEN": "ghp", "CLAUDE_MODEL": "sonnet"}
    options = {"settings": settings, "driver": str(tmp_path / "sub/ralph/mine.sh"), "agent": "claude"}
    (tmp_path / "sub/ralph/mine.sh").write_text("driver_name() { echo mine; }\n")
    git_in(tmp_path, "init", "-q")
    git_in(tmp_path, "add", "sub")
    base = commit_of(tmp_path, git_in(tmp_path, "write-tree"))
    git = Repository(tmp_path)
    sent = pack(order(tmp_path, setup=(*texts, "gone"), options=options, base=base), git, dask=False)
    assert {*sent.files} == {"PROMPT.md", ".ralphrc"}
    assert {*sent.withheld} == {"config", ".claude/settings.local.json", "some.json"}
    expected = {"settings": {"CLAUDE_MODEL": "sonnet"}, "driver": "ralph/mine.sh", "agent": "claude"}
    assert sent.order.options == expected
    assert (sent.names, sent.scripts) == (("GITHUB_TOKEN",), {})
    outside = tmp_path / "elsewhere.sh"  # git doesn't have it: it travels by itself
    outside.write_text("driver_name() { echo other; }\n")
    sent = pack(order(tmp_path, options={"driver": str(outside)}, base=base), git, dask=False)
    assert sent.scripts["driver"][1].data == outside.read_bytes()
    outside.write_text("MY_API_KEY=abc\n")
    with pytest.raises(ConfigurationError, match="seems to hold a secret"):
        pack(order(tmp_path, options={"driver": str(outside)}, base=base), git, dask=False)


class Forger(Executor):
    """A worker that gives a branch that isn't the task's."""

    def __init__(self, forged: dict[str, str]) -> None:
        self.pool = ThreadPoolExecutor(1)
        self.forged = forged

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self.pool.submit(lambda: fn(*args)._replace(refs=self.forged))


@pytest.mark.slow
def test_a_worker_may_give_its_own_branches_alone(
    project: Project, hub: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.plan("one: echo precious > one.txt")
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)
    main = project.git("rev-parse", "main")
    engine = Forger({"main": project.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "forged")})
    with engine.pool, Courier(engine, hub=hub) as courier, Swarm(project.path, executor=courier) as swarm:
        for _ in swarm:
            pass
    (task,) = swarm.record.tasks
    assert (task.outcome, task.reason) == ("failed", "refused")
    assert "main is no branch of this task" in task.unsaved
    assert project.git("rev-parse", "main") == main


class Twice(Executor):
    """A scheduler that takes the first worker for dead: the task is done once more, and that result counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, other: Path) -> None:
        self.pool = ThreadPoolExecutor(1)
        self.monkeypatch = monkeypatch
        self.other = other

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self.pool.submit(self.twice, fn, *args)

    def twice(self, fn: Any, *args: Any) -> object:
        fn(*args)
        self.monkeypatch.setenv("XDG_STATE_HOME", str(self.other))
        return fn(*args)


def test_a_scheduler_that_begins_a_task_again(
    project: Project, hub: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second start finds the lease, on whatever machine; what the first one did is on the hub, and complete."""
    project.plan("one: echo precious > one.txt")
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)
    engine = Twice(monkeypatch, tmp_path / "other")
    with engine.pool, Courier(engine, hub=hub) as courier, Swarm(project.path, executor=courier) as swarm:
        for _ in swarm:
            pass
    (task,) = swarm.record.tasks
    assert len(project.started()) == 1
    assert (task.outcome, task.turns) == ("merged", 1), task.detail
    assert project.git("show", f"{swarm.record.branch}:one.txt") == "precious"


@pytest.mark.slow
def test_a_hub_that_goes_meanwhile(project: Project, hub: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be sent is told with the machine and the folder that have it."""
    project.plan(f"one: echo precious > one.txt; rm -rf {hub}")
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(remote_work, "_NETWORK", 0.0)
    engine = ThreadPoolExecutor(1)
    with engine, Courier(engine, hub=hub) as courier, Swarm(project.path, executor=courier) as swarm:
        for _ in swarm:
            pass
    (task,) = swarm.record.tasks
    assert (task.outcome, task.reason) == ("failed", "not sent")
    assert "it can't be sent: the hub does not take it" in task.unsaved
    kept = Path(task.tree.partition(":")[2])
    assert git_in(kept / "repo.git", "show", f"{task.branch}:one.txt") == "precious"
