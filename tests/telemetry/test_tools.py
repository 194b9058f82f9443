"""Calls of tools in what CLIs print: each begins once and ends once, whichever CLI it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bridge.loop.engine.observers import RunFacts
from bridge.loop.telemetry.steps import About, tool_steps, word
from bridge.loop.turn.progress import may_name_tool
from bridge.loop.turn.progress import tool_steps as said_of_tools

if TYPE_CHECKING:
    from bridge.loop.telemetry.steps import Step

DATA = Path(__file__).resolve().parents[1] / "data"
RUN = RunFacts(run_id="1", project=Path("p"), tool="driver x", before="", traced=lambda _trace: None)


def _steps(lines: list[bytes], about: About | None = None) -> list[Step]:
    open_calls: set[str] = set()
    found = []
    for line in filter(may_name_tool, lines):
        for said in said_of_tools(line):
            steps = list(tool_steps(said, begun=said.call in open_calls, about=about or About(run=RUN)))
            for step in steps:
                open_calls.add(said.call) if step.do == "begin" else None
                open_calls.discard(said.call) if step.do == "end" else None
            found += steps
    return found


def _line(**event: Any) -> bytes:
    return json.dumps(event).encode()


CODEX = {"id": "item_1", "type": "command_execution", "command": "make"}
COPILOT = {"toolCallId": "c1", "toolName": "create"}
CALLS = {
    "claude": [
        _line(type="assistant", message={"content": [{"type": "tool_use", "id": "t1", "name": "Read"}]}),
        _line(type="user", message={"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]}),
    ],
    "codex": [
        _line(type="item.started", item={**CODEX, "status": "in_progress"}),
        _line(type="item.completed", item={**CODEX, "status": "failed", "exit_code": 1}),
    ],
    "opencode": [
        _line(
            type="tool_use",
            part={"type": "tool", "tool": "write", "callID": "c1", "state": {"status": "completed", "input": {}}},
        )
    ],
    "copilot": [
        _line(type="tool.execution_start", data={**COPILOT, "arguments": {"path": "a"}}),
        _line(type="tool.execution_complete", data={"toolCallId": "c1", "success": False}),
    ],
    "cursor": [
        _line(type="tool_call", subtype=each, call_id="c1", tool_call={"readToolCall": {"args": {"path": "a"}}})
        for each in ("started", "completed")
    ],
    "gemini": [
        _line(type="tool_use", tool_name="write_file", tool_id="w1", parameters={"file_path": "a"}),
        _line(type="tool_result", tool_id="w1", status="error", output="no"),
    ],
    "cline": [
        _line(type="agent_event", event={"type": each, "toolName": "run_commands", "toolCallId": "c1"})
        for each in ("content_start", "content_update", "content_end")
    ],
}


@pytest.mark.parametrize(
    ("name", "tool", "failed"),
    [
        ("claude", "Read", False),
        ("codex", "command_execution", True),
        ("opencode", "write", False),
        ("copilot", "create", True),
        ("cursor", "read", False),
        ("gemini", "write_file", True),
        ("cline", "run_commands", False),
    ],
)
def test_a_call_begins_and_ends_once(name: str, tool: str, failed: bool) -> None:
    begins, ends = _steps(CALLS[name])
    assert (begins.do, begins.name, begins.parent) == ("begin", f"execute_tool {tool}", "turn")
    assert (ends.do, ends.key, ends.error) == ("end", begins.key, "failed" if failed else "")


@pytest.mark.parametrize(
    ("name", "calls"), [("gemini-live", 1), ("gemini-maxturns-live", None), ("qwen-live", 1)], ids=str
)
def test_recorded_calls_are_all_seen(name: str, calls: int | None) -> None:
    lines = (DATA / f"recordings/{name}.out").read_bytes().splitlines()
    steps = [step.do for step in _steps(lines)]
    assert steps.count("begin") == steps.count("end") == (calls or steps.count("begin"))
    assert steps


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"tool_use"',
        b'["tool',
        b'{"tool":' * 5000,
        b'"tool"',
        b'{"tools":["Bash"],"id":"x"}',
        b'{"tool":1}',
    ],
)
def test_what_is_no_call_is_none(line: bytes) -> None:
    assert said_of_tools(line) == []


def test_arguments_are_content() -> None:
    lines = CALLS["gemini"]
    assert [step.do for step in _steps(lines)] == ["begin", "end"]
    (added,) = [step for step in _steps(lines, About(run=RUN, read=str)) if step.do == "add"]
    assert added.attributes == {"gen_ai.tool.call.arguments": '{"file_path": "a"}'}


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("max_iterations", "max_iterations"),
        ("SIGINT", "SIGINT"),
        ("error: no such file /home/me", "_OTHER"),
        ("x" * 41, "_OTHER"),
        ("", "_OTHER"),
        (None, "_OTHER"),
    ],
)
def test_a_reason_is_a_word_or_not_sent(reason: str | None, expected: str) -> None:
    assert word(reason) == expected
