"""Workers that see none of the host's files: work goes by a hub, whatever the executor is."""

from __future__ import annotations

import signal
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.swarm.clusters import Cluster, dask_cluster, of_swarms
from tests.swarm.projects import HOLD, Project, until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.timeout(400)  # a cluster starts five programs, on a machine that may be busy

HUB, DASK = "threads and a hub", "dask and a hub"


@dataclass
class Fleet:
    """Where the tasks run, and how that is said."""

    project: Project
    words: tuple[str, ...]
    cluster: Cluster | None

    def hold(self) -> subprocess.Popen[bytes]:
        """Start a swarm whose first agent never ends."""
        self.project.plan(f"one: echo precious > one.txt; {HOLD}", "two: echo 2 > two.txt")
        host = self.project.start("run", "-j", "1", *self.words)
        until(lambda: (self.project.notes / "holding").exists())
        return host

    def nothing_runs(self) -> None:
        until(lambda: of_swarms(self.project) == [])

    def resume(self, *words: str) -> int:
        """The agent that never ended does so now, if it finds its work of before."""
        cli = (self.project.path / "../bin/my-cli").resolve()
        cli.write_text(cli.read_text().replace('eval "${task#*: }"', "test ! -e one.txt || grep precious one.txt"))
        going = self.project.start("resume", *self.words, *words)
        return going.wait(200)


@contextmanager
def fleet(project: Project, kind: str, workers: int = 2) -> Iterator[Fleet]:
    hub = project.notes / "hub.git"
    project.git("init", "-q", "--bare", str(hub))
    words = ("--hub", str(hub))
    if kind == HUB:
        yield Fleet(project, words, None)
        return
    with dask_cluster(project, workers) as cluster:
        yield Fleet(project, (*words, "--insecure", "--executor", cluster.executor), cluster)


def conflicting(project: Project) -> list[str]:
    return [name for name, outcome in project.outcomes().items() if outcome == "conflict"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [HUB, DASK])
def test_a_whole_swarm(project: Project, kind: str) -> None:
    """Conflicts, failures, files that git doesn't have; no secret has travelled."""
    project.write(".worktreeinclude", ".env\n")
    project.write(".gitignore", ".env\n.ralph/logs/\n.ralph/status.json\n.ralph/live.log\n.ralph/.*\n")
    both = 'until [ "$(wc -l < "$NOTES/started")" -ge 2 ]; do sleep 0.02; done'
    tasks = (
        f"two: {both}; echo x > shared.txt",
        f"three: {both}; echo y > shared.txt",
        "one: echo 1 > one.txt; git add one.txt; git commit -qm mine; echo 2 >> one.txt",
        "four: echo precious > four.txt; exit 3",
        "five: cat .env .ralph/notes.md > five.txt; ls -a .ralph >> five.txt",
        "six: mkdir sub; git init -q sub; echo inner > sub/p.txt; git -C sub add -A; git -C sub -c user.name=t"
        " -c user.email=t@e commit -qm p",
    )
    project.plan(*tasks)
    project.write(".env", "TOKEN=of-the-host\n")
    project.write(".ralph/notes.md", "untracked\n")
    project.write(".ralph/local.md", 'API_KEY="abc-very-secret"\n')
    own = project.notes / "own"
    own.mkdir()
    (own / ".env").write_text("TOKEN=of-the-worker\n")
    project.env["RALPH_BRIDGE_SWARM_FILES"] = str(own)
    with fleet(project, kind) as where:
        host = project.start("run", *where.words, "--no-redo-conflicts", "--", "--max-failures", "1")
        assert host.wait(200) == 1, (project.notes / "err").read_text()
        where.nothing_runs()
        places = (project.notes, project.path / "../state/ralph-bridge/swarm-worker")
        secret = subprocess.run(
            ["grep", "-rlE", "abc-very-secret|of-the-host", *map(str, places)],
            capture_output=True,
            text=True,
            check=False,
        )
    cleaned = project.swarm("clean")
    assert cleaned.returncode == 1, "what isn't merged stays"
    hub = Path(where.words[1])
    left = project.git("for-each-ref", "--format=%(refname)", "refs/heads", cwd=hub).splitlines()
    assert {each.split("/")[5].split("-")[1] for each in left} == {"four", "six", *conflicting(project)}
    outcomes = project.outcomes()
    assert sorted([str(outcomes.pop("two")), str(outcomes.pop("three"))]) == ["conflict", "merged"]
    assert outcomes == {"one": "merged", "four": "incomplete", "five": "merged", "six": "merged"}
    assert project.result("one.txt") == "1\n2"
    assert project.refs_hold("precious")
    assert project.refs_hold("inner")
    five = project.result("five.txt")
    assert five.startswith("TOKEN=of-the-worker\nuntracked\n")
    assert "local.md" not in five
    assert secret.stdout == ""
    assert "not here, and not sent: .ralph/local.md" in (project.notes / "err").read_text()
    assert project.result(".ralph/@fix_plan.md").count("- [x]") == 4
    assert len(project.started()) == 6
    assert project.git("config", "user.name") == project.git("log", "-1", "--format=%an", "--grep=mine", "--all")
    assert project.seen()["tasks"][0]["turn"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", [HUB, DASK])
def test_ctrl_c_and_resume(project: Project, kind: str) -> None:
    with fleet(project, kind, 1) as where:
        host = where.hold()
        host.send_signal(signal.SIGINT)
        assert host.wait(200) == 130
        where.nothing_runs()
        assert project.outcomes() == {"one": "interrupted", "two": None}
        assert project.refs_hold("precious")
        assert where.resume() == 0, (project.notes / "err").read_text()
    assert project.outcomes() == {"one": "merged", "two": "merged"}
    assert project.result("one.txt") == "precious"


@pytest.mark.slow
def test_a_worker_is_killed(project: Project) -> None:
    """The agent was started once, the task is lost, its work is kept; then it goes on when asked."""
    with fleet(project, DASK, 1) as where:
        host = where.hold()
        assert where.cluster is not None
        nanny = psutil.Process(where.cluster.started[-1].pid)
        (worker,) = [each for each in nanny.children() if "spawn_main" in " ".join(each.cmdline())]
        worker.kill()
        assert host.wait(200) == 1
        where.nothing_runs()
        assert project.outcomes() == {"one": "lost", "two": "merged"}
        assert project.started().count(project.started()[0]) == 1
        assert project.refs_hold("precious")
        assert where.resume("--retry", "lost") == 0, (project.notes / "err").read_text()
    assert project.outcomes() == {"one": "merged", "two": "merged"}
    assert project.result("one.txt") == "precious"


@pytest.mark.slow
@pytest.mark.parametrize("heard", [False, True])
def test_the_host_is_killed(project: Project, heard: bool) -> None:
    """The worker ends its agent and saves; whoever goes on gets what it has saved, and begins again with it."""
    with fleet(project, DASK, 1) as where:
        host = where.hold()
        if heard:  # then a part of the attempt's events is here, and the rest on the hub
            until(lambda: any(each.read_text() for each in project.path.rglob("events.jsonl")))
        host.kill()
        host.wait()
        where.nothing_runs()
        assert where.resume() == 0, (project.notes / "err").read_text()
        assert project.outcomes() == {"one": "merged", "two": "merged"}
        assert project.result("one.txt") == "precious"


def test_nobody_answers(project: Project) -> None:
    project.plan("one: :")
    assert "expected tls://HOST:PORT" in project.swarm("run", "--executor", "dask://somewhere").stderr


@pytest.mark.parametrize("words", [("--executor", "tls://127.0.0.1:1"), ("--insecure", "--executor", "dask://x:1")])
def test_a_scheduler_elsewhere_wants_a_hub(project: Project, words: tuple[str, ...]) -> None:
    project.plan("one: :")
    refused = project.swarm("run", *words)
    assert refused.returncode == 2
    assert "next: git init --bare hub.git" in refused.stderr
    assert "--hub ssh://HOST/PATH/hub.git" in refused.stderr


@pytest.mark.slow
def test_a_machine_goes_for_ever(project: Project) -> None:
    """Nobody there could save anything any more: what each turn had come to is on the hub."""
    project.plan("a: echo precious > one.txt", f"b: echo gone > two.txt; {HOLD}")
    with fleet(project, DASK, 1) as where:
        host = project.start("run", "--by", "heading", *where.words)
        until(lambda: (project.notes / "holding").exists())
        assert where.cluster is not None
        spared = {host.pid, where.cluster.started[0].pid}
        machine = [psutil.Process(pid) for pid in project.pids() if pid not in spared]
        for each in machine:
            each.suspend()  # so that none of them notices the end of another
        for each in machine:
            each.kill()
        assert host.wait(200) == 1
    assert [each["outcome"] for each in project.seen()["tasks"]] == ["lost"]
    assert len(project.started()) == 2, "once for each turn"
    assert project.refs_hold("precious")
