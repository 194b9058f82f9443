"""The shipped agents with the real CLIs: a ralph-loop session that plans nothing and builds everything."""

from __future__ import annotations

import shutil
import sys

import pytest

from bridge.base.resources import shipped
from bridge.verify.rehearsal.scenario import ModelTurn
from tests.real.conftest import AGENTS, MAIN, ROOT, Stage, shown, told

pytestmark = pytest.mark.real
agent = pytest.mark.parametrize("agent", AGENTS)
CONFIG = (
    'SPECS_DIR="specs"\nPROCESS_DIR=""\nDEFAULT_MAX_ITERATIONS=5\nMAX_RETRIES=2\nRETRY_DELAY=0\nAGENT="{agent}"\n'
)
PLAN = "# Plan\n\nPlan Type: standard\n\n### Task 1: one\n**Status:** planned\n\nDo one.\n"
TICK = "sed -i 's/planned/complete/' .ralph/implementation_plan.md && echo one > one.txt"


@pytest.fixture
def ralph(stage: Stage) -> Stage:
    """A project of that kind; `agents/` are the shipped ones."""
    for name, text in {
        ".ralph/ralph": "#!/usr/bin/env bash\n# the controller\n",
        ".ralph/lib/plan-filter.sh": "exit 9\n",
        ".ralph/prompts/build.md": '- Build "it", and say so: $HOME, `x`.\n${PLAN_HEADER}\n${TASK_OVERVIEW}\n',
        ".ralph/prompts/plan.md": "Plan.\n",
        ".ralph/implementation_plan.md": PLAN,
        "specs/one.md": "# One\n",
    }.items():
        stage.write(name, text)
    (stage.project / "@fix_plan.md").unlink()
    (stage.project / "PROMPT.md").unlink()
    shutil.copytree(shipped("agents"), stage.project / ".ralph" / "agents")
    return stage


@agent
def test_a_session_builds_until_the_agent_says_complete_d2_d3(ralph: Stage, agent: str) -> None:
    """D2: claude prints its events and may use its tools. D3: cline needs no settings of older versions."""
    ralph.write(".ralph/config", CONFIG.format(agent=agent))
    turns = [
        ModelTurn(text="I begin.", think="Hm.", run=TICK),
        ModelTurn(text='One is "done".'),
        ModelTurn(text="All done.\n\n<promise>COMPLETE</promise>"),
    ]
    done = ralph.bridge("run", "build", turns=turns)
    assert done.status == 0, told(done) + shown(done)
    assert (ralph.project / "one.txt").read_text() == "one\n"
    assert 'One is "done".' in shown(done)
    assert "[tool]" in shown(done)
    (log,) = (ralph.project / ".ralph" / "logs").glob("session-*.log")
    assert "Tokens:" in log.read_text() or "Iteration Cost: $" in log.read_text()


LONG = "A long story that goes on and on. " * 30
FAULTS = {
    "429": ModelTurn(status=429),
    "500": ModelTurn(status=500),
    "529": ModelTurn(status=529),
    "cut": ModelTurn(text=LONG, fault="cut"),
}


@agent
@pytest.mark.parametrize("fault", FAULTS)
def test_a_provider_that_comes_back_costs_no_work(ralph: Stage, agent: str, fault: str) -> None:
    """Whether the CLI asks again by itself, or fails and is started again."""
    ralph.write(".ralph/config", CONFIG.format(agent=agent))
    turns = [ModelTurn(text="I begin.", run=TICK), ModelTurn(text="All done.\n\n<promise>COMPLETE</promise>")]
    done = ralph.bridge("run", "build", turns=[FAULTS[fault]] * 2 + turns)
    assert done.status == 0, told(done) + shown(done)
    assert (ralph.project / "one.txt").read_text() == "one\n"
    assert "Exit: completion signal" in told(done) + shown(done)
    assert "Iterations: 1 " in told(done) + shown(done)


@pytest.mark.parametrize(
    ("agent", "fault"),
    # claude asks for an answer in one piece when its stream is cut, and gets it.
    [("claude", "429"), ("claude", "500"), ("codex", "429"), ("codex", "500"), ("codex", "cut"), ("cline", "500")],
)
def test_a_provider_that_stays_away_ends_the_session(ralph: Stage, agent: str, fault: str) -> None:
    ralph.write(".ralph/config", CONFIG.format(agent=agent).replace("MAX_RETRIES=2", "MAX_RETRIES=0"))
    done = ralph.bridge("run", "build", turns=[FAULTS[fault]])
    assert done.status == 4, told(done) + shown(done)
    assert "[error]" in shown(done)
    assert "agent failure exceeded retries" in told(done) + shown(done)


@agent
def test_a_stream_that_hangs_is_ended_with_the_session(ralph: Stage, agent: str) -> None:
    """Such a loop has no limit of time: whoever wants one runs it under `timeout`."""
    ralph.write(".ralph/config", CONFIG.format(agent=agent))
    bridge = (sys.executable, "-P", "-c", MAIN, str(ROOT), "run", "build")
    done = ralph.run("timeout", "--preserve-status", "20", *bridge, turns=[ModelTurn(text=LONG, fault="hang")])
    assert done.status == 143, told(done) + shown(done)
    assert "SESSION SUMMARY" in told(done) + shown(done)


@agent
def test_an_agent_that_fails_is_tried_again_and_then_given_up(ralph: Stage, agent: str) -> None:
    ralph.write(".ralph/config", CONFIG.format(agent=agent).replace("MAX_RETRIES=2", "MAX_RETRIES=1"))
    done = ralph.bridge("run", "build", turns=[ModelTurn(status=401, message="that key is unknown")])
    assert done.status == 4, told(done) + shown(done)
