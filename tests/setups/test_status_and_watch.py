"""`status` and `watch` beside a loop of each kind, at each moment of its life, from a sub-folder of its project."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING

import pytest

from bridge.base import timestamps
from tests.examples import PATIENCE, lives, until

if TYPE_CHECKING:
    from tests.examples import MakeProject, Project

DEEP = "src/deep"


@pytest.fixture
def loops(example: Project) -> Project:
    return example


def test_none_running_and_ended(loops: Project) -> None:
    seen = loops.status(folder=DEEP)
    assert (seen["schema"], seen["state"], seen["waiting"], seen["ended"]) == (1, "none", None, None)
    loops.done_after(loops.held)
    loop = loops.loop(folder=DEEP)
    loops.wait_until_up()

    seen = loops.status(folder=DEEP)
    assert (seen["state"], seen["running"], seen["setup"]) == ("running", True, loops.example.setup)
    assert (seen["turn"], seen["tool"]) == (1, loops.example.tool)
    assert seen["holder"]["pid"] == loop.pid
    assert timestamps.parse_iso(seen["holder"]["since"])
    text = loops.run("status", folder=DEEP).stdout
    assert "at work" in text
    assert f"{loop.pid}, for " in text
    reset = time.monotonic() + PATIENCE
    while "And more." not in text:  # what it says last passes through the agent's own filter first
        assert time.monotonic() < reset, text
        text = loops.run("status", folder=DEEP).stdout

    watcher = loops.popen("watch", "--interval", "0.05", folder=DEEP)
    assert watcher.stdout is not None
    while "First words. And more." not in (line := watcher.stdout.readline()):
        assert line, watcher.communicate()
    loops.let_go()
    _, told = watcher.communicate(timeout=60)
    assert watcher.returncode == 0, told
    assert told.splitlines()[-1].startswith("the loop has ended: "), told
    assert loops.example.ended in told.splitlines()[-1]
    _, err = loop.communicate(timeout=60)
    assert loop.returncode == 0, err
    assert f"project: {loops.path} (" in err

    seen = loops.status(folder=DEEP)
    assert (seen["state"], seen["running"], seen["waiting"]) == ("ended", False, None)
    assert loops.example.ended in seen["ended"]["reason"]
    assert timestamps.parse_iso(seen["ended"]["at"])
    assert f": {seen['ended']['reason']}\n" in loops.run("status", folder=DEEP).stdout
    done = loops.run("watch", folder=DEEP)
    assert (done.returncode, done.stdout, "no loop is running here" in done.stderr) == (1, "", True)
    assert loops.git("status", "--porcelain", DEEP) == "", "nothing is made in the sub-folder"


def test_waiting_for_a_repetition_and_ended_by_hand(loops: Project) -> None:
    loops.done_after("say 'API Error: 529 Overloaded' true; exit 1")
    loop = loops.loop("--retry-delay", "100")
    seen = loops.status_when(lambda seen: seen["state"] == "waiting")
    assert (seen["running"], seen["waiting"]["reason"], seen["turn"]) == (True, "retry", 1)
    assert seen["waiting"]["detail"]
    reset = timestamps.parse_iso(seen["waiting"]["until"])
    assert reset
    text = loops.run("status").stdout
    assert f"waiting until {timestamps.local(reset)}" in text
    watcher = loops.popen("watch", "--interval", "0.05")
    assert watcher.stderr is not None
    while f"waiting until {timestamps.local(reset)} · " not in (line := watcher.stderr.readline()):
        assert line
    loop.send_signal(signal.SIGTERM)
    loop.communicate(timeout=60)
    _, told = watcher.communicate(timeout=60)
    assert (watcher.returncode, "the loop has ended: " in told) == (0, True)
    seen = loops.status()
    assert (seen["state"], seen["waiting"]) == ("ended", None)
    assert "SIGTERM" in seen["ended"]["reason"]


def test_waiting_for_a_limit(loops: Project) -> None:
    loops.done_after("limited 7200")
    loop = loops.loop()
    seen = loops.status_when(lambda seen: seen["state"] == "waiting" and seen["waiting"]["reason"] == "api_limit")
    assert "session limit" in seen["waiting"]["detail"]
    reset = timestamps.parse_iso(seen["waiting"]["until"])
    assert reset
    lines = loops.run("status").stdout.splitlines()
    assert f"waiting until {timestamps.local(reset)}" in lines[0]
    if loops.example.setup == "bmalph":  # the hour's calls have a time of their own
        (calls,) = (line for line in lines if line.startswith("calls:"))
        assert calls.endswith(":00:00")
        assert calls.split()[-1] == seen["calls"]["next_reset"]
    loop.send_signal(signal.SIGTERM)
    loop.communicate(timeout=60)
    assert loops.status()["state"] == "ended"


def test_killed(loops: Project) -> None:
    loops.done_after("say one", loops.held)
    loop = loops.loop()
    loops.wait_until_up()
    watcher = loops.popen("watch", "--interval", "0.05")
    assert watcher.stdout is not None
    while "First words." not in (line := watcher.stdout.readline()):
        assert line, watcher.communicate()
    loop.kill()
    loop.communicate()
    _, told = watcher.communicate(timeout=60)
    assert watcher.returncode == 0
    assert told.splitlines()[-1].startswith("the loop has ended: not running; it ended unexpectedly at "), told
    until(lambda: not lives(loops.pid(2)), "the agent is gone")
    seen = loops.status(folder=DEEP)
    assert (seen["state"], seen["running"], seen["turn"], seen["ended"]["reason"]) == ("killed", False, 2, None)
    at = timestamps.parse_iso(seen["ended"]["at"])
    assert at
    assert f"not running; it ended unexpectedly at {timestamps.local(at)}\n" in loops.run("status").stdout
    again = loops.loop(folder=DEEP)
    again.communicate(timeout=60)
    assert (again.returncode, loops.status()["state"]) == (0, "ended")


def test_the_loop_at_work_is_shown_and_else_the_last_one(make_project: MakeProject) -> None:
    """One project with a plain loop and a wiggum loop."""
    loops = make_project("wiggum")
    assert loops.run("run", "--no-live", "--completion-promise", "COMPLETE").returncode == 0
    assert loops.status()["setup"] == "plain"
    loops.done_after("", loops.held)
    loop = loops.loop()
    loops.wait_until_up()
    assert (loops.status()["setup"], loops.status()["state"]) == ("wiggum", "running")
    assert json.loads(loops.run("status", "--json", "--setup", "plain").stdout)["state"] == "ended"
    assert json.loads(loops.run("wiggum", "status", "--json", folder=DEEP).stdout)["state"] == "running"
    loops.let_go()
    loop.communicate(timeout=60)
    assert (loops.status()["setup"], loops.status()["state"]) == ("wiggum", "ended")
    assert loops.run("status", "--setup", "other").returncode == 2


def test_a_start_that_is_refused_is_no_crash_and_no_loop(make_project: MakeProject) -> None:
    loops = make_project("wiggum")
    (loops.path / "PROMPT.md").unlink()
    with loops.loop() as loop:
        _, told = loop.communicate(timeout=60)
    assert (loop.returncode, "there is no task" in told) == (2, True)
    assert (loops.status()["state"], loops.status()["ended"]) == ("none", None)
    assert not (loops.path / ".claude").exists()


def test_a_start_that_is_refused_changes_nothing_of_the_last_loop(make_project: MakeProject) -> None:
    loops = make_project("wiggum")
    with loops.loop() as loop:
        loop.communicate(timeout=60)
    before = loops.status()
    assert (before["state"], before["ended"]["reason"]) == ("ended", "complete")
    (loops.path / "PROMPT.md").unlink()
    with loops.loop() as loop:
        loop.communicate(timeout=60)
    assert (loop.returncode, loops.status()) == (2, before)
