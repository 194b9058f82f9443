"""What arrives of a run: its tree of spans, its metrics; no secret, no content unless that is wanted."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.examples import SESSION, SETUPS
from tests.machine import NO_PROVIDER

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.examples import MakeProject, Project
    from tests.telemetry.receiver import Receiver, Span

OTLP = ("--telemetry", "otlp")
NOTED = 'env > "$kept/turn.$turn/env"'
TOOL = """
printf '{"type":"assistant","message":{"id":"m","role":"assistant","content":[%s]}}\\n' \\
    '{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cat hidden-words"}}'
printf '{"type":"user","message":{"role":"user","content":[%s]}}\\n' \\
    '{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"hidden-result"}'"""


CODEX = r"""#!/usr/bin/env bash
kept="$(dirname "$0")/../../kept"
case " $* " in *" --version "*) echo "codex-cli 0.50.0"; exit ;; esac
echo "$TRACEPARENT" >> "$kept/traceparent"
words='NO ISSUES FOUND'; mkdir "$kept/reviewed" 2>/dev/null && words='1. work.txt:1: it is too late'
echo '{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}'
echo '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"'"$words"'"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":5,"cached_input_tokens":0,"output_tokens":6}}'
"""


def _env(project: Project, turn: int) -> dict[str, str]:
    """What a turn has found in its environment."""
    return dict(line.split("=", 1) for line in project.of_turn(turn, "env").splitlines() if "=" in line)


def _told(project: Project, *words: str, status: int = 0) -> str:
    loop = project.start(*words)
    assert loop.finished() == status, loop.said
    return loop.said


def _turns(receiver: Receiver) -> list[Span]:
    return [each for each in receiver.spans() if each.name.startswith("invoke_agent")]


def test_a_run_is_a_tree_of_turns_with_their_tools(make_project: MakeProject, receiver: Receiver) -> None:
    project = make_project("plain")
    project.write(".ralph/PROMPT.md", "hidden-prompt\n")
    project.turns(f"{NOTED}; work", f"{NOTED}; fail", f"{NOTED}; {TOOL}; touched; {project.example.done}")
    secret = {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Basic%20hidden-key", "ANTHROPIC_API_KEY": "hidden-login"}
    project.env |= receiver.env | secret
    _told(project, *OTLP, "--completion-promise", "hidden-promise")

    run = receiver.span("invoke_workflow project")
    first, failed, last = _turns(receiver)
    tool = receiver.span("execute_tool Bash")
    assert run.parent == ""
    assert {each.trace for each in receiver.spans()} == {run.trace}
    assert [each.parent for each in (first, failed, last)] == [run.id] * 3
    assert tool.parent == last.id
    assert run.began <= first.began < first.ended <= failed.began < last.ended <= run.ended
    assert {each.name for each in (first, failed, last)} == {"invoke_agent claude"}

    record = project.record()
    assert record["trace"].split("-")[1:3] == run.traceparent.split("-")
    expected = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "project",
        "ralph_bridge.run.id": record["run_id"],
        "ralph_bridge.tool": "driver claude-code",
        "ralph_bridge.verdict": "complete",
        "ralph_bridge.reason": "project_complete",
        "ralph_bridge.failures": 1,
        "vcs.ref.head.name": "main",
        "vcs.ref.head.revision": project.git("rev-parse", "HEAD").strip(),
    }
    assert {name: run.attributes.get(name) for name in expected} == expected
    expected = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.agent.name": "claude",
        "gen_ai.conversation.id": SESSION,
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 4,
        "ralph_bridge.turn": 3,
        "ralph_bridge.turn.result": "success",
        "ralph_bridge.cost_usd": 0.25,
    }
    assert {name: last.attributes.get(name) for name in expected} == expected
    assert [(each.failed, each.attributes.get("error.type")) for each in (last, failed)] == [
        (False, None),
        (True, "exit_1"),
    ]
    assert (tool.failed, tool.attributes["gen_ai.tool.name"]) == (True, "Bash")

    for number, turn in enumerate((first, failed, last), 1):
        assert _env(project, number)["TRACEPARENT"] == f"00-{turn.traceparent}-01"
    assert b"hidden" not in receiver.bodies
    assert {headers["authorization"] for _, _, headers in receiver.got} == {"Basic hidden-key"}
    assert receiver.resource()["service.name"] == "ralph-bridge"


def test_metrics_count_turns_tokens_cost_and_limits(make_project: MakeProject, receiver: Receiver) -> None:
    project = make_project("plain")
    project.turns("work", "limited 0", otherwise=project.example.done)
    project.env |= receiver.env
    _told(project, *OTLP)
    found = receiver.metrics()

    def of(name: str, attribute: str) -> dict[str, float]:
        return {attributes[attribute]: value for value, attributes in found[name]}

    assert of("ralph_bridge.turns", "ralph_bridge.turn.result") == {"success": 2, "limit": 1}
    assert of("gen_ai.client.token.usage", "gen_ai.token.type") == {"input": 9, "output": 12}
    assert found["ralph_bridge.cost"][0][0] == 0.75
    assert of("ralph_bridge.limits", "ralph_bridge.wait.reason") == {"api_limit": 1}
    assert of("ralph_bridge.runs", "ralph_bridge.verdict") == {"complete": 1}
    assert {attributes["gen_ai.agent.name"] for _, attributes in found["gen_ai.client.operation.duration"]} == {
        "claude"
    }
    wait = receiver.span("wait api_limit")
    assert wait.parent == receiver.span("invoke_workflow project").id


def test_a_check_and_a_fallback_are_in_it(make_project: MakeProject, receiver: Receiver) -> None:
    project = make_project("plain")
    project.done_after("limited 60")
    project.env |= receiver.env
    words = ("--fallback", "agent:bin/night.sh", "--completion-promise", "COMPLETE")
    project.turns("limited 60", otherwise="say '<promise>COMPLETE</promise>'")
    check = "test -e hidden-file || { touch hidden-file; exit 3; }"
    _told(project, *OTLP, *words, "--check", check)
    run = receiver.span("invoke_workflow project")
    failed, passed = [each for each in receiver.spans() if each.name == "check"]
    limited, last, again = _turns(receiver)
    assert [each.parent for each in (failed, passed)] == [run.id] * 2
    assert limited.ended <= last.ended <= failed.began < failed.ended <= again.ended <= passed.began
    assert (failed.failed, failed.attributes["error.type"]) == (True, "exit_3")
    assert passed.attributes["ralph_bridge.check.passed"] is True
    (changed,) = [attributes for name, attributes in run.events if name == "tool changed"]
    assert (changed["ralph_bridge.tool.before"], changed["ralph_bridge.tool"]) == (
        "driver claude-code",
        "agent night",
    )
    assert b"hidden" not in receiver.bodies


def test_a_review_is_a_turn_of_its_own_tool(make_project: MakeProject, receiver: Receiver) -> None:
    project = make_project("plain")
    project.write("bin/codex", CODEX)
    project.turns(otherwise=f"touched; {project.example.done}")
    project.env |= receiver.env
    _told(project, *OTLP, "--model", "opus", "--review", "driver:codex@gpt-5.4")
    run = receiver.span("invoke_workflow project")
    turn, again, review, last = sorted(_turns(receiver), key=lambda each: each.name)
    assert {each.name for each in (turn, again)} == {"invoke_agent claude"}
    assert [each.attributes["gen_ai.usage.output_tokens"] for each in (turn, again)] == [4, 4]
    assert [each.attributes["gen_ai.request.model"] for each in (turn, review)] == ["opus", "gpt-5.4"]
    assert (review.name, review.parent, last.parent) == ("invoke_agent codex", run.id, run.id)
    assert turn.ended <= review.began < review.ended <= again.began < last.began
    expected = {
        "gen_ai.provider.name": "openai",
        "gen_ai.usage.input_tokens": 5,
        "gen_ai.usage.output_tokens": 6,
        "ralph_bridge.review": True,
        "ralph_bridge.review.findings": 1,
        "ralph_bridge.turn": 1,
        "ralph_bridge.turn.result": "success",
    }
    assert {name: review.attributes.get(name) for name in expected} == expected
    assert last.attributes["ralph_bridge.review.findings"] == 0
    assert (project.kept / "traceparent").read_text().split() == [
        f"00-{each.traceparent}-01" for each in (review, last)
    ]
    counted = receiver.metrics()["gen_ai.client.token.usage"]
    made = {of["gen_ai.agent.name"]: value for value, of in counted if of["gen_ai.token.type"] == "output"}
    assert made == {"claude": 8, "codex": 12}
    assert b"too late" not in receiver.bodies


def test_content_is_sent_when_it_is_asked_for(make_project: MakeProject, receiver: Receiver) -> None:
    project = make_project("plain")
    project.write(".ralph/PROMPT.md", "hidden-prompt\n")
    project.turns(otherwise=f"{TOOL}; {project.example.done}")
    project.env |= receiver.env
    _told(project, *OTLP, "--telemetry-content")
    (turn,) = _turns(receiver)
    asked, said = (json.loads(turn.attributes[f"gen_ai.{each}.messages"]) for each in ("input", "output"))
    assert (asked[0]["role"], asked[0]["parts"][0]["content"]) == ("user", "hidden-prompt\n")
    assert said[0]["role"] == "assistant"
    assert "EXIT_SIGNAL: true" in said[0]["parts"][0]["content"]
    arguments = receiver.span("execute_tool Bash").attributes["gen_ai.tool.call.arguments"]
    assert json.loads(arguments) == {"command": "cat hidden-words"}


def test_every_kind_of_loop_has_its_trace_by_the_environment_alone(example: Project, receiver: Receiver) -> None:
    example.done_after(NOTED)
    env = {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "none", "OTEL_SERVICE_NAME": "night"}
    example.env |= receiver.env | env
    example.start().finished()
    run = receiver.span("invoke_workflow project")
    assert run.attributes["ralph_bridge.tool"] == example.example.tool
    turns = _turns(receiver)
    assert len(turns) == example.begun()
    assert {each.parent for each in turns} == {run.id}
    assert _env(example, 1)["TRACEPARENT"].split("-")[1:3] == turns[0].traceparent.split("-")
    assert receiver.resource()["service.name"] == "night"
    assert {path for path, _, _ in receiver.got} == {"/v1/traces"}


def test_an_agent_s_tools_are_seen_and_its_program_is_in_the_turn(
    make_project: MakeProject, receiver: Receiver
) -> None:
    project = make_project("plain")
    project.turns(otherwise=f"{NOTED}; {TOOL}; say '<promise>COMPLETE</promise>'")
    project.env |= receiver.env
    done = project.popen("run", "--agent", "bin/night.sh", *OTLP, "--max-iterations", "2")
    output = done.communicate()
    assert done.returncode == 0, output
    (turn,) = _turns(receiver)
    assert receiver.span("execute_tool Bash").parent == turn.id
    assert _env(project, 1)["TRACEPARENT"].split("-")[1:3] == turn.traceparent.split("-")


def test_a_run_is_a_part_of_the_trace_of_who_starts_it(make_project: MakeProject, receiver: Receiver) -> None:
    project = make_project("plain")
    project.done_after(NOTED)
    around = {"TRACEPARENT": f"00-{'a' * 32}-{'b' * 16}-01", "TRACESTATE": "vendor=value"}
    project.env |= receiver.env | around
    _told(project, *OTLP)
    run = receiver.span("invoke_workflow project")
    assert (run.trace, run.parent) == ("a" * 32, "b" * 16)
    assert _env(project, 1)["TRACESTATE"] == "vendor=value"


@pytest.mark.parametrize(
    ("given", "expected"),
    [("00-" + "0" * 32 + "-" + "b" * 16 + "-01", ""), ("nonsense", "")],
    ids=["zeros", "nonsense"],
)
@pytest.mark.slow
def test_a_trace_that_makes_no_sense_is_none(
    make_project: MakeProject, receiver: Receiver, given: str, expected: str
) -> None:
    project = make_project("plain")
    project.done_after(NOTED)
    project.env |= receiver.env | {"TRACEPARENT": given, "TRACESTATE": "vendor=value"}
    _told(project, *OTLP)
    assert receiver.span("invoke_workflow project").parent == expected
    assert _env(project, 1)["TRACESTATE"] == ""


def test_what_was_killed_has_sent_its_turns_and_the_next_run_links_to_it(
    make_project: MakeProject, receiver: Receiver
) -> None:
    project = make_project("plain")
    project.turns("work", "hang", otherwise=project.example.done)
    project.env |= receiver.env
    loop = project.hanging(*OTLP, turn=2)
    killed = receiver.until_there("invoke_agent claude")
    loop.kill()
    assert project.record()["trace"].split("-")[1] == killed.trace
    _told(project, *OTLP)
    run = receiver.span("invoke_workflow project")
    assert run.trace != killed.trace
    assert run.links == ((killed.trace, killed.parent),)


@pytest.mark.slow
def test_a_forged_record_of_a_trace_costs_nothing(make_project: MakeProject, receiver: Receiver) -> None:
    project = make_project("plain")
    project.turns("hang", otherwise=project.example.done)
    project.env |= receiver.env
    project.hanging("--telemetry", "none").kill()
    path = project.state / ".ralph_bridge.json"
    for trace in ("\\x1b[2J" * 1000, {"a": 1}, f"00-{'0' * 32}-{'0' * 16}-01"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"trace": trace, "end": "SIGINT"}))
        _told(project, *OTLP)
    assert [each.links for each in receiver.spans() if each.name == "invoke_workflow project"] == [()] * 3


@pytest.mark.slow
def test_ctrl_c_ends_the_run_and_the_turn_under_way(make_project: MakeProject, receiver: Receiver) -> None:
    project = make_project("plain")
    project.turns(otherwise="hang")
    project.env |= receiver.env
    loop = project.hanging(*OTLP)
    os.kill(loop.pid, 2)
    assert loop.finished() == 130
    (turn,) = _turns(receiver)
    assert turn.attributes["error.type"] == "interrupted"
    run = receiver.span("invoke_workflow project")
    assert (run.attributes["error.type"], run.attributes["ralph_bridge.verdict"]) == ("SIGINT", "interrupted")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["driver", "agent"])
def test_a_box_has_the_trace_and_the_variables_of_telemetry(
    make_project: MakeProject, receiver: Receiver, kind: str
) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip(f"bwrap: {NO_PROVIDER}")
    project = make_project("plain")
    words = ["--driver", "claude-code"] if kind == "driver" else ["--agent", "bin/night.sh"]
    words += ["--no-live", "--sandbox", "bwrap"]
    done = project.example.done if kind == "driver" else "say '<promise>COMPLETE</promise>'"
    box = os.fspath(project.kept)
    project.turns(otherwise=f"env > env.txt; {done}")
    more = {**receiver.env, "OTEL_LOG_TOOL_DETAILS": "1", "CLAUDE_CODE_ENABLE_TELEMETRY": "1"}
    for telemetry in ([], [*OTLP]):
        project.env |= more
        process = project.popen("run", *words, "--sandbox-write", box, *telemetry)
        output = process.communicate()
        assert process.returncode == 0, output
        inside = dict(line.split("=", 1) for line in (project.path / "env.txt").read_text().splitlines())
        assert inside["CLAUDE_CODE_ENABLE_TELEMETRY"] == "1"
        assert ("OTEL_LOG_TOOL_DETAILS" in inside) == ("TRACEPARENT" in inside) == bool(telemetry)
    (turn,) = _turns(receiver)
    assert inside["TRACEPARENT"].split("-")[1:3] == turn.traceparent.split("-")


def _refuses(receiver: Receiver) -> None:
    receiver.status = 401


def _fails(receiver: Receiver) -> None:
    receiver.status = 503


def _hangs(receiver: Receiver) -> None:
    receiver.hangs.clear()


def _is_gone(receiver: Receiver) -> None:
    receiver.port = 1


@pytest.mark.parametrize(
    ("how", "why"),
    [
        pytest.param(_refuses, "HTTP 401", id="refuses"),
        pytest.param(_fails, "HTTP 503", id="fails", marks=pytest.mark.slow),
        pytest.param(_hangs, "no answer in time", id="hangs", marks=pytest.mark.slow),
        pytest.param(_is_gone, "ConnectionError", id="is-gone", marks=pytest.mark.slow),
    ],
)
def test_a_receiver_that_takes_nothing_fails_no_loop_and_is_reported_once(
    make_project: MakeProject, receiver: Receiver, how: Callable[[Receiver], None], why: str
) -> None:
    project = make_project("plain")
    project.turns("work", "work", otherwise=project.example.done)
    how(receiver)
    endpoint = f"http://me:hidden-key@127.0.0.1:{receiver.port}/hidden-path"
    project.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
    said = _told(project, *OTLP)
    assert f"telemetry: 4 of 4 spans did not reach http://127.0.0.1/...: {why}" in said
    assert said.count("telemetry") == 1
    assert "hidden" not in said + project.logged()
    assert SETUPS["plain"].ended in json.dumps(project.record())
