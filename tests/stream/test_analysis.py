"""Response analysis: the documented shapes and their values, today's outputs, damage, size."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import OutputUnreadable
from bridge.scripts.stream.analysis import Analysis, Analyzer, RunFacts, analyze, analyze_file
from tests.stream import samples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOW = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)
FACTS = RunFacts(now=NOW, loop_number=3, output_file=".ralph/logs/x.log")


def analysis(output: bytes | str | list[Any] | dict[str, Any], **facts: Any) -> Analysis:
    """Analyse bytes, text, events (one a line) or one object."""
    if isinstance(output, list):
        output = b"".join(samples.lines(*output))
    elif isinstance(output, dict):
        output = json.dumps(output)
    data = output.encode() if isinstance(output, str) else output
    return analyze([data], RunFacts(**{"now": NOW, **facts}))


def block(**fields: object) -> str:
    body = "".join(f"{key}: {value}\n" for key, value in fields.items())
    return f"---RALPH_STATUS---\n{body}---END_RALPH_STATUS---\n"


# documented shapes: output, and the fields that count

RESULT = {"type": "result", "subtype": "success"}
CODEX_DONE = [
    {"type": "thread.started", "thread_id": "t-1"},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "All tasks complete."}},
    {"type": "turn.completed"},
]
CODEX_SILENT = [{"type": "thread.started", "thread_id": "t-1"}, {"type": "turn.completed"}]
TRUE_BLOCK = "Built it.\n\n" + block(STATUS="COMPLETE", EXIT_SIGNAL="true", TASKS_COMPLETED_THIS_LOOP=1)
FALSE_BLOCK = "That part is done.\n\n" + block(STATUS="IN_PROGRESS", EXIT_SIGNAL="false")

GOLDEN: dict[str, tuple[Any, dict[str, Any]]] = {
    "cli_array": (
        json.dumps(
            [
                {"type": "system", "subtype": "init", "session_id": "session-init"},
                {"type": "assistant", "message": "on it"},
                {
                    **RESULT,
                    "result": "Everything was built.",
                    "sessionId": "session-xyz-789",
                    "metadata": {"files_changed": 6, "completion_status": "complete"},
                },
            ],
            indent=4,
        ),
        {
            "exit_signal": True,
            "has_completion_signal": True,
            "format_confidence": 100,
            "confidence_score": 100,
            "session_id": "session-xyz-789",
            "files_modified": 6,
        },
    ),
    "cli_object_exit_false": (
        {**RESULT, "result": "All done. " + FALSE_BLOCK, "session_id": "s"},
        {
            "exit_signal": False,
            "has_completion_signal": False,
            "format_confidence": 100,
            "confidence_score": 0,
        },
    ),
    "cli_object_with_usage": (
        {
            **RESULT,
            "result": TRUE_BLOCK,
            "sessionId": "s",
            "metadata": {"files_changed": 5},
            "total_cost_usd": 0.25,
            "usage": {"input_tokens": 7, "cache_read_input_tokens": 0},
        },
        {"exit_signal": True, "files_modified": 5, "tasks_completed_this_loop": 1, "session_id": "s"},
    ),
    "flat": (
        {"status": "COMPLETE", "exit_signal": True, "files_modified": 3, "confidence": 90, "summary": "ok"},
        {"exit_signal": True, "format_confidence": 80, "confidence_score": 100, "files_modified": 3},
    ),
    "flat_in_progress": (
        {"status": "IN_PROGRESS", "exit_signal": False, "confidence": 30, "work_type": "TEST_ONLY"},
        {"exit_signal": False, "format_confidence": 80, "confidence_score": 30, "is_test_only": True},
    ),
    "flat_exit_signal_as_text": ({"exit_signal": "true"}, {"exit_signal": True, "format_confidence": 80}),
    "flat_errors": ({"error_count": 6, "summary": "Hm"}, {"is_stuck": True, "work_summary": "Hm"}),
    "flat_few_errors": ({"error_count": 5, "summary": "Hm"}, {"is_stuck": False}),
    "permission_denials": (
        {
            **RESULT,
            "result": "I could not commit.",
            "permission_denials": [
                {
                    "tool_name": "Bash",
                    "tool_input": {"command": "git commit -m 'feat: add authentication module'\n# x"},
                },
                {"tool_name": "AskUserQuestion", "tool_input": {}},
            ],
        },
        {
            "has_permission_denials": True,
            "permission_denial_count": 2,
            "denied_commands": ("Bash(git commit -m 'feat: add authentication module')", "AskUserQuestion"),
        },
    ),
    "codex_completion": (
        CODEX_DONE,
        {"exit_signal": True, "confidence_score": 100, "format_confidence": 100, "session_id": "t-1"},
    ),
    # Corrected, T4: the thread's id is no summary, and the session is not "0".
    "codex_no_agent_message": (CODEX_SILENT, {"work_summary": "", "session_id": "t-1", "exit_signal": False}),
    "codex_substring": (
        [CODEX_DONE[0], {"type": "item.completed", "item": {"type": "agent_message", "text": "I abandoned it."}}],
        {"exit_signal": False},
    ),
    # Corrected, T4: true by the block, so that tasks are known as well.
    "codex_response": (
        [CODEX_DONE[0], {"type": "item.completed", "item": {"type": "agent_message", "text": TRUE_BLOCK}}],
        {"exit_signal": True, "tasks_completed_this_loop": 1, "explicit_exit": True},
    ),
    "opencode_response": (
        [
            {"type": "session.created", "session": {"id": "o-1"}},
            {
                "type": "message.completed",
                "message": {"role": "assistant", "parts": [{"type": "text", "text": TRUE_BLOCK}]},
            },
        ],
        {"exit_signal": True, "tasks_completed_this_loop": 1, "session_id": "o-1"},
    ),
    "cursor_response": (
        [
            {"type": "system", "subtype": "init", "session_id": "u-1"},
            {"type": "result", "result": TRUE_BLOCK, "session_id": "u-1"},
        ],
        {"exit_signal": True, "tasks_completed_this_loop": 1, "session_id": "u-1"},
    ),
    "cursor_by_keyword": (
        [
            {"type": "system", "subtype": "init", "session_id": "u-1"},
            {"type": "result", "result": "Nothing to do.", "session_id": "u-1"},
        ],
        {"exit_signal": True, "confidence_score": 100},
    ),
    "text_complete": (
        "Summary: the project is complete.\n",
        {
            "output_format": "text",
            "exit_signal": True,
            "has_completion_signal": True,
            "format_confidence": 30,
            "confidence_score": 10,
            "work_summary": "Summary: the project is complete.",
        },
    ),
    "text_no_work": (
        "There is nothing to do.\n",
        {"exit_signal": True, "confidence_score": 15, "work_summary": "No work remaining"},
    ),
    "text_stuck": ("Error: cannot link\n" * 6, {"is_stuck": True, "exit_signal": False, "has_errors": True}),
    "text_test_only": ("Running tests\nnpm test\n", {"is_test_only": True}),
    "text_tests_and_code": ("Running tests\nImplementing it\n", {"is_test_only": False}),
    "text_block": (TRUE_BLOCK, {"format_confidence": 70, "confidence_score": 100, "exit_signal": True}),
    "text_block_false": (
        FALSE_BLOCK,
        {"format_confidence": 70, "confidence_score": 80, "exit_signal": False, "has_completion_signal": False},
    ),
    "text_block_complete": (block(STATUS="COMPLETE"), {"confidence_score": 100, "exit_signal": True}),
    "text_block_open": (block(STATUS="BLOCKED") + "done", {"confidence_score": 0, "exit_signal": False}),
    "unknown_events": ('{"a":1}\n{"b":2}\n', {"output_format": "text", "exit_signal": False}),
    "empty": (
        "",
        {
            "output_format": "text",
            "has_completion_signal": False,
            "exit_signal": False,
            "is_stuck": False,
            "is_test_only": False,
            "has_progress": False,
            "confidence_score": 0,
            "output_length": 0,
        },
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_values(name: str) -> None:
    output, wanted = GOLDEN[name]
    found = analysis(output)
    assert {key: getattr(found, key) for key in wanted} == wanted


def test_the_documents_keys_and_their_order() -> None:
    found = json.loads(analyze([json.dumps(GOLDEN["cli_object_with_usage"][0]).encode()], FACTS).to_json())
    assert list(found) == ["loop_number", "timestamp", "output_file", "output_format", "analysis"]
    assert " ".join(found["analysis"]) == (
        "has_completion_signal is_test_only is_stuck has_progress files_modified format_confidence "
        "confidence_score exit_signal tasks_completed_this_loop tests_status fix_plan_completed_delta "
        "has_progress_tracking_mismatch work_summary output_length has_permission_denials "
        "permission_denial_count denied_commands input_tokens output_tokens cache_read_tokens "
        "cache_creation_tokens total_cost_usd duration_ms duration_api_ms num_turns session_id"
    )
    assert found["timestamp"] == "2026-11-20T14:00:00+00:00"
    inner = found["analysis"]
    assert (inner["input_tokens"], inner["cache_read_tokens"], inner["num_turns"]) == (7, 0, None)


def test_the_document_of_text_has_no_usage() -> None:
    text = analysis("Done.\n", loop_number=2).to_json()
    assert list(json.loads(text)["analysis"])[-1] == "denied_commands"
    assert text.startswith('{\n  "loop_number": 2,\n')
    assert text.endswith("}\n")


# git's facts


@pytest.mark.parametrize(("output", "score"), [("Hello.\n", 20), (block(STATUS="BLOCKED"), 0)])
def test_changed_files_are_progress(output: str, score: int) -> None:
    found = analysis(output, files_changed=4)
    assert (found.has_progress, found.files_modified, found.confidence_score) == (True, 4, score)
    assert not found.exit_signal


def test_git_beats_what_the_output_claims() -> None:
    assert analysis(GOLDEN["flat"][0], files_changed=9).files_modified == 9


@pytest.mark.parametrize(("last", "score"), [(None, 0), (20, 0), (21, 10)])
def test_half_the_length_of_the_last_output(last: int | None, score: int) -> None:
    found = analysis("0123456789\n\n", last_output_length=last)
    assert (found.output_length, found.confidence_score) == (10, score)


def test_output_length_counts_characters() -> None:
    assert analysis("äöü€𝄞\n\nx\n\n").output_length == 8


# what is said explicitly


@pytest.mark.parametrize("name", samples.FAMILIES)
def test_T4_T5_D6_D10_exit_signal_false_beats_every_word(name: str) -> None:  # noqa: N802
    found = analysis(b"".join(samples.FAMILIES[name][2]))
    assert (found.explicit_exit, found.exit_signal, found.has_completion_signal) == (False, False, False)
    assert found.session_id == (samples.FAMILIES[name][1] or "")


def codex(*texts: str) -> list[dict[str, Any]]:
    """A whole turn with these messages."""
    messages = [{"type": "item.completed", "item": {"type": "agent_message", "text": text}} for text in texts]
    return [{"type": "thread.started", "thread_id": "t"}, *messages, {"type": "turn.completed"}]


SHAPES: dict[str, Callable[[str], Any]] = {
    "claude": lambda text: {**RESULT, "result": text, "session_id": "s"},
    "codex": codex,
    "text": lambda text: text,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_T4_the_last_block_counts_not_the_quoted_one(shape: str) -> None:  # noqa: N802
    quoted = "You told me to end with\n" + block(STATUS="COMPLETE", EXIT_SIGNAL="true") + "so here it is:\n"
    found = analysis(SHAPES[shape](quoted + FALSE_BLOCK))
    assert (found.exit_signal, found.tests_status) == (False, "UNKNOWN")


@pytest.mark.parametrize("shape", SHAPES)
def test_T4_emphasis_in_the_block_is_harmless(shape: str) -> None:  # noqa: N802
    text = "```\n---RALPH_STATUS---\n**STATUS:** COMPLETE\n- EXIT_SIGNAL: `true`\nTESTS_STATUS: passing\n```\n"
    found = analysis(SHAPES[shape](text))
    assert (found.exit_signal, found.tests_status) == (True, "PASSING")


@pytest.mark.parametrize(
    "end", ["", "EXIT_SIGNAL: true\n", "STATUS: COMPLETE\nEXIT_SIGNAL: tr", "STATUS: COMPLETE\n"]
)
@pytest.mark.parametrize("shape", [*SHAPES, "gemini", "qwen"])
def test_a_block_that_is_cut_is_no_signal(shape: str, end: str) -> None:
    text = f"All tasks are done, the project is complete.\n---RALPH_STATUS---\n{end}"
    shapes = SHAPES | {
        "gemini": lambda text: {"session_id": "s", "response": text, "stats": {"models": {}}},
        "qwen": lambda text: [{**RESULT, "result": text, "session_id": "s", "uuid": "u"}],
    }
    found = analysis(shapes[shape](text))
    assert (found.explicit_exit, found.exit_signal, found.has_completion_signal) == (False, False, False)


@pytest.mark.parametrize("shape", SHAPES)
def test_T4_a_block_is_authoritative_against_words(shape: str) -> None:  # noqa: N802
    assert not analysis(SHAPES[shape]("The parser is done.\n" + block(STATUS="IN_PROGRESS"))).exit_signal


@pytest.mark.parametrize("shape", SHAPES)
def test_a_template_says_nothing(shape: str) -> None:
    template = block(STATUS="IN_PROGRESS | COMPLETE", EXIT_SIGNAL="false | true")
    assert analysis(SHAPES[shape]("I go on.\n" + template)).explicit_exit is None


def test_D14_a_block_before_the_last_message_is_found() -> None:  # noqa: N802
    found = analysis(codex(TRUE_BLOCK, "Bye."))
    assert (found.exit_signal, found.work_summary, found.last_text) == (True, "Bye.", "Bye.")


def test_a_blocks_signal_beats_the_field() -> None:
    assert analysis({"result": FALSE_BLOCK, "exit_signal": True, "status": "COMPLETE"}).exit_signal is False


def test_words_do_not_count_in_an_object() -> None:
    assert not analysis({"result": "Done, all tasks complete."}).has_completion_signal


def test_words_do_not_count_in_a_stream_of_claude() -> None:
    talk = samples.message("That is done.")
    result = {**samples.CLAUDE_RESULT, "result": "That is done."}
    assert not analysis([samples.CLAUDE_INIT, talk, {**result, "uuid": "u"}]).exit_signal
    assert not analysis([samples.CLAUDE_INIT, talk]).exit_signal
    assert analysis([talk, result]).exit_signal  # the shape that bmalph's analyzer knows


@pytest.mark.parametrize("facts", [{"exit_status": 1}, {"exit_status": 124, "timed_out": True}])
@pytest.mark.parametrize("shape", ["codex", "text"])
def test_T19_words_of_a_failed_run_are_not_believed(shape: str, facts: dict[str, Any]) -> None:  # noqa: N802
    assert not analysis(SHAPES[shape]("Almost done."), **facts).has_completion_signal


def test_T19_a_run_that_was_cut_short_is_analysed() -> None:  # noqa: N802
    lines = samples.lines(*samples.CLAUDE_EVENTS)
    found = analysis(b"".join(lines[:-1]) + lines[-1][:40], timed_out=True, exit_status=124, files_changed=2)
    assert (found.family, found.completed_turn, found.files_modified) == ("claude", False, 2)
    assert (found.session_id, found.malformed) == ("c-1", 1)
    assert samples.WORK in found.text


def test_what_the_cli_says_in_the_place_of_a_result_is_no_answer() -> None:
    found = analysis({**RESULT, "is_error": True, "result": TRUE_BLOCK, "api_error_status": 500})
    assert (found.exit_signal, found.is_error, found.has_errors, found.api_error_status) == (False, True, True, 500)
    assert found.work_summary.startswith("Built it.")


# layouts and damage


@pytest.mark.parametrize(
    "before", ["\ufeff", "\n", "\r\n\n", "Warning: no stdin data received in 3s\n", "[warn] x\n"]
)
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["cli_object_with_usage", "flat", "cli_array"])
def test_what_stands_before_the_document(before: str, indent: int | None, name: str) -> None:
    output, wanted = GOLDEN[name]
    document = json.loads(output) if isinstance(output, str) else output
    found = analysis(before + json.dumps(document, indent=indent))
    assert found.output_format == "json"
    assert {key: getattr(found, key) for key in wanted} == wanted


def test_an_array_with_some_elements_on_a_line() -> None:
    text = (
        '[\n  {"type": "system", "subtype": "init", "session_id": "s-1"},\n'
        '  {\n    "type": "result",\n    "result": "ok",\n    "permission_denials": [\n'
        '      {"tool_name": "Write"}\n    ]\n  }\n]\n'
    )
    found = analysis(text)
    assert (found.work_summary, found.session_id, found.denied_commands) == ("ok", "s-1", ("Write",))


@pytest.mark.parametrize("text", ["[]", "{}", '{"a": 1}', "[3]"])
def test_json_that_says_nothing(text: str) -> None:
    found = analysis(text)
    assert (found.output_format, found.format_confidence, found.work_summary) == ("json", 80, "")
    assert (found.text, found.has_errors) == ("", False)


def test_malformed_json_is_text() -> None:
    found = analysis('{"status": "COMPLETE", broken\n')
    assert (found.output_format, found.format_confidence) == ("text", 30)


def test_prose_that_ends_in_an_object_is_text() -> None:
    assert analysis('The config is now:\n{"status": "COMPLETE"}\n').output_format == "text"


def test_numbers_that_json_cannot_write() -> None:
    found = analysis('{"result": "x", "total_cost_usd": 1e999, "confidence": NaN, "error_count": 1e999}')
    assert json.loads(found.to_json())["analysis"]["total_cost_usd"] is None


def test_halves_of_surrogate_pairs_can_be_written() -> None:
    found = analysis('{"result": "a\\ud83d", "session_id": "s\\udcff"}')
    assert (found.work_summary, found.session_id) == ("a\ufffd", "s\ufffd")
    assert "\ufffd" in found.to_json().encode().decode()


# errors (T18)


@pytest.mark.parametrize(
    "line",
    [
        *(
            "Error: x",
            "ERROR: x",
            "error: x",
            "a]: error x",
            "Link: error",
            "Error occurred",
            "failed with error 3",
        ),
        *("java.lang.Exception", "an exception", "Fatal", "FATAL"),
    ],
)
def test_error_lines(line: str) -> None:
    assert analysis(f"Hello.\n{line}\n").has_errors


def test_a_line_full_of_errors_costs_no_square() -> None:
    assert analysis('"' + "error" * 300_000 + "\nError: x\n").has_errors


@pytest.mark.parametrize("line", ['"is_error": false, Fatal', "no Error: here", "errors: 0", "fatality"])
def test_lines_without_errors(line: str) -> None:
    assert not analysis(f"{line}\n").has_errors


def test_T18_one_line_of_json_is_not_blind() -> None:  # noqa: N802
    found = analysis(
        {**RESULT, "is_error": False, "result": "I ran it.\nError: no such table at 0x7f3a (12:01:33)"}
    )
    assert (found.has_errors, found.error_fingerprint) == (True, "Error: no such table at HEX (TIME)")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Error: /tmp/a/b.py:14 failed", "Error: ./c/d/e.py:220 failed"),
        ("Error: at 2026-01-02T03:04:05Z", "Error: at 2027-11-12 13:14:15.678+02:00"),
        ("Error: commit 1a2b3c4d5e", "Error: commit 99ffee0011"),
        ("Error: after 3.2 s", "Error: after 17 s"),
        ("Error: id 108212ca-6555-4fcd-a302-0ddef0745b49", "Error: id 23e57a7d-d051-48c1-afb7-cf230b362570"),
        ("\x1b[31mError: red\x1b[0m", "Error:  red "),
    ],
)
def test_T18_the_same_error_has_the_same_fingerprint(one: str, other: str) -> None:  # noqa: N802
    texts = [f"{line}\n" for line in (one, other)]
    found = [analysis({"result": text}).error_fingerprint for text in texts]
    assert found[0] == found[1] != analysis({"result": "Error: another"}).error_fingerprint


# refusals


@pytest.mark.parametrize(
    "text",
    [
        "Permission denied: tool Bash",
        "denied permission: the command was blocked",
        "Approval required: run this?",
        "The tool requires approval before it can run.",
        "\nHm.\nI am not permitted to use tool X",
    ],
)
@pytest.mark.parametrize("shape", SHAPES)
def test_refusals(shape: str, text: str) -> None:
    found = analysis(SHAPES[shape](text))
    assert (found.permission_denial_count, found.denied_commands) == (1, ("permission_denied",))


@pytest.mark.parametrize(
    "text",
    [
        "Permission denied: /etc/shadow",
        "Approval required: none",
        "I fixed it.\n\nPermission denied: tool Bash",
        "1\n2\n3\n4\n5\nPermission denied: tool Bash",
        block(STATUS="X") + "Permission denied: tool Bash",
    ],
)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_refusals(shape: str, text: str) -> None:
    assert not analysis(SHAPES[shape](text)).has_permission_denials


def test_D8_opencode_refusals_are_tool_errors() -> None:  # noqa: N802
    state = {"status": "error", "error": "The user rejected permission to use this specific tool call."}
    events = [
        samples.opencode("tool_use", {"tool": "write", "state": state}),
        samples.opencode("tool_use", {"tool": "bash", "state": {**state, "input": {"command": "rm x\nls"}}}),
        samples.opencode("tool_use", {"tool": "read", "state": {"status": "error", "error": "no such file"}}),
    ]
    assert analysis(events).denied_commands == ("write", "bash(rm x)")


# usage


def test_usage_of_opencode_adds_up() -> None:
    step = {"tokens": {"input": 2, "output": 3, "cache": {"read": 5, "write": 7}}, "cost": 0.5, "reason": "stop"}
    usage = analysis([samples.opencode("step_finish", step)] * 2).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (4, 6, 10)
    assert (usage.cache_creation_tokens, usage.total_cost_usd, usage.num_turns) == (14, 1.0, 2)


def test_usage_of_codex_is_that_of_the_session() -> None:
    found = analysis([*codex("x")[:-1], {"type": "turn.completed", "usage": {"input_tokens": 9}}])
    assert (found.usage.input_tokens, found.usage.cumulative) == (9, True)
    assert json.loads(found.to_json())["analysis"]["input_tokens"] is None


# any bytes, any chunks

PIECES = [line for _, _, lines in samples.FAMILIES.values() for line in lines]
PIECES += [b"[\n", b"]\n", b"{", b"\n", b"\xff\xfe", b"```\n", TRUE_BLOCK.encode(), b"Error: x\n", b"\xef\xbb\xbf"]
outputs = st.lists(st.sampled_from(PIECES) | st.binary(max_size=30), max_size=8).map(b"".join)


@given(output=outputs, status=st.sampled_from([0, 1, -15, 124]), files=st.integers(0, 3))
def test_no_bytes_raise(output: bytes, status: int, files: int) -> None:
    found = analyze([output], RunFacts(now=NOW, exit_status=status, files_changed=files, stderr=output))
    assert json.loads(found.to_json().encode())["output_format"] == found.output_format
    assert found.has_completion_signal >= found.exit_signal
    assert found.has_permission_denials == (found.permission_denial_count > 0)


@given(output=outputs, data=st.data())
def test_chunks_make_no_difference(output: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(output)), max_size=6)))
    bounds = zip([0, *cuts], [*cuts, len(output)], strict=True)
    assert analyze([output[start:end] for start, end in bounds], FACTS) == analyze([output], FACTS)


# files and sizes


def test_a_missing_log_is_an_empty_one(tmp_path: Path) -> None:
    assert analyze_file(tmp_path / "none.log", FACTS) == analyze([], FACTS)


def test_a_folder_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(OutputUnreadable, match="next: "):
        analyze_file(tmp_path, FACTS)


def test_a_log_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"".join(samples.lines(*CODEX_DONE)))
    assert analyze_file(path, FACTS) == analyze([path.read_bytes()], FACTS)


TOOL = samples.lines({"type": "user", "message": {"content": "x" * 100_000}, "session_id": "c-1"})[0]
TALK = samples.lines(samples.message("word " * 20_000))[0]
PROSE = b"I look at the next file and write about it at some length. " * 1000 + b"\n"


@pytest.mark.slow
@pytest.mark.parametrize("line", [TOOL, TALK, PROSE], ids=["tool output", "messages", "prose"])
def test_100_MB_need_no_more_memory_than_40(line: bytes) -> None:  # noqa: N802
    """What is kept is bounded, so beyond the bound the peak no longer grows with the output."""

    def peak(size: int) -> int:
        analyzer = Analyzer()
        tracemalloc.start()
        if line is not PROSE:
            analyzer.feed(samples.lines(samples.CLAUDE_INIT)[0])
        for _ in range(size // len(line)):
            analyzer.feed(line)
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return held

    assert peak(60_000_000) < peak(40_000_000) + 4_000_000
