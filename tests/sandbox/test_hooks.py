"""Checkpoints, merges and the check of a swarm run what agents have written: in the box, not on the host."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.probes import probe
from tests.cli.conftest import Project
from tests.machine import NO_BOX

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(probe(Wishes(provider="bwrap"), os.environ) is not None, reason=NO_BOX)

_CLI = """
[[ $1 == --version ]] && { echo 2.1.0; exit; }
echo work >> done.txt
[[ -f @fix_plan.md ]] && sed -i 's,\\[ \\],[x],' @fix_plan.md
echo '<promise>COMPLETE</promise>'
"""


def _git(project: Project, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=project.folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """One whose commit hook, which lies in the work tree, tries to leave a mark outside of it."""
    made = Project(tmp_path / "project")
    made.cli("claude", _CLI)
    made.write(
        ".githooks/pre-commit", f"#!/bin/bash\necho hook > {tmp_path}/mark; (echo ran; env) >> hook-ran\n", 0o755
    )
    made.write("@fix_plan.md", "- [ ] one\n")
    made.write("PROMPT.md", "Do it.\n")
    made.repository()
    _git(made, "add", "-A")
    for name, value in {"user.name": "x", "user.email": "x@example.org", "core.hooksPath": ".githooks"}.items():
        _git(made, "config", name, value)
    _git(made, "commit", "-q", "--no-verify", "-m", "second")
    return made


def test_a_checkpoint_s_hooks_are_in_the_box(project: Project, tmp_path: Path) -> None:
    words = ("--sandbox", "bwrap", "--max-iterations", "1", "--driver", "claude-code")
    pair = {"GIT_CONFIG_KEY_0": "http.extraHeader", "GIT_CONFIG_VALUE_0": "Authorization: TOKEN"}
    secrets = {"GIT_CONFIG_COUNT": "1", **pair, "GIT_ASKPASS": "TOKEN", "GIT_AUTHOR_NAME": "Zoë"}
    done = project.run("wiggum", "start", "Do it", *words, **secrets)
    assert "ralph: checkpoint iteration 1" in _git(project, "log", "--format=%s"), done.stderr
    seen = (project.folder / "hook-ran").read_text()
    assert "GIT_AUTHOR_NAME=Zoë" in seen
    assert "TOKEN" not in seen
    assert not (tmp_path / "mark").exists()


def test_a_swarm_s_merge_and_its_check_are_in_the_box(project: Project, tmp_path: Path) -> None:
    check = f"echo check > {tmp_path}/mark; test ! -e {project.folder}/PROMPT.md && grep -q work done.txt"
    words = ("--sandbox", "bwrap", "--driver", "claude-code", "--max-iterations", "2", "--check", check)
    done = project.run("swarm", "run", *words, XDG_STATE_HOME=str(tmp_path / "state"))
    assert "1 of 1 task merged" in done.stdout, (done.stdout, done.stderr)
    assert not (tmp_path / "mark").exists()
