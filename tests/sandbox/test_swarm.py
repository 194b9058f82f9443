"""Whole swarms in boxes: their tasks commit and are merged, and none writes what the host believes of the swarm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.machine import NO_PROVIDER
from tests.sandbox.boxes import usable
from tests.swarm.projects import make

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.sandbox.box_policy import Provider

_FORGED = (
    'for each in "$(git rev-parse --git-common-dir)"/ralph-bridge/swarm/*/swarm.json; do'
    ' test -e "$each" && (echo > "$each") && exit 1; done; :'
)


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["bwrap", "srt", "podman", "docker"])
def test_tasks_of_a_swarm_commit_and_are_merged_and_forge_nothing(
    tmp_path: Path, conf: Path, provider: Provider
) -> None:
    if (more := usable(provider, conf)) is None:
        pytest.skip(f"{provider}: {NO_PROVIDER}")
    project = make(tmp_path)
    project.env |= more
    commit = "git add -A && git commit -qm made"
    project.plan(f"one: echo > a && {commit}", f"two: {_FORGED}; echo > b && {commit}")
    words = ("-j", "2", "--sandbox", provider, "--sandbox-network", "off", "--sandbox-env", "NOTES")
    done = project.swarm("run", *words, "--sandbox-write", str(project.notes), "--check", _FORGED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 tasks merged" in done.stdout
    branch = project.git("for-each-ref", "--format=%(refname:short)", "refs/heads/ralph/swarm")
    assert {"a", "b"} <= {*project.git("ls-tree", "--name-only", branch).split()}
