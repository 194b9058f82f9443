"""``ralph-bridge run`` with the real CLIs, until their own tools have done the whole plan."""

from __future__ import annotations

import json
import re

import pytest

from bridge.rehearsal.scenario import Turn
from tests.real.conftest import DRIVERS, Stage, asked, both_tasks, says, shown, told, works

pytestmark = pytest.mark.real
driver = pytest.mark.parametrize("driver", DRIVERS)
MEMORY = [name for name in DRIVERS if name != "copilot"]  # those whose sessions the drivers resume
LIVE = MEMORY


def sessions(text: str) -> list[str]:
    """The session that each iteration ended with."""
    return re.findall(r"tasks ticked · session (\S+)", text)


@driver
def test_the_loop_resumes_its_session_until_the_plan_is_done(stage: Stage, driver: str) -> None:
    done = stage.loop(driver, turns=both_tasks())
    assert done.status == 0, told(done)
    assert stage.plan() == "- [x] one\n- [x] two\n"
    assert "complete after 2 iterations" in told(done)
    assert "(plan_complete)" in told(done)
    # D11: codex's sandbox keeps .git read-only, so it can't commit.
    assert stage.commits() == ([] if driver == "codex" else ["one", "two"])
    for text in ("I do one.", "Done with one.", "Done with two."):
        assert shown(done).count(text) == 1, text
    assert shown(done).count('It prints "quotes" and `ticks`.') == 2
    if driver in MEMORY:
        first, second = sessions(told(done))
        assert first == second
        assert f"resumes {first}" in told(done)
        assert asked(done)[-1].count("Do the next") == 2, "the second run knows what was said in the first"


@pytest.mark.parametrize("driver", MEMORY)
def test_without_continuing_every_run_begins_anew(stage: Stage, driver: str) -> None:
    done = stage.loop(driver, "--no-continue", turns=both_tasks())
    assert done.status == 0, told(done)
    assert asked(done)[-1].count("Do the next") == 1


@driver
def test_batch_mode_shows_the_answer_when_it_is_over(stage: Stage, driver: str) -> None:
    done = stage.loop(driver, "--no-live", turns=both_tasks())
    assert done.status == 0, told(done)
    assert stage.plan() == "- [x] one\n- [x] two\n"
    assert 'Done with two.\nIt prints "quotes" and `ticks`.' in shown(done)


@driver
def test_the_status_block_is_read(stage: Stage, driver: str) -> None:
    """D6 and D10: whatever the output's form, EXIT_SIGNAL true ends the loop, and false doesn't."""
    turns = [
        says("All is complete, everything is done, nothing is left."),
        says("Still complete."),
        says("Now.", signal=True),
    ]
    done = stage.loop(driver, "--max-iterations", "5", turns=turns)
    assert done.status == 0, told(done)
    assert "complete after 3 iterations" in told(done)
    assert "(project_complete)" in told(done)


@pytest.mark.parametrize("driver", LIVE)
def test_live_output_names_no_tool_output_and_shows_each_text_once(stage: Stage, driver: str) -> None:
    """D4: the driver's own filter shows what today's CLI prints."""
    turns = [works("one", command="echo SECRET-OF-THE-TOOL"), says("The end of it.")]
    done = stage.loop(driver, "--max-iterations", "1", turns=turns)
    assert shown(done).count("The end of it.") == 1
    assert shown(done).count("I do one.") == 1
    assert "SECRET-OF-THE-TOOL" not in shown(done)
    assert "What is next?" not in shown(done), "that was a thought"


@driver
def test_a_promise_ends_the_loop(stage: Stage, driver: str) -> None:
    turns = [says("Finished. <promise>ALL DONE</promise>")]
    done = stage.loop(driver, "--completion-promise", "ALL DONE", turns=turns)
    assert (done.status, "(completion_promise)" in told(done)) == (0, True), told(done)


@driver
def test_a_bmalph_project_with_its_own_rules(stage: Stage, driver: str) -> None:
    stage.as_bmalph()
    done = stage.bridge("run", turns=both_tasks(), env={"PLATFORM_DRIVER": driver})
    assert done.status == 0, told(done)
    assert stage.plan() == "- [x] one\n- [x] two\n"
    assert "(plan_complete)" in told(done)
    status = json.loads((stage.project / ".ralph" / "status.json").read_text())
    assert status["exit_reason"] == "plan_complete"


def test_a_bmalph_project_waits_for_a_limit_to_end_d12(stage: Stage) -> None:
    stage.as_bmalph()
    turn = Turn(status=429, limit="five_hour", resets_in=7200)
    done = stage.bridge("run", "--driver", "claude-code", turns=[turn], timeout=8, subscription=True)
    assert done.status is None, "it was to wait"
    assert "session limit" in told(done) + shown(done) or "waiting" in told(done)
