"""Killed at any moment and started again: the count goes on, each turn is told of once, no work is lost."""

from __future__ import annotations

import json
import os
import random
import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.loop.setups.wiggum.progress import read_blocks

if TYPE_CHECKING:
    from tests.setups.wiggum.project import Project


pytestmark = pytest.mark.slow

ITERATIONS = int(os.environ.get("WIGGUM_ITERATIONS", "10"))
AGENT = """
name=made-$TURN-$$
echo "begun" > "$name.txt"; echo "$name.txt" >> bin/made
git add -A && [ $((TURN % 3)) = 0 ] && git commit -qm "item of turn $TURN"
echo "ended" >> "$name.txt"; echo "$name.txt" >> bin/ended
tick; echo "did $TURN"
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_killed_at_random_moments_and_resumed(project: Project, seed: int) -> None:
    project.write("fix_plan.md", "".join(f"- [ ] item {number}\n" for number in range(100)))
    project.claude(AGENT)
    chance = random.Random(seed)
    counts = [0]
    kills = 0
    for _ in range(20 * ITERATIONS):
        process = project.start("wiggum", "start", "--no-live", "--max-iterations", str(ITERATIONS))
        assert process.stderr is not None
        # Counted from the first turn on, so that a slow machine gets anywhere.
        under_way = any("started" in line for line in iter(process.stderr.readline, ""))
        try:
            process.communicate(timeout=chance.uniform(0, 0.5) if under_way else None)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
        state = project.state
        counts.append(state["iteration"])
        if state["outcome"] is not None:
            break
    assert kills
    assert counts == sorted(counts)

    assert (state["iteration"], state["outcome"], state["turn"]) == (ITERATIONS, "max_iterations", None)
    assert len(project.turns) <= ITERATIONS
    blocks = [block.iteration for block in read_blocks(project.read("progress.txt"))]
    assert blocks == list(range(1, ITERATIONS + 1))

    found = json.loads(project.wiggum("checkpoints", "--json").stdout)["checkpoints"]
    numbers = [each["iteration"] for each in found]
    assert numbers == sorted(set(numbers))
    assert set(numbers) <= set(blocks)
    subjects = [subject for subject in project.commits if subject.startswith("ralph: ")]
    told_numbers = [int(subject.split()[3]) for subject in subjects]
    assert told_numbers == sorted(set(told_numbers), reverse=True)

    left = [line[3:] for line in project.git("status", "--porcelain").splitlines()]
    assert set(left) <= {"progress.txt"}
    tracked = set(project.git("ls-files").splitlines())
    assert set(project.read("bin/made").splitlines()) <= tracked
    for name in project.read("bin/ended").splitlines():
        assert project.git("show", f"HEAD:{name}") == "begun\nended\n"
    ticked = project.read("fix_plan.md").count("[x]")
    assert (
        ticked
        == project.git("show", "HEAD:fix_plan.md").count("[x]")
        == state["total_items"] - state["remaining_items"]
    )


@pytest.mark.parametrize(("hook", "commits"), [("pre-commit", 2), ("post-commit", 3), ("reference-transaction", 2)])
def test_killed_in_the_middle_of_a_checkpoint(project: Project, hook: str, commits: int) -> None:
    project.claude("work; work only-$TURN.txt; [ $TURN != 3 ] || promise")
    project.write(
        f".git/hooks/{hook}",
        "#!/bin/sh\n"
        f"[ $(git rev-list --count HEAD) = {commits} ] && [ ! -e bin/killed ] || exit 0\n"
        "touch bin/killed; kill -9 $(cat .claude/ralph/.ralph_bridge.lock)\n",
        0o755,
    )
    assert project.wiggum("start", "--no-live").returncode == -9
    assert project.wiggum("start", "--no-live").returncode == 0
    assert project.state["iteration"] == 3
    assert [block.iteration for block in read_blocks(project.read("progress.txt"))] == [1, 2, 3]
    told = [subject.removesuffix(" (interrupted)") for subject in project.commits]
    assert told == [*(f"ralph: checkpoint iteration {number}" for number in (3, 2, 1)), "init"]
    found = json.loads(project.wiggum("checkpoints", "--json").stdout)["checkpoints"]
    assert [each["iteration"] for each in found] == [1, 2, 3]
    assert project.git("ls-files", "only-*").split() == ["only-1.txt", "only-2.txt", "only-3.txt"]
