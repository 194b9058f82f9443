"""Errors that tools ended with: which ones stand at the end of a turn, for each CLI; and what they lead to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bridge.loop.setups.wiggum.transcript import logged_errors, standing_errors, tool_errors

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.wiggum.project import Project


def use(name: str, number: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": number, "name": name, "input": {}}
    return {"type": "assistant", "message": {"role": "assistant", "content": [block]}}


def result(number: str, content: object, *, error: bool = True) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": number, "content": content, "is_error": error}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


BAD = [use("Bash", "a"), result("a", "Exit code 1\n\nconnect ECONNREFUSED db:5432")]
REFUSED = ("ECONNREFUSED db:N",)


# -- 14 F.2: the pure part ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "errors"),
    [
        ([], ()),
        (BAD, REFUSED),
        ([*BAD, use("Read", "b"), result("b", "text", error=False)], REFUSED),
        ([*BAD, use("Bash", "b"), result("b", "ok", error=False)], ()),
        ([*BAD, *BAD], REFUSED),
        (
            [result("?", [{"type": "text", "text": "<tool_use_error>File not read</tool_use_error>"}])],
            ("File not read",),
        ),
        ([result("?", "Exit code 2")], ("Exit code N",)),
        ([result("?", "")], ()),
        ([{**each, "isSidechain": True} for each in BAD], ()),
        ([{**each, "parent_tool_use_id": "p"} for each in BAD], ()),
        # gemini
        (
            [
                {"type": "tool_use", "tool_name": "write_file", "tool_id": "1", "parameters": {}},
                {"type": "tool_result", "tool_id": "1", "status": "error", "error": {"message": "disk 7 is full"}},
            ],
            ("disk N is full",),
        ),
        # codex
        (
            [
                {
                    "type": "item.completed",
                    "item": {
                        "type": "command_execution",
                        "exit_code": 2,
                        "aggregated_output": "no rule",
                        "status": "failed",
                    },
                }
            ],
            ("no rule",),
        ),
        (
            [
                {
                    "type": "item.completed",
                    "item": {"type": "command_execution", "exit_code": 0, "status": "completed"},
                }
            ],
            (),
        ),
        # opencode
        (
            [{"type": "tool_use", "part": {"tool": "bash", "state": {"status": "error", "error": "denied 5"}}}],
            ("denied N",),
        ),
        # copilot
        (
            [
                {"type": "tool.execution_start", "data": {"toolCallId": "1", "toolName": "bash"}},
                {
                    "type": "tool.execution_complete",
                    "data": {"toolCallId": "1", "success": False, "error": {"message": "x"}},
                },
            ],
            ("x",),
        ),
        (
            [
                {"type": "item.completed", "item": None},
                {"type": "user", "message": "x"},
                {"message": {"content": [1]}},
            ],
            (),
        ),
    ],
)
def test_f2_errors_stand_until_the_same_tool_succeeds(
    entries: list[dict[str, Any]], errors: tuple[str, ...]
) -> None:
    assert standing_errors(entries) == errors


@pytest.mark.parametrize("lines", [True, False])
def test_f2_a_log_is_read_as_lines_or_an_array(tmp_path: Path, lines: bool) -> None:
    path = tmp_path / "log"
    path.write_text("\n".join(map(json.dumps, BAD)) + "\n{" if lines else json.dumps(BAD))
    assert logged_errors(path) == REFUSED
    assert logged_errors(tmp_path / "none") == ()


def test_f2_of_a_transcript_the_last_turn_counts(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    prompt = {"type": "user", "message": {"role": "user", "content": "go on"}}
    path.write_text("\n".join(map(json.dumps, [*BAD, prompt, use("Bash", "b"), result("b", "ok", error=False)])))
    assert tool_errors(path) == ()
    path.write_text("\n".join(map(json.dumps, [prompt, *BAD])) + "\n")
    assert tool_errors(path) == REFUSED


# -- 14 F.2: five turns ------------------------------------------------------------------------------

SAYS = """#!/usr/bin/env bash
RESULT='{{"type":"tool_result","tool_use_id":"t","is_error":{error},"content":"Exit code 1\\nno module foo, N"}}'
n=$(cat work.txt | wc -l); RESULT=${{RESULT/N/$n}}; echo "turn $n" >> work.txt; {more}
cat <<EOF
{{"type":"system","subtype":"init","session_id":"s-$n"}}
{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"Bash"}}]}}}}
{{"type":"user","message":{{"role":"user","content":[$RESULT]}}}}
{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":"{said}"}}]}}}}
{{"type":"result","subtype":"success","is_error":false,"result":"{said}","session_id":"s-$n"}}
EOF
"""


def says(project: Project, said: str, *, error: bool = False, more: str = "") -> None:
    project.write("work.txt", "")
    project.write("bin/claude", SAYS.format(said=said, error=str(error).lower(), more=more), 0o755)


@pytest.mark.parametrize(
    ("said", "error", "why"),
    [
        ("Another way, the ${n}th: $RANDOM$RANDOM", True, "the same one"),
        (
            "Way $RANDOM: tests still fail with TypeError: x is undefined. Next: way $RANDOM$RANDOM",
            False,
            "the same one",
        ),
    ],
)
@pytest.mark.parametrize("live", ["--live", "--no-live"])
def test_f2_five_turns_with_the_same_error_stop_the_loop(
    project: Project, said: str, error: bool, why: str, live: str
) -> None:
    says(project, said, error=error)
    done = project.wiggum("start", live, "--max-iterations", "9")
    assert (done.returncode, project.state["outcome"], project.state["iteration"]) == (7, "repeated_error", 5)
    assert f"repeated error: {why}" in done.stderr


def test_the_same_last_message_counts_where_no_file_changes(project: Project) -> None:
    project.claude("echo Working on it.; [ $TURN != 3 ] || work")
    done = project.wiggum("start", "--no-live", "--no-change", "0", "--max-iterations", "20")
    assert (done.returncode, project.state["outcome"], project.state["iteration"]) == (7, "repeated_error", 8)
    assert "repeated error: the same last message in 5 turns in a row" in done.stderr


@pytest.mark.parametrize("options", [(), ("--no-checkpoints",), ("--no-change", "0", "--same-error", "2")])
def test_the_same_last_message_is_no_repetition_where_files_change(
    project: Project, options: tuple[str, ...]
) -> None:
    says(project, "Working on it.")
    done = project.wiggum("start", "--no-live", "--max-iterations", "7", *options)
    assert (done.returncode, project.state["outcome"], project.state["iteration"]) == (1, "max_iterations", 7)


def test_the_same_last_message_is_no_repetition_where_files_change_in_a_session(project: Project) -> None:
    project.wiggum("start", "--mode", "hook")
    for number in range(7):
        project.write("work.txt", f"{number}\n")
        assert project.hook(last_assistant_message="Working on it.").document["decision"] == "block"


def test_f2_an_item_that_was_ticked_is_worth_more_than_words_and_errors(project: Project) -> None:
    project.write("fix_plan.md", "- [ ] item\n" * 7)
    says(project, "Did an item.", error=True, more="sed -i '0,/\\[ \\]/s//[x]/' fix_plan.md")
    done = project.wiggum("start", "--no-live")
    assert (done.returncode, project.state["outcome"], project.state["iteration"]) == (0, "plan_complete", 7)


def test_f2_in_a_session_the_transcript_tells(project: Project) -> None:
    project.keep()
    prompt = {"type": "user", "message": {"role": "user", "content": "go on"}}
    path = project.write("bin/t.jsonl", "\n".join(map(json.dumps, [prompt, *BAD])))
    seen = []
    for turn in range(5):
        project.write("work.txt", f"{turn}\n")
        seen.append(project.hook(last_assistant_message=f"Way {turn}.", transcript_path=str(path)).document)
    assert [each.get("decision") for each in seen] == ["block"] * 4 + [None]
    assert "repeated_error" in seen[-1]["systemMessage"]
