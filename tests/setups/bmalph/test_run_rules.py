"""The loop's rules in a bmalph project: limits, breaker, permissions, exits, gates, reviews, sessions."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from bridge.base.process.program import Graces
from bridge.loop.engine.events import CheckEnded, CheckStarted
from tests.setups.bmalph import inside, readers
from tests.setups.bmalph.agents import SESSION, Agent

if TYPE_CHECKING:
    from tests.setups.bmalph.conftest import Project

DENIED = (
    '{"type":"result","subtype":"success","is_error":false,"result":"could not","session_id":"s-1",'
    '"permission_denials":[{"tool_name":"Bash","tool_input":{"command":"git push"}}]}'
)


def status(project: Project) -> dict[str, Any]:
    return readers.status(project.path / ".ralph")


def ended(project: Project) -> tuple[str, str, str]:
    record = status(project)
    return record["last_action"], record["status"], record["exit_reason"]


def metrics(project: Project) -> list[dict[str, Any]]:
    return [json.loads(line) for line in project.read(".ralph/logs/metrics.jsonl").splitlines()]


def reset_reason(project: Project) -> object:
    return json.loads(project.read(".ralph/.ralph_session")).get("reset_reason")


# -- a provider's limits ---------------------------------------------------------------------------------


def test_a_limit_is_waited_out_and_costs_no_iteration(looping: Project) -> None:
    limited = (
        'echo \'{"type":"turn.failed","error":{"message":"You\u2019ve hit your usage limit. '
        "Upgrade to Pro or try again at 10:30 AM.\"}}'; exit 1"
    )
    agent = Agent(looping, "codex").runs("change; working", limited).otherwise("change; working")
    time = inside.Time()
    loop = inside.run(looping, max_iterations=2, time=time)
    [(reason, seconds)] = loop.waits
    assert (reason, abs(seconds - (2 * 3600 + 21 * 60 + 51)) <= 6) == ("api_limit", True)
    assert [event.iteration for event in loop.iterations] == [1, 2, 2]
    assert len(agent.calls) == 3
    assert SESSION in agent.calls[2]
    assert [record["loop_outcome"] for record in metrics(looping)] == ["success", "api_limit", "success"]


@pytest.mark.slow
def test_a_weekly_limit_too(looping: Project) -> None:
    until = inside.START.timestamp() + 30 * 3600
    info = f'{{"status":"rejected","resetsAt":{until:.0f},"rateLimitType":"seven_day"}}'
    event = f'{{"type":"rate_limit_event","rate_limit_info":{info}}}'
    failed = '{"type":"result","is_error":true,"api_error_status":429,"result":"weekly limit","session_id":"s-1"}'
    Agent(looping, "claude-code").runs(f"echo '{event}'; echo '{failed}'; exit 1").otherwise("change; working")
    loop = inside.run(looping, "claude-code", live=True, max_iterations=1)
    [(reason, seconds)] = loop.waits
    assert (reason, abs(seconds - 30 * 3600) <= 6) == ("api_limit", True)
    assert len(loop.iterations) == 2


def test_a_limit_without_an_end_waits_as_set(looping: Project) -> None:
    limited = 'echo "You\'ve hit your session limit"; exit 1'
    Agent(looping, "copilot").runs(limited).otherwise("change; working")
    loop = inside.run(looping, "copilot", max_iterations=1, RALPH_BRIDGE_LIMIT_WAIT_SECONDS="1800")
    assert loop.waits == [("api_limit", 1800)]


def test_while_it_waits_it_says_so(looping: Project) -> None:
    Agent(looping, "copilot").runs('echo "You\'ve hit your session limit"; exit 1').otherwise("change; working")
    seen: list[tuple[str, str]] = []

    class Looking(inside.Time):
        def wait(self, seconds: float) -> None:
            record = status(looping)
            seen.append((record["last_action"], record["status"]))
            super().wait(seconds)

    inside.run(looping, "copilot", max_iterations=1, RALPH_BRIDGE_LIMIT_WAIT_SECONDS="100", time=Looking())
    assert set(seen) == {("api_limit", "paused")}


def test_a_prompt_that_a_turn_has_taken_away_ends_the_loop(looping: Project) -> None:
    agent = Agent(looping, "codex").runs("change; working; mv .ralph/PROMPT.md away").otherwise("change; working")
    inside.run(looping, max_iterations=3, RALPH_BRIDGE_RETRY_SECONDS="1")
    assert len(agent.calls) == 1


@pytest.mark.parametrize(
    ("seconds", "reasons", "calls"),
    [("60", ["", "", "max_iterations"], 3), ("0", ["", "retry", "max_iterations"], 2)],
)
def test_a_program_that_replaces_itself(looping: Project, seconds: str, reasons: list[str], calls: int) -> None:
    """It is looked for again in the same turn; where that isn't wanted, the turn has failed."""
    agent = Agent(looping, "codex").runs('change; working; mv "$0" "$0.new"').otherwise("change; working")

    class Back(inside.Time):
        def wait(self, seconds: float) -> None:
            (looping.path / "bin/codex.new").replace(looping.path / "bin/codex")
            super().wait(seconds)

    few = f"{looping.path / 'bin'}:/usr/bin:/bin"
    looping.env["RALPH_BRIDGE_ABSENT_SECONDS"] = seconds
    loop = inside.run(looping, max_iterations=3, RALPH_BRIDGE_RETRY_SECONDS="1", time=Back(), PATH=few)
    assert [event.decision.reason for event in loop.iterations] == reasons
    assert len(agent.calls) == calls


# -- the breaker -----------------------------------------------------------------------------------------


def test_no_progress_opens_the_breaker(looping: Project) -> None:
    Agent(looping, "codex").otherwise("working")
    loop = inside.run(looping, CB_NO_PROGRESS_THRESHOLD="2")
    assert (loop.reason, loop.end.iterations) == ("stagnation_detected", 2)
    assert ended(looping) == ("circuit_breaker_open", "halted", "stagnation_detected")
    assert reset_reason(looping) == "circuit_breaker_trip"
    assert metrics(looping)[-1]["loop_outcome"] == "circuit_breaker_trip"
    assert readers.breaker(looping.path / ".ralph")["state"] == "OPEN"


def test_an_open_breaker_starts_nothing_until_its_cooldown_is_over(looping: Project) -> None:
    agent = Agent(looping, "codex").otherwise("working")
    time = inside.Time()
    inside.run(looping, CB_NO_PROGRESS_THRESHOLD="2", time=time)
    agent.otherwise("change; commit; working")
    assert inside.run(looping, time=time).reason == "stagnation_detected"
    assert len(agent.calls) == 2
    assert reset_reason(looping) == "circuit_breaker_open"
    time.wait(31 * 60)
    assert inside.run(looping, max_iterations=1, time=time).reason == "max_iterations"
    states = [entry["to_state"] for entry in json.loads(looping.read(".ralph/.circuit_breaker_history"))]
    assert states == ["OPEN", "HALF_OPEN", "CLOSED"]


def test_auto_reset_closes_it_at_start(looping: Project) -> None:
    Agent(looping, "codex").otherwise("working")
    inside.run(looping, CB_NO_PROGRESS_THRESHOLD="1")
    loop = inside.run(looping, CB_NO_PROGRESS_THRESHOLD="2", CB_AUTO_RESET="true")
    assert (loop.reason, loop.end.iterations) == ("stagnation_detected", 2)


def test_new_files_and_commits_are_progress(looping: Project) -> None:
    steps = ["change new.txt; working", "commit; working", "change new.txt; working", "working"]
    Agent(looping, "codex").runs(*steps)
    loop = inside.run(looping, max_iterations=4)
    assert [event.outcome.files_changed for event in loop.iterations] == [1, 1, 1, 0]


def test_only_reading_opens_it(looping: Project) -> None:
    Agent(looping, "codex").otherwise("exec sleep 60")
    loop = inside.run(looping, _HEARTBEAT_TIMEOUT_SECS_OVERRIDE="0.2")
    assert (loop.reason, loop.end.iterations) == ("read_only_timeouts", 2)
    assert ended(looping) == ("circuit_breaker_open", "halted", "read_only_timeouts")


# -- permissions -----------------------------------------------------------------------------------------


def test_a_refused_tool_lets_the_loop_go_on(looping: Project) -> None:
    Agent(looping, "claude-code").runs(f"echo '{DENIED}'").otherwise("change; working")
    loop = inside.run(looping, "claude-code", max_iterations=2)
    assert [event.decision.reason for event in loop.iterations] == ["permission_denied", "max_iterations"]
    assert "Bash(git push)" in looping.read(".ralph/logs/ralph.log")


def test_or_halts_it(looping: Project) -> None:
    Agent(looping, "claude-code").otherwise(f"change; echo '{DENIED}'")
    loop = inside.run(looping, "claude-code", PERMISSION_DENIAL_MODE="halt")
    assert (loop.reason, loop.end.iterations) == ("permission_denied", 1)
    assert ended(looping) == ("permission_denied", "halted", "permission_denied")
    assert reset_reason(looping) == "permission_denied"


def test_or_opens_the_breaker_at_its_threshold(looping: Project) -> None:
    Agent(looping, "claude-code").otherwise(f"change; echo '{DENIED}'")
    loop = inside.run(looping, "claude-code", PERMISSION_DENIAL_MODE="threshold")
    assert (loop.reason, loop.end.iterations) == ("permission_denied", 2)
    assert ended(looping)[1] == "halted"


def test_c1_a_cli_that_says_nothing_and_does_nothing_is_retried_until_the_breaker_opens(looping: Project) -> None:
    looping.cli("claude", "exit 0")
    loop = inside.run(looping, "claude-code")
    assert [event.outcome.failure for event in loop.iterations] == ["it printed nothing"] * 3
    assert loop.reason == "stagnation_detected"
    assert "[ERROR] Run failed: it printed nothing" in looping.read(".ralph/logs/ralph.log")


# -- the end ---------------------------------------------------------------------------------------------


def test_complete_has_to_be_said_twice(looping: Project) -> None:
    agent = Agent(looping, "codex").runs("change; complete", "change; working").otherwise("change; complete")
    loop = inside.run(looping)
    assert (loop.reason, len(agent.calls)) == ("completion_signals", 3)
    assert ended(looping) == ("graceful_exit", "completed", "completion_signals")
    assert reset_reason(looping) == "project_complete"


def test_a_plan_that_is_done_needs_no_run(looping: Project) -> None:
    agent = Agent(looping, "codex")
    looping.write(".ralph/@fix_plan.md", "- [x] a\n")
    assert (inside.run(looping).reason, agent.calls) == ("plan_complete", [])
    assert status(looping)["loop_count"] == 0


def test_a_claim_that_the_plan_contradicts_does_not_count(looping: Project) -> None:
    Agent(looping, "codex").otherwise("change; complete 1")
    loop = inside.run(looping, max_iterations=3)
    assert loop.reason == "max_iterations"
    assert "1 tasks claimed, 0 boxes ticked" in looping.read(".ralph/logs/ralph.log")
    assert readers.analysis(looping.path / ".ralph")["has_progress_tracking_mismatch"] is True


def test_finished_stories_are_collapsed(looping: Project) -> None:
    Agent(looping, "codex").otherwise("change; tick; working 1")
    inside.run(looping, max_iterations=1)
    assert looping.read(".ralph/@fix_plan.md").startswith(
        "- [x] Story 1.1: task 1\n- [ ] Story 1.2: task 2\n  > as"
    )


def test_time_is_up(looping: Project) -> None:
    Agent(looping, "codex").otherwise("change; working")
    loop = inside.run(looping, max_iterations=None, max_seconds=120, RALPH_BRIDGE_PAUSE_SECONDS="50")
    assert (loop.reason, loop.end.iterations) == ("max_minutes", 3)
    assert ended(looping) == ("max_minutes", "stopped", "max_minutes")


# -- quality gates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "number", "told"), [("warn", 0, False), ("block", 1, True), ("circuit-breaker", 2, True)]
)
def test_gates(looping: Project, mode: str, number: int, told: bool) -> None:
    agent = Agent(looping, "codex").otherwise("change; complete")
    looping.env |= {"TEST_COMMAND": "echo it broke; false", "QUALITY_GATES": "true; npm run lint --fix"}
    loop = inside.run(looping, max_iterations=3, QUALITY_GATE_MODE=mode)
    assert loop.reason == ("max_iterations" if mode == "block" else "completion_signals")
    assert metrics(looping)[0]["quality_gate_result"] == number
    results = json.loads(looping.read(".ralph/.quality_gate_results"))
    assert (results["overall_status"], results["test_gate"]["output"]) == ("fail", "it broke\n")
    assert [gate["status"] for gate in results["custom_gates"]] == ["pass", "fail"]
    assert status(looping)["quality_gates"] == {"overall_status": "fail", "mode": mode}
    assert ("TESTS FAILING: it broke. QG fail: npm run. " in agent.calls[1][-1]) == told


def test_a_gate_that_hangs_is_ended(looping: Project) -> None:
    Agent(looping, "codex").otherwise("change; working")
    inside.run(looping, max_iterations=1, QUALITY_GATES="echo so far; sleep 60", QUALITY_GATE_TIMEOUT="1")
    [_, hung] = json.loads(looping.read(".ralph/.quality_gate_results"))["custom_gates"]
    assert (hung["exit_code"], hung["timed_out"]) == (124, True)


def test_a_gate_is_told_of_as_any_check_and_has_a_log(looping: Project) -> None:
    Agent(looping, "codex").otherwise("change; working")
    loop = inside.run(
        looping, max_iterations=1, TEST_COMMAND="echo ${BASH_VERSION%%.*}; pwd; fi", QUALITY_GATES="true"
    )
    told = [each for each in loop.events if isinstance(each, CheckStarted | CheckEnded)]
    assert [each.command for each in told] == [*["echo ${BASH_VERSION%%.*}; pwd; fi"] * 2, "true", "true"]
    tested = json.loads(looping.read(".ralph/.quality_gate_results"))["test_gate"]["output"]
    assert tested == told[1].log.read_text()
    assert "check `" not in looping.read(".ralph/logs/ralph.log")
    assert tested.startswith("bash: -c: line 1: syntax error near unexpected token `fi'"), tested


def test_a_gate_that_is_cut_off_leaves_the_turn_as_it_was(looping: Project) -> None:
    Agent(looping, "codex").otherwise("change; working")
    stop = "kill -INT $PPID; sleep 60"
    with pytest.raises(KeyboardInterrupt):
        inside.run(looping, max_iterations=1, QUALITY_GATES=stop)
    records = map(json.loads, looping.read(".ralph/logs/turns.jsonl").splitlines())
    assert [each["result"] for each in records] == ["success"]


# -- reviews ---------------------------------------------------------------------------------------------


def test_a_review_and_what_becomes_of_it(looping: Project) -> None:
    looping.write(".ralph/REVIEW_PROMPT.md", "Review it.\n")
    found = r"{\"severity\":\"HIGH\",\"issues_found\":2,\"summary\":\"a leak\",\"details\":[]}"
    agent = Agent(looping, "codex").otherwise("change; commit; working")
    agent.runs("change; commit; working", rf"say '---REVIEW_FINDINGS---\n{found}\n---END_REVIEW_FINDINGS---'")
    inside.run(looping, max_iterations=2, REVIEW_MODE="enhanced", REVIEW_INTERVAL="1")
    assert "Review it." in agent.calls[1][-1]
    assert "read only" in agent.calls[1][-1]
    assert "a leak" in agent.calls[2][-1]
    assert SESSION in agent.calls[2]
    assert SESSION not in agent.calls[1]
    assert looping.read(".ralph/.call_count") == "2\n"
    assert (looping.path / ".ralph/logs/review_loop_1.log").exists()


def test_a_review_without_its_prompt_is_a_notice(looping: Project) -> None:
    agent = Agent(looping, "codex").otherwise("change; working")
    loop = inside.run(looping, max_iterations=2, REVIEW_MODE="enhanced", REVIEW_INTERVAL="1")
    assert (len(agent.calls), "REVIEW_PROMPT.md is not there" in loop.notices) == (2, True)


def test_a_review_whose_cli_has_answered_and_stays_is_over(looping: Project) -> None:
    looping.write(".ralph/REVIEW_PROMPT.md", "Review it.\n")
    found = r"{\"severity\":\"LOW\",\"issues_found\":1,\"summary\":\"a leak\",\"details\":[]}"
    agent = Agent(looping, "codex").otherwise("change; working")
    words = rf"say '---REVIEW_FINDINGS---\n{found}\n---END_REVIEW_FINDINGS---'"
    agent.runs("change; working", f"{words}; exec sleep 60")
    graces = Graces(interrupt=0.1, terminate=0.1, answered=0.2)
    inside.run(looping, max_iterations=2, graces=graces, timeout=20, REVIEW_MODE="enhanced", REVIEW_INTERVAL="1")
    assert "a leak" in agent.calls[2][-1]


def test_ultimate_reviews_after_each_ticked_task(looping: Project) -> None:
    looping.write(".ralph/REVIEW_PROMPT.md", "Review it.\n")
    agent = Agent(looping, "codex").runs("change; working", "change; tick; working 1").otherwise("change; working")
    inside.run(looping, max_iterations=3, REVIEW_MODE="ultimate")
    assert ["Review it." in call[-1] for call in agent.calls] == [False, False, True, False]


# -- live runs -------------------------------------------------------------------------------------------


def test_a_live_run_keeps_its_stream_and_its_result(looping: Project) -> None:
    system = '{"type":"system","subtype":"init","session_id":"s-9"}'
    Agent(looping, "claude-code").otherwise(f"echo '{system}'; change; working")
    inside.run(looping, "claude-code", live=True, max_iterations=1)
    logs = {path.name: path.read_text() for path in (looping.path / ".ralph/logs").glob("claude_output*")}
    [stream] = [text for name, text in logs.items() if name.endswith("_stream.log")]
    [output] = [text for name, text in logs.items() if not name.endswith("_stream.log")]
    assert stream.count("\n") == 2
    assert json.loads(output)["type"] == "result"


def test_a_background_run_copies_as_it_comes(looping: Project) -> None:
    Agent(looping, "codex").otherwise("change; working")
    inside.run(looping, max_iterations=1)
    live = looping.read(".ralph/live.log")
    assert live.startswith("\n\n=== Loop #1 - ")
    assert live.count('{"type":') == 3


def test_the_start_is_dated(looping: Project) -> None:
    Agent(looping, "codex").otherwise("change; working")
    inside.run(looping, max_iterations=1)
    assert datetime.fromisoformat(metrics(looping)[0]["run_id"]).timestamp() == inside.START.timestamp()
