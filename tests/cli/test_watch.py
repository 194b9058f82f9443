"""`ralph-bridge watch`: a loop in one process, a watcher in another."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from bridge.loop.engine.logs import Follower, shown_text
from tests.setups.bmalph.agents import Agent, heard, let_go
from tests.setups.bmalph.conftest import installed, looping, project

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.bmalph.conftest import Project

__all__ = ["installed", "looping", "project"]


def test_from_the_first_text_to_the_end(looping: Project) -> None:
    agent = Agent(looping, "codex")
    up, go = agent.fifo("up"), agent.fifo("go")
    agent.runs(f'change; say "First words.\\\\nSecond."; echo x > {up}; read -r _ < {go}').otherwise(
        "change; complete"
    )
    loop = looping.start("run", "--driver", "codex", "--no-live")
    assert heard(up)
    watcher = looping.start("watch", "--interval", "0.05")
    assert watcher.stdout is not None
    while "Second." not in watcher.stdout.readline():
        assert watcher.poll() is None
    let_go(go)
    _, told = watcher.communicate(timeout=60)
    assert watcher.returncode == 0
    assert "loop 1 executing" in told
    assert told.splitlines()[-1] == "the loop has ended: loop 3, completed (completion_signals)"
    assert looping.finished(loop) == 0
    once = looping.run("watch", "--once")
    assert (once.returncode, ": completion_signals" in once.stdout, "All of it." in once.stdout) == (0, True, True)


def test_without_a_loop(looping: Project) -> None:
    done = looping.run("watch")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no loop is running here" in done.stderr
    assert looping.run("watch", "--once").returncode == 1
    assert looping.run("watch", "--project", "nowhere").returncode == 2


def test_ctrl_c_ends_the_watching_and_not_the_loop(looping: Project) -> None:
    agent = Agent(looping, "codex")
    up, go = agent.fifo("up"), agent.fifo("go")
    agent.runs(f'change; echo "hello"; echo x > {up}; read -r _ < {go}; working').otherwise("change; complete")
    loop = looping.start("run", "--driver", "codex", "--no-live")
    assert heard(up)
    watcher = looping.start("watch", "--interval", "0.05")
    assert watcher.stdout is not None
    while "hello" not in watcher.stdout.readline():
        assert watcher.poll() is None
    watcher.send_signal(signal.SIGINT)
    _, told = watcher.communicate(timeout=60)
    assert (watcher.returncode, "the loop goes on" in told) == (130, True)
    assert loop.poll() is None
    let_go(go)
    assert looping.finished(loop) == 0


def test_following_a_log_that_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "live.log"
    follower = Follower(path)
    assert follower.lines() == []
    path.write_text("one\ntw")
    assert follower.lines() == ["one"]
    with open(path, "a") as file:
        file.write("o\n")
    assert follower.lines() == ["two"]
    path.write_text("second run, longer than the first\n")
    assert follower.lines() == ["second run, longer than the first"]
    path.write_text("x")
    assert (follower.lines(), follower.lines(rest=True)) == ([], ["x"])


def test_events_are_shown_as_what_they_say() -> None:
    text = '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"a\\nb"}}'
    tool = '{"type":"item.started","item":{"id":"1","type":"command_execution","command":"make"}}'
    assert shown_text(text) == ["a", "b"]
    assert shown_text(tool) == ["[command_execution make]"]
    assert shown_text('{"type":"turn.started"}') in ([], ['{"type":"turn.started"}'])
    assert shown_text("plain {x") == ["plain {x"]
