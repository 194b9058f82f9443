"""What ends a loop from outside the agent's words: the environment's limits, minutes; and what stays behind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.setups.wiggum.project import none_sleeps, unique_seconds

if TYPE_CHECKING:
    from tests.setups.wiggum.project import Project

OWN = 'GIVEN=1; AGENT_CLI=sh\nagent_extract_response() { cat "$1"; }\nagent_format_display() { cat; }\n'


def start(project: Project, *arguments: str, code: int = 0, **env: str) -> str:
    done = project.wiggum("start", "--no-live", *arguments, **env)
    assert done.returncode == code, done.stderr
    return done.stderr


# -- 14 F.3: the environment -------------------------------------------------------------------------


def test_f3_iterations_and_promise_of_the_environment(project: Project) -> None:
    project.claude("work; promise; echo $TURN; [ $TURN != 4 ] || promise FOO")
    start(project, RALPH_MAX_ITERATIONS="2", RALPH_COMPLETION_PROMISE="FOO", code=1)
    assert (len(project.turns), project.state["outcome"]) == (2, "max_iterations")
    start(project, RALPH_MAX_ITERATIONS="9", RALPH_COMPLETION_PROMISE="FOO")
    assert (len(project.turns), project.state["outcome"]) == (4, "complete")


def test_f3_an_option_goes_before_the_environment(project: Project) -> None:
    project.claude("work; promise BAR")
    project.env |= {"RALPH_MAX_ITERATIONS": "many", "RALPH_COMPLETION_PROMISE": "FOO"}
    start(project, "--max-iterations", "3", "--completion-promise", "BAR")
    assert (project.state["max_iterations"], project.state["completion_promise"]) == (3, "BAR")


def test_f3_a_loop_that_goes_on_keeps_what_was_named_for_it(project: Project) -> None:
    project.wiggum("start", "--mode", "hook", "--max-iterations", "7")
    project.wiggum("start", "--mode", "hook", RALPH_MAX_ITERATIONS="3", RALPH_COMPLETION_PROMISE="FOO")
    assert (project.state["max_iterations"], project.state["completion_promise"]) == (7, "FOO")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RALPH_MAX_ITERATIONS", "0"),
        ("RALPH_MAX_ITERATIONS", "-1"),
        ("RALPH_MAX_ITERATIONS", "ten"),
        ("RALPH_MAX_ITERATIONS", "1e3"),
        ("RALPH_COMPLETION_PROMISE", "  "),
        ("RALPH_COMPLETION_PROMISE", "a</promise>"),
    ],
)
def test_f3_what_makes_no_sense_is_refused_by_name(project: Project, name: str, value: str) -> None:
    project.env[name] = value
    told = start(project, code=2)
    assert f"{name} is '{value.strip() or value}'" in told
    assert "next: " in told
    assert not project.layout.state.exists()


def test_f3_an_empty_variable_is_none(project: Project) -> None:
    project.claude("work; promise")
    start(project, RALPH_MAX_ITERATIONS="", RALPH_COMPLETION_PROMISE="")
    assert (project.state["max_iterations"], project.state["outcome"]) == (50, "complete")


def test_f3_the_hook_s_environment_stands_for_what_start_was_not_told(project: Project) -> None:
    env = {"RALPH_MAX_ITERATIONS": "2", "RALPH_COMPLETION_PROMISE": "FOO"}
    project.wiggum("start", "--mode", "hook")
    assert project.hook(env=env, last_assistant_message="1").document["decision"] == "block"
    assert "max_iterations" in project.hook(env=env, last_assistant_message="2").document["systemMessage"]
    project.wiggum("start", "--mode", "hook", "--max-iterations", "50")
    assert project.hook(env=env, last_assistant_message="1").document["decision"] == "block"
    assert project.hook(env=env, last_assistant_message="2").document["decision"] == "block"
    assert "complete" in project.hook(env=env, last_assistant_message="<promise>FOO</promise>").stdout


def test_f3_the_hook_warns_of_what_makes_no_sense_and_goes_on(project: Project) -> None:
    project.wiggum("start", "--mode", "hook")
    found = project.hook(env={"RALPH_MAX_ITERATIONS": "none"}).document
    assert found["decision"] == "block"
    assert "iteration 2 of 50" in found["systemMessage"]
    assert "RALPH_MAX_ITERATIONS is 'none'" in found["systemMessage"]


# -- 14 F.4: what stays behind -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "options", "outcome", "status"),
    [
        ("work; promise", (), "complete", 0),
        ("tick; work", (), "plan_complete", 0),
        ("work", ("--max-iterations", "1"), "max_iterations", 1),
        ("work", ("--max-minutes", "0.0001"), "max_minutes", 1),
        ("echo '<fatal>no</fatal>'", (), "fatal", 5),
        ("echo thinking", (), "no_file_changes", 6),
    ],
)
def test_f4_the_state_of_an_ended_loop_is_in_the_archive_only(
    project: Project, code: str, options: tuple[str, ...], outcome: str, status: int
) -> None:
    project.claude(code)
    start(project, *options, code=status)
    assert not project.layout.state.exists()
    [kept] = (project.layout.folder / "archive").glob("*.json")
    assert json.loads(kept.read_text())["outcome"] == outcome
    seen = project.status()
    assert (seen["active"], seen["outcome"], seen["exit_code"]) == (False, outcome, status)
    assert f"it has ended, {outcome}" in project.wiggum("stop").stdout
    assert not project.hook().stdout


def test_f4_a_session_s_too(project: Project) -> None:
    project.wiggum("start", "--mode", "hook")
    project.hook(last_assistant_message="<promise>COMPLETE</promise>")
    assert not project.layout.state.exists()
    project.wiggum("start", "--mode", "hook")
    assert project.state["outcome"] is None
    project.wiggum("stop")
    assert not project.layout.state.exists()
    assert project.status()["outcome"] == "cancelled"


def test_f4_an_open_circuit_outlives_the_state(project: Project) -> None:
    project.claude("echo thinking")
    start(project, code=6)
    assert "circuit breaker OPEN" in start(project, code=6)
    assert "OPEN -> HALF" in project.wiggum("reset").stdout
    project.claude("work; promise")
    start(project)
    assert not project.layout.state.exists()
    assert project.wiggum("reset").returncode == 0
    assert not project.layout.state.exists(), "there is nothing to reset"


def test_f4_a_state_that_was_set_aside_has_not_ended(project: Project) -> None:
    project.wiggum("start", "--mode", "hook", "--max-iterations", "7")
    project.wiggum("start", "--mode", "hook", "--fresh")
    project.layout.state.unlink()
    assert project.status()["iteration"] is None


# -- 14 F.6: the loop's log --------------------------------------------------------------------------


def test_f6_the_log_has_each_decision_and_warning(project: Project) -> None:
    project.claude("work; [ $TURN != 1 ] || exit 3; echo I am stuck, $TURN; [ $TURN != 3 ] || promise")
    start(project, "--retry-delay", "0.01")
    log = project.layout.log.read_text()
    for told in (
        "[INFO] outer loop",
        "[INFO] iteration 1 begins",
        "[WARN] iteration 1 failed: exit status 3",
        "[INFO] iteration 1: waiting 0.01 s",
        "[INFO] iteration 1: the loop goes on",
        "[WARN] iteration 2: the agent says that it is stuck",
        "[INFO] iteration 3: the loop ends, complete (exit code 0): the promise 'COMPLETE'",
    ):
        assert told in log
    assert all(line.startswith("[20") for line in log.splitlines())
    start(project, "Build B", "--max-iterations", "1", code=1)
    assert "[WARN] iteration 1: the loop ends, max_iterations (exit code 1)" in project.layout.log.read_text()


def test_f6_refusals_and_what_people_do_are_in_it(project: Project) -> None:
    project.claude("echo thinking")
    start(project, code=6)
    start(project, code=6)
    project.wiggum("reset")
    project.wiggum("start", "--mode", "hook")
    project.wiggum("stop")
    log = project.layout.log.read_text()
    assert "the loop ends, no_file_changes (exit code 6): circuit breaker open: no file changes in 3 turns" in log
    assert "start is refused: circuit breaker OPEN since" in log
    assert "reset by hand; circuit breaker: OPEN -> HALF" in log
    assert "the loop was stopped by hand" in log


def test_f6_in_a_session_too(project: Project) -> None:
    project.wiggum("start", "--mode", "hook")
    project.hook(last_assistant_message="I am stuck.\nError:\x1b[31m no\n")
    project.hook(session_id="another")
    project.hook(last_assistant_message=None)
    project.hook(session_id=None)
    project.hook(last_assistant_message="<promise>COMPLETE</promise>")
    log = project.layout.log.read_text()
    for told in (
        "[INFO] hook loop",
        "[WARN] iteration 1: the agent says that it is stuck",
        "[INFO] the stop of session mine is prevented: ralph: iteration 2 of 50",
        "[INFO] the stop of session another is allowed: it is another session's",
        "[WARN] the stop of session mine is allowed: ralph-bridge stop-hook: the assistant's last message",
        "[WARN] the stop of session ? is allowed: ralph-bridge stop-hook: its input has no session_id",
        "[INFO] iteration 2: the loop ends, complete (exit code 0)",
        "[INFO] the stop of session mine is allowed: ralph: complete",
    ):
        assert told in log
    assert all(line.startswith("[20") for line in log.splitlines())


def test_f6_a_state_that_can_t_be_read_is_in_it(project: Project) -> None:
    project.write(".claude/ralph-state.json", "{")
    assert project.hook().stderr
    assert "[ERROR] the stop is allowed: " in project.layout.log.read_text()


def test_f6_a_log_that_can_t_be_written_ends_no_loop(project: Project) -> None:
    project.layout.log.mkdir(parents=True)
    project.claude("work; promise")
    start(project)


# -- 14 F.7: minutes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [(), pytest.param(("--timeout", "9"), marks=pytest.mark.slow)])
def test_f7_minutes_end_the_turn_that_is_under_way(project: Project, timeout: tuple[str, ...]) -> None:
    mark = f"6{unique_seconds()}"
    project.claude(f"sleep {mark}")
    told = start(project, "--max-minutes", "0.02", *timeout, code=1)
    assert none_sleeps(mark)
    assert (project.state["outcome"], project.state["iteration"]) == ("max_minutes", 1)
    assert "its 0.02 minutes are over" in told


def test_f7_an_agent_script_s_turn_too(project: Project) -> None:
    mark = f"6{unique_seconds()}"
    project.write("bin/my.sh", OWN + f"agent_invoke() {{ sh -c 'sleep {mark}; :'; }}\n")
    start(project, "--agent", "bin/my.sh", "--max-minutes", "0.02", code=1)
    assert none_sleeps(mark)
    assert project.state["outcome"] == "max_minutes"


def test_f7_the_wait_for_a_provider_s_limit_too(project: Project) -> None:
    project.claude("work")
    limit = {"type": "result", "subtype": "success", "is_error": True, "session_id": "s"}
    limit["result"] = "You've hit your session limit \u00b7 resets 3am"
    project.write("bin/claude", f"#!/bin/sh\ncat <<'EOF'\n{json.dumps(limit)}\nEOF\nexit 1\n", 0o755)
    start(project, "--max-minutes", "0.02", code=1)
    assert project.state["outcome"] == "max_minutes"


def test_a_limit_that_came_later_is_not_shown_as_the_number_of_turns(project: Project) -> None:
    project.keep(iteration=6, by_default=["max_iterations"])
    assert (
        "maximum iterations (1) reached"
        in project.hook(env={"RALPH_MAX_ITERATIONS": "1"}).document["systemMessage"]
    )
    assert "iteration:    7, limit 1\n" in project.wiggum("status").stdout
