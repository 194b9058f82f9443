"""``ralph-bridge run`` with the real CLIs, until their own tools have done the whole plan."""

from __future__ import annotations

import json
import re

import pytest

from bridge.verify.rehearsal.scenario import ModelTurn
from tests.real.conftest import DRIVERS, OUTPUT, QUICK, Stage, asked, both_tasks, says, shown, told, works

pytestmark = pytest.mark.real
driver = pytest.mark.parametrize("driver", QUICK)
MEMORY = [name for name in QUICK if name != "copilot"]  # those whose sessions the drivers resume


def sessions(text: str) -> list[str]:
    """The session that each iteration ended with."""
    return re.findall(r"tasks ticked · session (\S+)", text)


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_loop_resumes_its_session_until_the_plan_is_done_d4(stage: Stage, driver: str) -> None:
    """Live; the driver's own filter shows what today's CLI prints, once, and nothing that a tool printed."""
    stage.git("config", "user.name", "Rehearsal")  # in the repository: gemini's shell looks at no ~/.gitconfig
    stage.git("config", "user.email", "rehearsal@localhost")
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
    assert OUTPUT not in shown(done)
    assert "What is next?" not in shown(done), "that was a thought"
    if driver in MEMORY:
        first, second = sessions(told(done))
        assert first == second
        assert f"resumes {first}" in told(done)
        assert asked(done)[-1].count("Do the next") == 2, "the second run knows what was said in the first"


@pytest.mark.parametrize(("driver", "length"), [("claude-code", 1), ("claude-code", 33_000), ("codex", 1)])
def test_each_run_of_a_session_is_told_its_own_context_d20(stage: Stage, driver: str, length: int) -> None:
    """Though claude sends the system prompt of a session's first run in every later one. Long ones go to stdin."""
    stage.write("PROMPT.md", f"Do the next task of the plan{'.' * length}\n")
    done = stage.loop(driver, turns=both_tasks())
    assert done.status == 0, told(done)
    first, *_, last = ("\n".join((*each["system"], *each["user"])) for each in done.requests if each["tools"])
    assert ("Loop #1." in first, "Loop #2." in first) == (True, False)
    assert last.count("Loop #2.") == 1


@driver
def test_batch_mode_shows_the_answer_and_reads_its_status_block_d6_d10(stage: Stage, driver: str) -> None:
    """Whatever the output's form, EXIT_SIGNAL true ends the loop, and false doesn't, whatever the words say."""
    turns = [
        works("one"),
        says("All is complete, everything is done, nothing is left."),
        says("Still complete."),
        says("Now.", signal=True),
    ]
    done = stage.loop(driver, "--no-live", "--max-iterations", "5", turns=turns)
    assert done.status == 0, told(done)
    assert stage.plan() == "- [x] one\n- [ ] two\n"
    assert "complete after 3 iterations" in told(done)
    assert "(project_complete)" in told(done)
    assert 'Now.\nIt prints "quotes" and `ticks`.' in shown(done)


def test_the_status_block_is_read_from_claudes_live_output_d10(stage: Stage) -> None:
    """The others print the same in both modes."""
    turns = [says("All is complete, everything is done."), says("Still complete."), says("Now.", signal=True)]
    done = stage.loop("claude-code", "--max-iterations", "5", turns=turns)
    assert (done.status, "(project_complete)" in told(done)) == (0, True), told(done)
    assert "complete after 3 iterations" in told(done)


@driver
def test_without_continuing_every_run_begins_anew_and_a_promise_ends_the_loop(stage: Stage, driver: str) -> None:
    turns = [says("Not yet."), says("Finished. <promise>ALL DONE</promise>")]
    done = stage.loop(driver, "--no-continue", "--completion-promise", "ALL DONE", turns=turns)
    assert (done.status, "(completion_promise)" in told(done)) == (0, True), told(done)
    assert "complete after 2 iterations" in told(done)
    assert [each.count("Do the next") for each in asked(done)] == [1, 1]


@driver
def test_a_bmalph_project_with_its_own_rules(stage: Stage, driver: str) -> None:
    stage.as_bmalph()
    turns = [works("one"), works("two"), says("Done with both.")]
    done = stage.bridge("run", turns=turns, env={"PLATFORM_DRIVER": driver})
    assert done.status == 0, told(done)
    assert stage.plan() == "- [x] one\n- [x] two\n"
    assert "(plan_complete)" in told(done)
    status = json.loads((stage.project / ".ralph" / "status.json").read_text())
    assert status["exit_reason"] == "plan_complete"


def test_a_bmalph_project_waits_for_a_limit_to_end_d12(stage: Stage) -> None:
    stage.as_bmalph()
    turn = ModelTurn(status=429, limit="five_hour", resets_in=7200)
    done = stage.bridge("run", "--driver", "claude-code", turns=[turn], timeout=15, subscription=True)
    assert done.status is None, "it was to wait"
    assert "5-hour limit" in told(done) + shown(done) or "waiting" in told(done)


def test_a_frankbria_project_through_its_own_command(stage: Stage) -> None:
    """Two loops of the adopted ``ralph``, the second in the session of the first, each told its own context."""
    stage.as_frankbria(ALLOWED_TOOLS='"Read,Write,Edit,Bash"')
    assert stage.bridge("adopt").status == 0
    done = stage.run(str(stage.home / ".local/bin/ralph"), "--live", turns=both_tasks())
    assert done.status == 0, told(done)
    assert stage.plan() == "- [x] one\n- [x] two\n"
    assert stage.commits()[1:] == ["one", "two"]
    status = json.loads((stage.project / ".ralph/status.json").read_text())
    assert (status["status"], status["exit_reason"], status["calls_made_this_hour"]) == (
        "completed",
        "plan_complete",
        2,
    )
    assert status["tokens_used_this_hour"] > 0
    assert asked(done)[-1].count("Do the next") == 2, "the second run knows what was said in the first"
    first, *_, last = ("\n".join((*each["system"], *each["user"])) for each in done.requests if each["tools"])
    assert ("Loop #1." in first, "Loop #2." in last) == (True, True)
    assert "Done with two." in shown(done)


def test_a_frankbria_project_whose_agent_is_refused_a_tool_f30(stage: Stage) -> None:
    stage.as_frankbria(ALLOWED_TOOLS='"Read,Bash(git status)"')
    done = stage.bridge("run", turns=[works("one"), says("I could not."), works("two"), says("Nor now.")])
    assert done.status == 0, told(done)
    status = json.loads((stage.project / ".ralph/status.json").read_text())
    assert (status["status"], status["exit_reason"]) == ("halted", "permission_denied")
    assert "ALLOWED_TOOLS" in shown(done) + told(done)
    assert stage.plan() == "- [ ] one\n- [ ] two\n"


MODELS = {
    "claude-code": ("claude-other:low", "claude-other"),
    "codex": ("gpt-5.4:high", "gpt-5.4"),
    "opencode": ("rehearsal/other", "other"),
    "gemini": ("gemini-other", "gemini-other"),
    "qwen": ("other", "other"),
    "copilot": ("gpt-5.4:high", "gpt-5.4"),
    "pi": ("rehearsal/other", "other"),
    "kilo": ("rehearsal/other", "other"),
}
"""Which model is asked for, and what the server is to hear."""


@pytest.mark.parametrize("driver", MODELS)
def test_the_model_that_is_asked_for_is_asked_in_new_and_in_resumed_sessions(stage: Stage, driver: str) -> None:
    for path in stage.home.rglob("opencode.json*"):  # which takes a model of its list only
        known = json.loads(path.read_text())
        for provider in known["provider"].values():
            provider["models"]["other"] = next(iter(provider["models"].values()))
        path.write_text(json.dumps(known))
    models = stage.home / ".pi/agent/models.json"  # so does pi
    known = json.loads(models.read_text())
    for provider in known["providers"].values():
        provider["models"].append(provider["models"][0] | {"id": "other"})
    models.write_text(json.dumps(known))
    wanted, heard = MODELS[driver]
    done = stage.loop(driver, "--model", wanted, turns=both_tasks())
    assert done.status == 0, told(done)
    assert "complete after 2 iterations" in told(done)
    if driver in MEMORY:
        first, second = sessions(told(done))
        assert first == second
    requests = [each for each in done.requests if each["tools"]]
    names = {each["model"] or each["path"].rpartition("/")[2].partition(":")[0] for each in requests}
    assert names == {heard}


REVIEWERS = ("codex", "claude-code", "pi")


@pytest.mark.parametrize("reviewer", REVIEWERS)
def test_another_cli_reviews_what_was_done_before_the_loop_is_complete(stage: Stage, reviewer: str) -> None:
    """Its finding is in the next turn of the loop's own tool, and its own turn has changed nothing."""
    own = "claude-code" if reviewer == "codex" else "codex"
    turns = [
        *both_tasks(),
        ModelTurn(text="I looked.\n\n1. `one.txt:1`: the first line says too little"),
        *(ModelTurn(text="I mend it.", run="echo more >> one.txt"), says("Mended.")),
        ModelTurn(text="All is well.\n\nNO ISSUES FOUND"),
    ]
    done = stage.loop(own, "--review", f"driver:{reviewer}", turns=turns)
    assert done.status == 0, told(done)
    assert told(done).count(f"review by driver {reviewer} took") == 2
    assert (": 1 finding ·" in told(done), ": no issues found ·" in told(done)) == (True, True)
    assert "; it has changed" not in told(done)
    told_to = asked(done)
    first = next(number for number, text in enumerate(told_to) if "NO ISSUES FOUND" in text)
    assert "one.txt" in told_to[first]
    assert any("the first line says too little" in text for text in told_to[first + 1 :])


@pytest.mark.parametrize("driver", ["claude-code", "codex", "opencode", "gemini"])
def test_a_session_that_is_full_is_followed_by_a_fresh_one(stage: Stage, driver: str) -> None:
    """The server counts 1234 tokens in and 56 out for each call; what it prints tells how full the last one was."""
    stage.git("config", "user.name", "Rehearsal")
    stage.git("config", "user.email", "rehearsal@localhost")
    for options in (("--max-context", "1300k"), ("--max-context", "1200", "--no-live")):
        stage.write("@fix_plan.md", "- [ ] one\n- [ ] two\n")
        done = stage.loop(driver, *options, turns=both_tasks())
        assert done.status == 0, told(done)
        small = options[1] == "1200"
        assert ("is allowed: the next turn begins a fresh one" in told(done)) is small, told(done)
        assert ("resumes" in told(done)) is not small
        assert asked(done)[-1].count("Do the next") == (1 if small else 2)
