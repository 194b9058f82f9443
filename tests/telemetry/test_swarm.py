"""A swarm and its loops are one trace, whichever process each of them is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.swarm.projects import HOLD, Project, kill, make, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.telemetry.receiver import Receiver


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = make(tmp_path)
    yield made
    for pid in made.pids():
        kill(pid)


@pytest.mark.slow
def test_the_loops_of_a_swarm_are_its_children(project: Project, receiver: Receiver) -> None:
    project.plan("one: echo 1 > one.txt", "two: env | grep ^TRACEPARENT= >> $NOTES/two")
    project.env |= receiver.env
    done = project.swarm("run", "--telemetry", "otlp", "--", "--max-iterations", "3")
    assert done.returncode == 0, done.stderr
    swarm = receiver.span("invoke_workflow project")
    loops = [each for each in receiver.spans() if each.parent == swarm.id]
    turns = {each.id: each for each in receiver.spans() if each.name == "invoke_agent mine"}
    assert len(loops) == len(turns) == 2
    assert {each.parent for each in turns.values()} == {each.id for each in loops}
    assert {each.trace for each in receiver.spans()} == {swarm.trace}
    assert (project.notes / "two").read_text().split("-")[2] in turns
    expected = {
        "ralph_bridge.verdict": "complete",
        "ralph_bridge.swarm.tasks": 2,
        "ralph_bridge.swarm.merged": 2,
        "ralph_bridge.tool": "swarm",
    }
    assert {name: swarm.attributes.get(name) for name in expected} == expected
    assert [
        attributes["ralph_bridge.task.outcome"] for name, attributes in swarm.events if name == "task ended"
    ] == ["merged"] * 2


@pytest.mark.slow
def test_a_swarm_whose_host_was_killed_goes_on_in_a_trace_that_links_to_it(
    project: Project, receiver: Receiver
) -> None:
    project.plan(f"one: test -e $NOTES/holding || {{ {HOLD}; }}")
    project.env |= receiver.env
    host = project.start("run", "--telemetry", "otlp")
    until(lambda: (project.notes / "holding").exists())
    os.kill(host.pid, 9)
    host.wait()
    until(lambda: not project.processes())
    assert project.swarm("resume", "--retry", "lost").returncode == 0
    swarm = receiver.span("invoke_workflow project")
    (killed,) = [each for each in receiver.spans() if each.attributes.get("ralph_bridge.verdict") == "interrupted"]
    assert killed.trace != swarm.trace
    assert swarm.links == ((killed.trace, killed.parent),)


@pytest.mark.slow
def test_a_swarm_that_can_t_have_it_leaves_nothing_behind(project: Project) -> None:
    project.plan("one: :")
    done = project.swarm("run", "--telemetry", "otpl")
    assert done.returncode == 2
    assert "Did you mean otlp?" in done.stderr
    assert not (project.path / ".ralph/swarms").exists()
    assert project.started() == []
