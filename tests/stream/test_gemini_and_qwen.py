"""What Gemini CLI 0.61 and Qwen Code 0.24 (and 0.15) printed, read: ``tests/data/recordings``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bridge.scripts.session_id import is_dead_session
from bridge.scripts.stream.analysis import Analysis, RunFacts, analyze, analyze_file
from bridge.scripts.stream.events import Answer, Reader, read_output
from tests.stream.samples import lines

FOLDER = Path(__file__).parents[1] / "data" / "recordings"
NOW = datetime(2026, 11, 22, 19, 0, tzinfo=UTC)
MESSAGE = "I will write the file.\n\nI implemented the greeting and all tests pass.\n\n---RALPH_STATUS---"
INIT = {"type": "init", "session_id": "g-1", "model": "m"}


def analysed(name: str, *, status: int = 0, stderr: bytes = b"") -> Analysis:
    return analyze_file(FOLDER / f"{name}.out", RunFacts(now=NOW, exit_status=status, stderr=stderr))


def details(name: str) -> Answer:
    reader = Reader()
    for line in (FOLDER / f"{name}.out").read_bytes().splitlines(keepends=True):
        reader.feed(line)
    return reader.answer()


@pytest.mark.parametrize(
    ("name", "family", "session", "used"),
    [
        ("gemini-live", "gemini", "9ae25355-dbff-4339-aaf2-ff623d264c0b", (2468, 136, 2000)),
        ("gemini-batch", "gemini", "ba2c1ffa-2278-432e-8452-f7b58b72c333", (2468, 136, 2000)),
        ("qwen-batch", "qwen", "ace44f7a-a64c-4890-9bb4-de4fd47b21cb", (2468, 112, 2000)),
        ("qwen-live", "qwen", "65318411-fa5a-477b-ad8f-ae77a618312a", (2468, 112, 2000)),
        ("qwen-live-partial", "qwen", "bafcd0cf-7a10-4dcc-aa1b-fb1495ac78f8", (2468, 112, 2000)),
    ],
)
def test_a_turn_that_ends_well(name: str, family: str, session: str, used: tuple[int, int, int]) -> None:
    """Gemini's thoughts, which are paid for, count as tokens out: 112 of the answer and 24 of thoughts."""
    found = analysed(name)
    assert (found.family, found.session_id, found.completed_turn, found.is_error) == (family, session, True, False)
    usage = found.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == used
    assert usage.total_cost_usd is None
    assert (found.explicit_exit, found.tasks_completed_this_loop, found.tests_status) == (True, 1, "PASSING")
    message = MESSAGE.partition("\n\n")[2] if name == "gemini-batch" else MESSAGE  # json has the last message only
    assert found.text.startswith(message)
    assert found.last_text.startswith("I implemented")
    assert "Ralph Development Instructions" not in found.text, "that was the prompt"


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        ("gemini-empty", 0, "The model returned an empty response"),
        ("gemini-loop", 0, "Loop detected, stopping execution"),
        ("gemini-loop-live", 0, "Loop detected, stopping execution"),
        ("gemini-cut-live", 1, "[API Error: terminated]"),
        ("gemini-maxturns-live", 53, "Reached max session turns"),
        ("gemini-http401-live", 145, '[API Error: {"error":{"code":401'),
        ("qwen-http401", 1, "[API Error: 401 API key not valid"),
        ("qwen-015-http401", 0, "[API Error: 401 API key not valid"),
    ],
)
def test_status_0_is_no_success_and_neither_is_a_result_that_says_so(name: str, status: int, error: str) -> None:
    found = analysed(name, status=status)
    assert (found.completed_turn, found.is_error) == (False, True)
    assert (found.error or "").startswith(error)
    assert "API Error" not in found.text
    assert found.limit is None


@pytest.mark.parametrize("name", ["qwen-http401", "qwen-015-http401"])
def test_qwen_tells_the_status_in_words(name: str) -> None:
    assert details(name).api_error_status == 401


def test_a_turn_of_gemini_without_its_result_was_ended() -> None:
    """On TERM it prints no result, and its status is 0."""
    whole = (FOLDER / "gemini-live.out").read_bytes().splitlines(keepends=True)
    cut = read_output(whole[:-1])
    assert (cut.completed, cut.is_error, cut.error) == (False, True, "the turn was ended before its result")
    assert cut.text == read_output(whole).text
    assert not read_output(whole).is_error


@pytest.mark.parametrize(
    ("name", "status", "kind"), [("gemini-limit-day-live", 173, "usage"), ("gemini-once429-live", 173, "rate")]
)
def test_geminis_limits(name: str, status: int, kind: str) -> None:
    limit = analysed(name, status=status).limit
    assert limit is not None
    assert (limit.kind, limit.resets_at) == (kind, None)


def test_geminis_status_tells_a_limit_whatever_the_words_are() -> None:
    error = {"type": "unknown", "message": "[API Error: Please retry in 30s.]"}
    output = lines(INIT, {"type": "result", "status": "error", "error": error, "stats": {}})
    limit = analyze(output, RunFacts(now=NOW, exit_status=173)).limit
    assert limit is not None
    assert (limit.kind, limit.resets_at) == ("rate", NOW.timestamp() + 30)
    assert analyze(output, RunFacts(now=NOW, exit_status=244)).limit is None


def test_refused_tools_are_named() -> None:
    refused = ("write_file", "run_shell_command(printf x > shell.txt)")
    assert set(refused) <= set(analysed("gemini-tools-default").denied_commands)
    assert set(refused) <= set(analysed("qwen-denied").denied_commands)


def test_a_tool_that_the_model_invents_and_a_command_that_fails_are_not_refused() -> None:
    assert not analysed("gemini-cmdfail").denied_commands
    call = {"type": "tool_use", "tool_name": "make_coffee", "tool_id": "1", "parameters": {}}
    error = {"type": "tool_not_registered", "message": 'Tool "make_coffee" not found.'}
    result = {"type": "tool_result", "tool_id": "1", "status": "error", "error": error}
    assert not analyze(lines(INIT, call, result), RunFacts(now=NOW)).denied_commands
    asked = {**result, "error": {"type": "unhandled_exception", "message": "It requires user confirmation, which"}}
    assert analyze(lines(INIT, call, asked), RunFacts(now=NOW)).denied_commands == ("make_coffee",)


def test_the_words_for_a_lost_session() -> None:
    assert is_dead_session((FOLDER / "gemini-badsession.err").read_text())
    assert is_dead_session("No saved session found with ID 11111111-2222-4333-8444-555555555555")
