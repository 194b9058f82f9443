"""Provider adapters in a frankbria loop, with the real CLIs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.machine import adapters_of_others
from tests.real.conftest import PATIENCE, Stage, says, shown, told

pytestmark = pytest.mark.real


@pytest.mark.parametrize("name", ["codex", "opencode", "gemini", "claude"])
def test_a_new_adapter_runs_its_cli_resumes_it_and_ends_the_loop(stage: Stage, name: str) -> None:
    stage.as_frankbria(AGENT_PROVIDER=name)
    made = stage.bridge("new", "provider", name)
    assert made.status == 0, told(made)
    turns = [says("Not yet."), says("All is done.", signal=True), says("Still done.", signal=True)]
    done = stage.bridge("run", "--max-iterations", "5", turns=turns)
    assert done.status == 0, told(done)
    status = json.loads((stage.project / ".ralph/status.json").read_text())
    assert (status["exit_reason"], status["loop_count"]) == ("completion_signals", 4), told(done)
    assert "found no word of the answer" not in told(done) + shown(done)
    resumed = re.findall(r"resumes session (\S+?)\)", told(done) + shown(done))
    assert len(resumed) == 2
    assert len({*resumed}) == 1


@adapters_of_others()
def test_an_adapter_of_others_ends_its_loop_too(stage: Stage, path: str) -> None:
    """Also one that makes nothing of its CLI's output: then our own reading does, and says so."""
    adapter = Path(path)
    stage.as_frankbria(AGENT_PROVIDER=adapter.stem, SESSION_CONTINUITY="false")
    stage.write(f"lib/agents/{adapter.name}", adapter.read_text())
    turns = [says("Not yet."), says("All is done.", signal=True), says("Still done.", signal=True)]
    trusting = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
    done = stage.bridge("run", "--max-iterations", "5", turns=turns, env=trusting, timeout=PATIENCE)
    assert done.status == 0, told(done)
    assert "completion_signals" in told(done)
