"""Whoever is killed, and whenever: no byte is lost, no process is left, and `resume` completes."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.swarm.projects import HOLD, Project, kill, until

if TYPE_CHECKING:
    from pathlib import Path

SLOW_CLI = r"""
for part in 1 2 3 4 5; do
    echo "$RALPH_TASK part $part" >> "$RALPH_TASK.txt"
    echo "$RALPH_TASK part $part" >> "$NOTES/written.$RALPH_TASK"
    sleep 0.0$((RANDOM % 9))
done
"""
TASKS = tuple(f't{number}: . "$NOTES/work"' for number in range(3))


def prepared(project: Project) -> Project:
    (project.notes / "work").write_text(SLOW_CLI)
    project.plan(*TASKS)
    return project


def nothing_runs(project: Project) -> None:
    """A worker whose host was killed ends its agent first, and saves."""
    until(lambda: project.processes() == [])


def all_parts_are_there(project: Project) -> None:
    """What the agents say that they wrote is in some branch."""
    written = {line for path in project.notes.glob("written.*") for line in path.read_text().splitlines()}
    assert written <= project.lines(" part ")


def completes(project: Project) -> None:
    done = project.swarm("resume", "--retry", "lost,failed,incomplete,timeout,conflict")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {*project.outcomes().values()} == {"merged"}
    for each in project.seen()["tasks"]:
        assert "part 5" in project.result(f"{each['id']}.txt")


def test_ctrl_c_ends_in_order(project: Project) -> None:
    project.plan(f"one: echo precious > one.txt; {HOLD}", "two: echo 2 > two.txt")
    host = project.start("run", "-j", "1")
    until(lambda: (project.notes / "holding").exists())
    host.send_signal(signal.SIGINT)
    assert host.wait(60) == 130
    assert project.processes() == []
    assert project.refs_hold("precious")
    assert project.outcomes() == {"one": "interrupted", "two": None}
    assert "resume" in (project.notes / "err").read_text()
    (project.notes / "holding").unlink()
    # It goes on where it was, with its files and its loop's own state.
    cli = (project.path / "../bin/my-cli").resolve()
    cli.write_text(cli.read_text().replace('eval "${task#*: }"', "test ! -e one.txt || cat one.txt"))
    assert project.swarm("resume").returncode == 0
    assert project.result("one.txt") == "precious"


@pytest.mark.slow
def test_term_is_the_same(project: Project) -> None:
    project.plan(f"one: echo precious > one.txt; {HOLD}")
    host = project.start("run")
    until(lambda: (project.notes / "holding").exists())
    host.terminate()
    assert host.wait(60) == 143
    assert project.processes() == []
    assert project.refs_hold("precious")


@pytest.mark.slow
def test_stop_now_and_stop_soon(project: Project) -> None:
    project.plan(f"one: echo precious > one.txt; {HOLD}", "two: :")
    host = project.start("run", "-j", "1")
    until(lambda: (project.notes / "holding").exists())
    one = project.seen()["tasks"][0]["id"]
    assert project.swarm("tell", one, "Mind the zebra.").returncode == 0
    assert [each.read_text() for each in (project.notes.parent / "state").rglob("inbox/*.text")] == [
        "Mind the zebra."
    ]
    assert project.swarm("tell", "nobody", "Mind the zebra.").returncode == 2
    assert project.swarm("stop").returncode == 0
    assert project.seen()["stopping"] == "soon"
    assert host.poll() is None
    assert project.swarm("stop", "--now").returncode == 0
    assert host.wait(60) == 1
    assert project.outcomes() == {"one": "interrupted", "two": None}
    assert project.refs_hold("precious")
    assert project.swarm("stop").returncode == 1


ONCE = f'if [ ! -e "$NOTES/holding" ]; then {HOLD}; fi'
"""It never ends the first time, and at once the second."""


def test_the_host_is_killed(project: Project) -> None:
    project.plan(f"one: echo precious > one.txt; {ONCE}", "two: echo 2 > two.txt")
    host = project.start("run", "-j", "1")
    until(lambda: (project.notes / "holding").exists())
    assert project.swarm("resume").returncode == 4, "it is at work"
    host.kill()
    host.wait()
    nothing_runs(project)
    assert project.refs_hold("precious"), "the worker has saved before it ended"
    assert project.seen()["state"] == "killed"
    (record,) = (project.path / ".git/ralph-bridge/swarm").glob("*/swarm.json")
    asleep = 10_000.0  # as if all of it had been so long ago
    for path in (record, record.with_name("changes.jsonl"), *record.parent.glob("tasks/*/events.jsonl")):
        path.write_text(
            re.sub(r'("(?:at|began)":) ?(\d+\.\d+)', lambda t: f"{t[1]}{float(t[2]) - asleep}", path.read_text())
        )
        os.utime(path, (time.time() - asleep, time.time() - asleep))
    seen = project.seen()["tasks"][0]
    assert (seen["step"], seen["seconds"] < 1000) == ("interrupted", True)
    done = project.swarm("resume")
    assert done.returncode == 0, done.stderr
    assert project.outcomes() == {"one": "merged", "two": "merged"}
    assert [each[:6] for each in project.started()] == ["01-one", "01-one", "02-two"], "without a word more"
    assert project.seen()["tasks"][0]["seconds"] < 1000, "time stands still meanwhile"
    assert json.loads(project.swarm("report", "--format", "json").stdout)["seconds"] < 1000


@pytest.mark.slow
def test_what_was_complete_when_the_host_was_killed_is_merged(project: Project) -> None:
    project.plan("one: echo 1 > one.txt")
    check = 'echo x >> "$NOTES/checks"; test "$(wc -l < "$NOTES/checks")" = 2 || sleep 1000'
    host = project.start("run", "--check", check)
    until(lambda: (project.notes / "checks").exists())
    host.kill()
    host.wait()
    nothing_runs(project)
    assert project.swarm("resume").returncode == 0
    assert project.outcomes() == {"one": "merged"}
    assert len(project.started()) == 1


@pytest.mark.slow
def test_a_merge_that_the_killed_host_could_not_put_down(project: Project) -> None:
    project.plan("one: echo 1 > one.txt")
    assert project.swarm("run").returncode == 0
    (path,) = (project.path / ".git/ralph-bridge/swarm").glob("*/swarm.json")
    record = json.loads(path.read_text())
    merge = record["tasks"][0]["merge"]
    record["tasks"][0] |= {"step": "saved", "outcome": "", "merge": ""}
    path.write_text(json.dumps(record))
    assert project.swarm("resume").returncode == 0
    (task,) = project.seen()["tasks"]
    assert (task["outcome"], task["merge"]) == ("merged", merge)
    assert project.git("rev-parse", project.seen()["branch"]) == merge


def test_a_worker_is_killed(project: Project) -> None:
    project.plan(f"one: echo precious > one.txt; {HOLD}", "two: echo 2 > two.txt")
    host = project.start("run", "-j", "1")
    until(lambda: (project.notes / "holding").exists())
    (worker,) = workers(host)
    until(lambda: sum("sleep 1000" in line for line in project.processes()) >= 2)  # one in a session of its own
    worker.kill()
    until(lambda: not any("sleep 1000" in line for line in project.processes()))
    assert host.wait(60) == 1
    assert project.outcomes() == {"one": "lost", "two": "merged"}
    assert project.refs_hold("precious")
    assert len(project.started()) == 2


def workers(host: subprocess.Popen[bytes]) -> list[psutil.Process]:
    below = psutil.Process(host.pid).children(recursive=True)
    return [each for each in below if "swarm.worker" in " ".join(each.cmdline())]


@pytest.mark.slow
def test_a_process_of_the_executor_is_killed(project: Project) -> None:
    """Its worker ends the agent and saves; the agent was started once; what waited is told, and goes on later."""
    project.plan(f"one: echo precious > one.txt; {HOLD}", "two: echo 2 > two.txt")
    host = project.start("run", "-j", "1", "--executor", "concurrent.futures:ProcessPoolExecutor")
    until(lambda: (project.notes / "holding").exists())
    (worker,) = workers(host)
    pool = worker.parent()
    assert pool is not None
    pool.kill()
    assert host.wait(60) == 1
    assert project.outcomes() == {"one": "lost", "two": None}
    assert project.refs_hold("precious")
    assert len(project.started()) == 1
    assert "the executor takes no more tasks" in (project.notes / "err").read_text()
    assert project.swarm("resume").returncode == 1
    assert project.outcomes() == {"one": "lost", "two": "merged"}


@pytest.mark.slow
def test_watch_follows_to_the_end(project: Project) -> None:
    project.plan(f"one: {HOLD}")
    host = project.start("run")
    until(lambda: (project.notes / "holding").exists())
    watching = project.start("watch")
    until(lambda: ": running" in (project.notes / "err").read_text())
    assert project.swarm("stop", "--now").returncode == 0
    assert (host.wait(60), watching.wait(60)) == (1, 0)
    assert (project.notes / "out").read_text().count("interrupted") >= 4


@pytest.mark.slow
def test_an_agent_is_killed(project: Project) -> None:
    project.plan(
        f'one: echo precious > one.txt; echo $$ > "$NOTES/pid.new"; mv "$NOTES/pid.new" "$NOTES/pid"; {HOLD}'
    )
    host = project.start("run", "--max-iterations", "1")
    until(lambda: (project.notes / "holding").exists())
    kill(int((project.notes / "pid").read_text()))
    assert host.wait(60) == 1
    assert project.outcomes() == {"one": "incomplete"}
    assert project.refs_hold("precious")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.slow
def test_killed_at_a_random_moment(project: Project, seed: int) -> None:
    at_a_random_moment(project, seed)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(100, 200))
@pytest.mark.slow
def test_killed_at_each_of_many_moments(project: Project, seed: int) -> None:
    at_a_random_moment(project, seed)


def at_a_random_moment(project: Project, seed: int) -> None:
    chance = random.Random(seed)
    prepared(project)
    host = project.start("run", "-j", "3")
    whom = chance.choice(["host", "host", "worker", "agent", "ctrl-c", "term"])
    until(lambda: host.poll() is not None or project.started() or chance.random() < 0.002)
    time.sleep(chance.random() * 0.8)  # the moment is what is random here
    print("strikes:", whom)
    strike(host, project, whom, chance)
    host.wait(90)
    nothing_runs(project)
    if any((project.path / ".git/ralph-bridge/swarm").glob("*/swarm.json")):
        all_parts_are_there(project)
        completes(project)
        all_parts_are_there(project)


def strike(host: subprocess.Popen[bytes], project: Project, whom: str, chance: random.Random) -> None:
    if whom in ("host", "ctrl-c", "term"):
        number = {"host": signal.SIGKILL, "ctrl-c": signal.SIGINT, "term": signal.SIGTERM}[whom]
        if host.poll() is None:
            os.kill(host.pid, number)
        return
    lines = [line for line in project.processes() if ("my-cli" in line) == (whom == "agent")]
    lines = [line for line in lines if int(line.split()[0]) != host.pid]
    if lines:
        victim = chance.choice(lines)
        print("killed:", victim)  # shown where the test fails
        with suppress(ProcessLookupError):
            kill(int(victim.split()[0]))


@pytest.mark.slow
def test_forty_work_trees_at_once(project: Project) -> None:
    project.plan(*(f"t{number}: echo {number} > {number}.txt" for number in range(40)))
    done = project.swarm("run", "-j", "40")
    assert done.returncode == 0, done.stderr
    assert {*project.outcomes().values()} == {"merged"}
    assert project.git("config", "--list", "--local").count("branch.") == 0


def test_a_read_only_folder_for_work_trees(project: Project) -> None:
    """Root may write anywhere, so the folder can't even be made: a file stands in its place."""
    project.plan("one: :")
    place = project.write("../not-a-folder", "")
    done = project.swarm("run", "--trees", str(place))
    assert done.returncode == 4
    assert "not-a-folder" in done.stderr


@pytest.mark.slow
def test_a_full_disk(project: Project, tmp_path: Path) -> None:
    """An agent fills the repository's disk: what can't be committed stays in its work tree, and is told."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        project.git("clone", "-q", str(project.path), str(disk / "project"))
        project.path = disk / "project"
        project.git("config", "user.name", "t")
        project.git("config", "user.email", "t@example.org")
        project.plan("one: echo precious > one.txt; head -c 30000000 /dev/urandom > $NOTES/../disk/full; true")
        done = project.swarm("run", "--max-iterations", "1")
        assert done.returncode in (1, 4)
        assert project.processes() == []
        trees = list((tmp_path / "state").rglob("one.txt"))
        assert [each.read_text() for each in trees] == ["precious\n"]
        (disk / "full").unlink()
        project.swarm("resume")
        assert project.refs_hold("precious")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.slow
def test_a_second_ctrl_c_leaves_the_agents_no_time(project: Project) -> None:
    """The agent is deaf to INT and TERM, and its graces are long; its work is saved all the same."""
    project.env["RALPH_BRIDGE_KILL_GRACE_SECONDS"] = "600"
    deaf = "trap '' INT TERM; while :; do sleep 0.1; done"
    project.plan(f'one: echo precious > one.txt; echo x >> "$NOTES/holding"; {deaf}')
    host = project.start("run")
    until(lambda: (project.notes / "holding").exists())
    host.send_signal(signal.SIGINT)
    until(lambda: project.seen()["stopping"] == "now")
    host.send_signal(signal.SIGINT)
    assert host.wait(60) == 130
    nothing_runs(project)
    assert project.outcomes() == {"one": "interrupted"}
    assert project.refs_hold("precious")
