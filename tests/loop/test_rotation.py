"""A session whose context is full to a bound is not carried on: in each kind of loop that carries one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

from bridge.errors import ConfigurationError
from bridge.loop.engine.events import LoopEnded, SessionRotated
from bridge.loop.engine.rotation import FRESH, bound_of, parse_bound
from bridge.loop.loops import Loop
from bridge.scripts.stream.events import Reader
from tests.examples import ROOT
from tests.machine import mostly_slow

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import MakeProject, Project

RECORDINGS = ROOT / "tests/data/recordings"
CAPTURES = ROOT.parent / "shared/captures"

# As `claude -p --output-format json` prints it: sums of all calls, and the window of the model.
_RESULT = r"""
full() {  # TOKENS [CALLS]: of the last call; with CALLS the result counts so many
    printf '{"type":"result","subtype":"success","is_error":false,"result":"Worked.",'
    printf '"num_turns":%s,"session_id":"%s",' "${2:-1}" "$SESSION$turn"
    printf '"usage":{"input_tokens":%s,"cache_read_input_tokens":%s,"output_tokens":%s},' \
        "$((${2:-1} * 100))" "$((${2:-1} * ($1 - 150)))" "$((${2:-1} * 50))"
    printf '"modelUsage":{"claude-x":{"contextWindow":200000}},"total_cost_usd":0.1}\n'
}
printf '%s\n' "$*" > "$kept/turn.$turn/argv"
touched
"""


def steps(project: Project, *sizes: str) -> None:
    """Turns whose sessions are so full, and one that says that all is done."""
    prelude = f"SESSION=5f0c2a9e-0b7d-4c55-9a41-3d2e8f70b1c\n{_RESULT}"
    *others, last = [f"{prelude}{size}" for size in (*sizes, project.example.done)]
    project.turns(*others, otherwise=last)


def argv(project: Project, number: int) -> str:
    return project.of_turn(number, "argv")


@pytest.fixture(params=mostly_slow(["plain", "bmalph", "frankbria"], 1))
def carrying(request: pytest.FixtureRequest, make_project: MakeProject) -> Project:
    project = make_project(request.param)
    project.env.update(RALPH_BRIDGE_PAUSE_SECONDS="0", RALPH_BRIDGE_RETRY_SECONDS="0")
    return project


def finished(project: Project, *options: str) -> str:
    loop = project.start(*options)
    loop.finished()
    return loop.said


def test_a_full_session_is_followed_by_a_fresh_one(carrying: Project) -> None:
    steps(carrying, "full 100000", "full 160000", "full 30000")
    said = finished(carrying, "--max-context", "80%")
    assert said.count("the session's context holds 160,000 of 200,000 tokens (80 %)") == 1, said
    assert "--resume" not in argv(carrying, 1)
    assert "--resume" in argv(carrying, 2)
    assert "--resume" not in argv(carrying, 3)
    assert FRESH.split(":")[0] in argv(carrying, 3)
    assert "--resume" in argv(carrying, 4)
    assert "This is a fresh session" not in argv(carrying, 2) + argv(carrying, 4)
    records = carrying.turn_records()
    schema = json.loads((ROOT / "docs/turn-record.schema.json").read_text())
    for each in records:
        jsonschema.validate(each, schema)
    sizes = [(each["context_tokens"], each["context_window"], each.get("rotated", False)) for each in records[:3]]
    assert sizes == [(100000, 200000, False), (160000, 200000, True), (30000, 200000, False)]
    assert "is dropped" not in carrying.logged()
    report = carrying.run("report").stdout
    assert "behind turn 2, whose context held 160,000 of 200,000 tokens (80 %)" in " ".join(report.split()), report


def test_the_next_run_begins_fresh_too(carrying: Project) -> None:
    steps(carrying, "full 160000", "full 20000")
    finished(carrying, "--max-context", "150k", "--max-iterations", "1")
    status = carrying.status()
    assert status["context"] == {"tokens": 160000, "window": 200000, "rotated": True}
    assert "160,000 of 200,000 tokens (80 %); the next turn begins a fresh session" in carrying.run("status").stdout
    finished(carrying, "--max-context", "150k", "--max-iterations", "1")
    assert "--resume" not in argv(carrying, 2)


@pytest.mark.slow
def test_below_the_bound_and_without_one_nothing_is_rotated(make_project: MakeProject) -> None:
    project = make_project("plain")
    # Ten calls that add up to far more than the window: what counts is how full it is.
    steps(project, "full 100000 10", "full 190000")
    said = finished(project, "--max-context", "190001")
    assert "fresh" not in said
    assert "--resume" in argv(project, 2)
    assert "--resume" in argv(project, 3)


def test_events_tell_of_it(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project("plain")
    steps(project, "full 180000")
    for name, value in project.environment().items():
        monkeypatch.setenv(name, value)
    events = [*Loop.open(project.path, driver="claude-code", resume=True, live=False, max_context="80%")]
    (rotated,) = [each for each in events if isinstance(each, SessionRotated)]
    assert (rotated.iteration, rotated.context_tokens, rotated.context_window) == (1, 180000, 200000)
    assert (rotated.tool, rotated.to_dict()["event"]) == ("driver claude-code", "session_rotated")
    assert isinstance(events[-1], LoopEnded)


@pytest.mark.slow
def test_what_has_no_effect_is_told(make_project: MakeProject) -> None:
    project = make_project("plain")
    steps(project, "full 180000")
    said = finished(project, "--no-continue", "--max-context", "80%")
    assert said.count("max_context 80% has no effect: each turn begins a fresh session here") == 1
    assert "holds" not in said


@pytest.mark.slow
def test_a_window_that_nobody_knows_is_told_once(make_project: MakeProject) -> None:
    project = make_project("plain")
    unknown = "full 180000 | sed 's/\"modelUsage\".*true},//; s/contextWindow/else/'"
    steps(project, unknown, unknown)
    said = finished(project, "--max-context", "80%")
    assert said.count("max_context 80% can't be held · next: give it in tokens, such as 120k") == 1, said
    assert "--resume" in argv(project, 2)


def test_a_kind_that_carries_no_session_refuses_it(make_project: MakeProject) -> None:
    done = make_project("script").run("run", "--max-context", "80%")
    assert done.returncode == 2
    assert "each turn begins a fresh session" in done.stderr


def test_a_bound_that_is_none_is_refused(make_project: MakeProject) -> None:
    project = make_project("plain")
    done = project.run("run", "--max-context", "eighty")
    assert (done.returncode, "--max-context is 'eighty', expected per cent" in done.stderr) == (2, True), (
        done.stderr
    )


@pytest.mark.slow
def test_the_bound_is_read_from_the_project_and_the_environment(make_project: MakeProject) -> None:
    project = make_project("plain")
    project.write("ralph-bridge.toml", 'max_context = "80%"\n')
    steps(project, "full 180000")
    assert "the next turn begins a fresh one" in finished(project)
    project.write("ralph-bridge.toml", "")
    project.env["RALPH_BRIDGE_MAX_CONTEXT"] = "80%"
    project.forget()
    assert "the next turn begins a fresh one" in finished(project)


@pytest.mark.parametrize("text", ["", "80", "0%", "101%", "-5%", "80 per cent", "nan", "1e9", "12.k", "\uff10%"])
def test_what_is_no_bound(text: str) -> None:
    with pytest.raises(ConfigurationError, match="expected per cent"):
        parse_bound(text)
    if text:
        with pytest.raises(ConfigurationError, match=r"RALPH_BRIDGE_MAX_CONTEXT in \.ralphrc line 3"):
            bound_of(None, {"RALPH_BRIDGE_MAX_CONTEXT": text}, ".ralphrc line 3")
    assert bound_of(None, {"RALPH_BRIDGE_MAX_CONTEXT": " "}) is None


@pytest.mark.slow
def test_a_turn_that_was_cut_off_has_the_window_of_those_before_it(carrying: Project) -> None:
    cut = r"""
printf '{"type":"system","subtype":"init","session_id":"%s","tools":[],"model":"x"}\n' "$SESSION$turn"
usage='{"input_tokens":190000,"output_tokens":1}'
printf '{"type":"assistant","session_id":"%s","message":{"content":[],"usage":%s}}\n' "$SESSION$turn" "$usage"
sleep 60"""
    steps(carrying, "full 20000", cut, "full 20000")
    said = finished(carrying, "--max-context", "80%", "--max-silence", "0.02")
    assert "190,001 of 200,000 tokens (95 %)" in said, said
    assert "--resume" in argv(carrying, 2)
    assert "--resume" not in argv(carrying, 3)


def sized(path: Path) -> tuple[float | None, float | None, int | None]:
    reader = Reader()
    for line in path.read_bytes().splitlines(keepends=True):
        reader.feed(line)
    size = reader.answer().size
    return size.tokens, size.window, size.calls


def test_recordings_of_two_calls_are_as_full_as_the_last_one() -> None:
    # The server of the recordings counts 1234 tokens in, 1000 of them cached, and 56 out per call.
    assert sized(RECORDINGS / "gemini-live.out") == (1302, 1048576, None)
    assert sized(RECORDINGS / "gemini-batch.out") == (1302, None, None)
    assert sized(RECORDINGS / "qwen-live-partial.out") == (1290, None, None)
    if not CAPTURES.is_dir():
        return
    for name in ("claude-live", "claude-batch", "claude-inprogress"):
        assert sized(CAPTURES / f"{name}.out") == (1290, 1_000_000, None), name
    assert sized(CAPTURES / "opencode-batch.out") == (1290, None, None)
    assert sized(CAPTURES / "cline-arg-json.out") == (1290, None, None)
    assert sized(CAPTURES / "codex-live.out") == (None, None, 2)


def _events(*events: object) -> tuple[float | None, float | None]:
    reader = Reader()
    for event in events:
        reader.feed(json.dumps(event).encode() + b"\n")
    size = reader.answer().size
    return size.tokens, size.window


def test_what_a_sub_agent_uses_is_not_in_the_context() -> None:
    init = {"type": "system", "subtype": "init", "session_id": "s", "model": "claude-opus-4-8[1m]", "tools": []}
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 500,
        "cache_creation_input_tokens": 90,
        "output_tokens": 1,
    }
    message = {"type": "assistant", "message": {"role": "assistant", "content": [], "usage": usage}}
    other = {"usage": {**usage, "cache_read_input_tokens": 90_000}, "role": "assistant", "content": []}
    sub = {"type": "assistant", "parent_tool_use_id": "t", "message": other}
    assert _events(init, message, sub) == (601, 1_000_000)  # cut off: the window is that of its model
    spent = {"input_tokens": 20, "cache_read_input_tokens": 900_000, "output_tokens": 9}
    models = {"claude-haiku": {"contextWindow": 200_000}, "claude-opus-4-8[1m]": {"contextWindow": 900_000}}
    result = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 40, "usage": spent}
    assert _events(init, message, sub, result | {"modelUsage": models}) == (601, 900_000)


def test_codex_counts_of_the_last_call() -> None:
    usage = {"last_token_usage": {"input_tokens": 700, "output_tokens": 70}, "model_context_window": 272_000}
    total = {"total_token_usage": {"input_tokens": 90_000}, **usage}
    assert _events(
        {"id": "0", "msg": {"type": "task_started"}}, {"id": "1", "msg": {"type": "token_count", "info": total}}
    ) == (
        770,
        272_000,
    )


def test_calls_of_codex_are_counted_by_what_follows_what() -> None:
    def item(event: str, number: int, what: str) -> dict[str, object]:
        return {"type": f"item.{event}", "item": {"id": f"item_{number}", "type": what}}

    events = [
        {"type": "turn.started"},
        item("completed", 0, "agent_message"),
        item("started", 1, "todo_list"),
        item("completed", 2, "reasoning"),  # the second call
        item("started", 3, "command_execution"),
        item("started", 4, "mcp_tool_call"),
        item("completed", 3, "command_execution"),
        item("completed", 4, "mcp_tool_call"),
        item("started", 5, "command_execution"),  # the third
        item("completed", 5, "command_execution"),
        item("completed", 6, "agent_message"),  # the fourth
        item("completed", 1, "todo_list"),
        {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}},
    ]
    reader = Reader()
    for event in events:
        reader.feed(json.dumps(event).encode() + b"\n")
    assert reader.answer().size.calls == 4
