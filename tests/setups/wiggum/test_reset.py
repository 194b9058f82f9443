"""``ralph-bridge reset`` closes the breaker of a wiggum loop, as ``wiggum reset`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.setups.wiggum.project import Project


def test_the_message_names_it_and_it_lets_the_next_start_go_on(project: Project) -> None:
    project.claude("echo thinking")
    options = ("start", "Build A", "--checkpoints", "--retry-delay", "0")
    tripped = project.wiggum(*options)
    assert (tripped.returncode, "`ralph-bridge reset`" in tripped.stderr) == (6, True), tripped.stderr
    refused = project.wiggum(*options)
    assert (refused.returncode, "ralph-bridge reset" in refused.stderr) == (6, True), refused.stderr
    done = project.run("reset")
    assert done.stdout == "wiggum's circuit breaker: OPEN -> HALF, counters are 0\n", done.stderr
    assert project.run("reset").stdout == "nothing to reset\n"
    project.claude("work; promise")
    assert project.wiggum(*options).returncode == 0
