"""A word into the running loop: its next turn is given it, once; and a pause, and a task left alone."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.night.conftest import each_loop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import MakeProject, Project


HEARS = 'printf "%s\\n" "$@" > "$kept/turn.$turn/told"; timeout 5 cat >> "$kept/turn.$turn/told"'
"""What a turn does that notes all that it is told, as arguments or on stdin."""


def told(night: Project, number: int) -> str:
    return night.of_turn(number, "told")


def inbox(night: Project) -> Path:
    return night.state / night.example.kind.logs / "inbox"


def test_the_next_turn_is_given_a_message_once(night: Project) -> None:
    night.turns(f"{HEARS}; {night.held}", f"{HEARS}; work", f"{HEARS}; work")
    loop = night.start("--max-iterations", "3")
    night.wait_until_up()
    for text in ("Mind the zebra.", "And the giraffe \x1b[2J."):
        assert night.run("tell", text).returncode == 0
    assert [each["text"] for each in night.status()["messages"]] == ["Mind the zebra.", "And the giraffe \x1b[2J."]
    shown = night.run("status").stdout
    assert "Mind the zebra." in shown
    assert "\x1b[2J" not in shown + night.run("tell", "--list").stdout
    night.let_go()
    assert loop.finished() == night.example.used_up, loop.said
    assert ["zebra" in told(night, each) for each in (1, 2, 3)] == [False, True, False]
    assert told(night, 2).index("zebra") < told(night, 2).index("giraffe \x1b[2J")
    assert "Mind the zebra." in night.logged()
    assert night.status()["messages"] == []
    night.readable()


@each_loop
def test_a_turn_that_is_killed_or_fails_has_not_had_it(night: Project) -> None:
    night.turns(f"{HEARS}; hang", f"{HEARS}; fail", f"{HEARS}; work", f"{HEARS}; work")
    night.state.mkdir(parents=True, exist_ok=True)
    kept = night.run("tell", "Mind the zebra.", "--setup", night.example.setup)
    assert kept.returncode == 0, kept.stderr
    assert "no loop is at work" in kept.stderr
    night.hanging().kill()
    loop = night.start("--max-iterations", "3" if night.example.counts_on else "2")
    loop.finished()
    assert ["zebra" in told(night, each) for each in (1, 2, 3, 4)] == [True, True, True, False], loop.said


@each_loop
def test_a_pause_holds_the_loop_before_its_next_turn_until_it_is_over(night: Project) -> None:
    night.turns(night.held, "work")
    loop = night.start("--max-iterations", "2")
    night.wait_until_up()
    assert night.run("tell", "--pause").returncode == 0
    assert night.status()["pause"] is not None
    night.let_go()
    waiting = night.status_when(lambda seen: seen["state"] == "waiting")["waiting"]
    assert waiting["reason"] == "paused"
    assert "ralph-bridge tell --resume" in night.run("status").stdout
    assert night.begun() == 1
    assert night.run("tell", "--resume").returncode == 0
    assert loop.finished() == night.example.used_up, loop.said
    assert night.begun() == 2
    assert night.status()["pause"] is None


@each_loop
def test_a_paused_loop_ends_by_a_signal_and_the_next_one_is_not_paused(night: Project) -> None:
    night.turns(night.held, "work", "work")
    loop = night.start("--max-iterations", "2")
    night.wait_until_up()
    night.run("tell", "--pause")
    night.let_go()
    night.status_when(lambda seen: seen["state"] == "waiting")
    os.kill(loop.pid, signal.SIGTERM)
    loop.finished()
    assert night.begun() == 1
    again = night.start("--max-iterations", "1")
    again.finished()
    assert night.begun() > 1 or night.example.counts_on, again.said


@each_loop
def test_a_paused_loop_ends_when_its_minutes_are_over(night: Project) -> None:
    night.turns(night.held, "work")
    loop = night.start("--max-iterations", "5", "--max-minutes", "0.1")
    night.wait_until_up()
    night.run("tell", "--pause")
    night.let_go()
    loop.finished()
    assert night.begun() == 1, loop.said


@each_loop
def test_what_an_agent_plants_there_holds_nobody_up(night: Project) -> None:
    folder = inbox(night)
    name = f"{time.time_ns():020}-{'0' * 8}"
    night.turns(f"{HEARS}; work", f"{HEARS}; work")
    folder.mkdir(parents=True)
    (folder / f"{name}.text").symlink_to("/etc/passwd")
    os.mkfifo(folder / f"{name[:-1]}1.text")
    (folder / f"{name[:-1]}2.text").mkdir()
    (folder / f"{name[:-1]}3.text").write_bytes(b"\xff\x00zebra" + b"x" * 100_000)
    (folder / "README").write_text("giraffe")
    (folder / "pause").write_text("")
    os.utime(folder / "pause", (4e9, 4e9))
    loop = night.start("--max-iterations", "1")
    assert loop.finished() == night.example.used_up, loop.said
    assert "root:" not in told(night, 1)
    assert "giraffe" not in told(night, 1)


@each_loop
def test_a_task_is_left_alone_until_the_loop_ends(night: Project) -> None:
    plan = next((each for each in night.example.kind.plan.files if (night.path / each).is_file()), None)
    night.turns(night.held, f"{HEARS}; work")
    loop = night.start("--max-iterations", "2")
    night.wait_until_up()
    done = night.run("tell", "--skip-task")
    left = [each["text"] for each in night.status()["messages"] if each["skip"]]
    night.let_go()
    loop.finished()
    if done.returncode:
        assert done.returncode == 2, done.stderr
        assert "next:" in done.stderr
        assert plan is None
        return
    assert len(left) == 1
    if night.example.name == "bmalph":  # nothing else is open
        assert (night.begun(), night.status()["ended"]["reason"]) == (1, "plan_complete")
    else:
        assert "left alone" in told(night, 2)
        assert left[0] in told(night, 2)
    assert night.run("tell", "--skip-task").returncode == 1, "no loop is at work"


@pytest.mark.parametrize("name", ["plain", "bmalph", "frankbria"])
def test_a_loop_is_complete_when_all_but_the_tasks_left_alone_are_done(
    name: str, make_project: MakeProject
) -> None:
    """The plan stays as it is: the box is open at the end."""
    night = make_project(name)
    plan = next((each for each in night.example.kind.plan.files if (night.path / each).is_file()), "@fix_plan.md")
    night.write(plan, "# Plan\n\n- [ ] one\n- [ ] two\n- [ ] three\n")
    night.turns(night.held, f"touched; sed -i 's/\\[ \\] t/[x] t/' {plan}; say 'Worked on them.'", otherwise="work")
    loop = night.start("--max-iterations", "6")
    night.wait_until_up()
    assert night.run("tell", "--skip-task").returncode == 0
    night.let_go()
    assert loop.finished() == 0, loop.said
    assert night.begun() == 2, loop.said
    assert night.status()["ended"]["reason"] == "plan_complete"
    assert "left alone, as its user has asked: one" in loop.said + night.logged()
    assert "- [ ] one\n- [x] two\n- [x] three\n" in (night.path / plan).read_text()
