"""``ralph-bridge reset``: an open breaker and old exit signals, in whatever lies there."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from tests.setups.bmalph.agents import Agent, heard

if TYPE_CHECKING:
    from tests.setups.bmalph.conftest import Project


def test_an_open_breaker_ends_the_run_names_the_way_out_and_is_closed_by_it(looping: Project) -> None:
    agent = Agent(looping, "claude-code").otherwise("working")
    looping.env["CB_NO_PROGRESS_THRESHOLD"] = "1"
    for _ in range(2):  # tripped, and found open
        ended = looping.run("run", "--no-live")
        assert (ended.returncode, "`ralph-bridge reset`" in ended.stderr) == (1, True), ended.stderr
    assert "Next: look at the last output, then `ralph-bridge reset`" in looping.read(".ralph/logs/ralph.log")
    assert len(agent.calls) == 1
    done = looping.run("reset")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("the circuit breaker was OPEN (")
    state = json.loads(looping.read(".ralph/.circuit_breaker_state"))
    assert (state["state"], state["consecutive_no_progress"]) == ("CLOSED", 0)
    assert looping.run("reset").stdout == "nothing to reset\n"
    looping.run("run", "--no-live")
    assert len(agent.calls) == 2


def test_exit_signals_of_an_earlier_run_are_dropped(looping: Project) -> None:
    agent = Agent(looping, "claude-code").otherwise("working")
    given = {"test_only_loops": [], "done_signals": [1, 2], "completion_indicators": []}
    looping.write(".ralph/.exit_signals", json.dumps(given))
    assert looping.run("reset").stdout == "exit signals of an earlier run are dropped\n"
    looping.run("run", "--no-live", "--max-iterations", "1")
    assert len(agent.calls) == 1


def test_a_breaker_that_makes_no_sense_is_written_anew(looping: Project) -> None:
    looping.write(".ralph/.circuit_breaker_state", "{")
    assert "could not be read: it is CLOSED now" in looping.run("reset").stdout
    assert json.loads(looping.read(".ralph/.circuit_breaker_state"))["state"] == "CLOSED"


@pytest.mark.parametrize("setup", ["bmalph", "plain"])
def test_not_under_the_hands_of_a_loop(looping: Project, setup: str) -> None:
    agent = Agent(looping, "codex")
    up = agent.fifo("up")
    agent.otherwise(f"echo x > {up}; sleep 300")
    if setup == "plain":
        for name in ("ralph_loop.sh", ".ralphrc", "@fix_plan.md"):
            (looping.path / ".ralph" / name).unlink()
        (looping.path / ".ralph/drivers").rename(looping.path / "drivers")
    process = looping.start("run", "--driver", "codex", "--no-live")
    assert heard(up)
    done = looping.run("reset")
    assert done.returncode == 4, done.stdout
    assert f"process {process.pid}" in done.stderr
    process.send_signal(signal.SIGTERM)
    assert looping.finished(process) == 143
    assert looping.run("reset").stdout == "nothing to reset\n"


def test_a_folder_without_any_loop_stays_as_it_is(project: Project) -> None:
    before = project.files()
    assert project.run("reset").stdout == "nothing to reset\n"
    assert project.files() == before
