"""Kimi Code, pi, Droid and Kilo: what the pinned programs printed, and what goes wrong with their providers."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bridge.scripts.driver import Driver
from bridge.scripts.session_id import is_dead_session
from bridge.scripts.stream.analysis import Analysis, PermanentReason, RunFacts, analyze
from bridge.scripts.stream.events import Reader, read_output

FOLDER = Path(__file__).parents[1] / "real" / "captures"
NOW = datetime(2026, 11, 26, 1, 0, tzinfo=UTC)
KIMI = {"role": "meta", "type": "system.version", "version": "2.1.0"}
PI = {"type": "session", "version": 3, "id": "01a2155e-d369-70ea", "cwd": "/home/user/project"}


def captured(name: str) -> list[bytes]:
    return (FOLDER / f"{name}.out").read_bytes().splitlines(keepends=True)


def lines(*events: dict[str, Any]) -> list[bytes]:
    return [json.dumps(event).encode() + b"\n" for event in events]


def judged(output: list[bytes], *, status: int = 0, stderr: bytes = b"", timed_out: bool = False) -> Analysis:
    return analyze(output, RunFacts(now=NOW, exit_status=status, stderr=stderr, timed_out=timed_out))


@pytest.mark.parametrize(
    ("name", "family", "session", "tokens"),
    [
        ("kimi", "kimi", "session_", (None, None, None)),
        ("pi", "pi", "01", (468, 112, 2000)),
        ("droid", "droid", "", (468, 112, 2000)),
        ("kilo", "opencode", "ses_", (468, 88, 2000)),
    ],
)
def test_what_a_turn_said_and_used(name: str, family: str, session: str, tokens: tuple[Any, ...]) -> None:
    answer = read_output(captured(name))
    assert (answer.family, answer.completed, answer.is_error, answer.malformed) == (family, True, False, 0)
    assert answer.text.startswith("I do one.\n\nAll is complete, everything is done.\nIt prints")
    assert answer.final_text.startswith("All is complete")
    assert len(answer.session_id or "") >= 30
    assert (answer.session_id or "").startswith(session)
    used = answer.usage
    assert (used.input_tokens, used.output_tokens, used.cache_read_tokens) == tokens


@pytest.mark.parametrize("first", [(), (KIMI,)])
def test_kimi_has_answered_with_words_that_call_no_tool(first: tuple[Any, ...]) -> None:
    """Its last line, which names the session, may be missing."""
    reader = Reader()
    call = {"role": "assistant", "content": "I do one.", "tool_calls": [{"id": "1"}]}
    for line in lines(*first, call, {"role": "tool", "tool_call_id": "1", "content": "ok"}):
        reader.feed(line)
    assert not reader.answered()
    for line in lines({"role": "assistant", "content": "Done.", "tool_calls": []}):
        reader.feed(line)
    assert reader.answered()
    assert (reader.answer().family, reader.answer().text) == ("kimi", "I do one.\n\nDone.")


def test_a_key_that_is_refused_is_a_failed_turn_though_pi_ends_with_0() -> None:
    found = judged(captured("pi-401"))
    assert (found.is_error, found.completed_turn) == (True, False)
    assert found.permanent is not None
    assert found.permanent.reason is PermanentReason.KEY_REFUSED


def test_a_key_that_is_refused_droid() -> None:
    found = judged(captured("droid-401"), status=1)
    assert (found.error, found.is_error) == ("401 that key is unknown", True)
    assert found.permanent is not None
    assert found.permanent.reason is PermanentReason.KEY_REFUSED


def test_a_key_that_is_refused_kimi() -> None:
    """It says so on stderr alone."""
    words = b"error: failed to run prompt: provider.auth_error: 401 that key is unknown\nSee log: /home/user/log\n"
    found = judged(lines(KIMI), status=1, stderr=words)
    assert found.permanent is not None
    assert found.permanent.reason is PermanentReason.KEY_REFUSED


def test_what_droid_may_not_do_is_named() -> None:
    found = judged(captured("droid-denied"), status=1)
    assert found.denied_commands == ("Execute(touch never)",)
    assert (found.error or "").startswith("Exec ended early: insufficient permission to proceed.")


def retrying(status: int, words: str) -> dict[str, Any]:
    meta = {"role": "meta", "type": "turn.step.retrying", "failed_attempt": 1, "max_attempts": 10}
    return {**meta, "error_message": f"{status} {words}", "status_code": status}


def test_kimi_tries_again_and_what_it_tried_is_forgotten_when_the_provider_is_back() -> None:
    limit = retrying(429, "You exceeded your rate limit. Please try again later.")
    stuck = judged(lines(KIMI, limit, limit), status=-15, timed_out=True)
    assert stuck.limit is not None
    assert stuck.limit.kind == "rate"
    hint = {"role": "meta", "type": "session.resume_hint", "session_id": "session_1"}
    back = judged(lines(KIMI, limit, {"role": "assistant", "content": "Done."}, hint))
    assert (back.limit, back.error, back.api_error_status, back.text) == (None, None, None, "Done.")


def test_a_message_that_pi_asks_for_anew_is_said_once() -> None:
    def end(text: str, stop: str, **more: str) -> dict[str, Any]:
        content = [{"type": "text", "text": text}]
        return {
            "type": "message_end",
            "message": {"role": "assistant", "content": content, "stopReason": stop, **more},
        }

    def piece(text: str) -> dict[str, Any]:
        return {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": text}}

    cut = (piece("A long sto"), end("A long sto", "error", errorMessage="terminated"))
    again = (piece("A long story."), end("A long story.", "stop"))
    answer = read_output(lines(PI, *cut, *again))
    assert (answer.text, answer.completed, answer.error) == ("A long story.", True, None)
    answer = read_output(lines(PI, *cut))
    assert (answer.text, answer.is_error, answer.error) == ("", True, "terminated")
    assert read_output(lines(PI, piece("Half of it"))).text == "Half of it"


@pytest.mark.parametrize(
    "words",
    [
        'error: failed to run prompt: Session "session_0b9f3f0a-2d35" not found.\nSee log: /home/user/log',
        "No session found matching '0b9f3f0a-2d35-4c5e-9b0f-6f1f7d0d4c11'",
        "\x1b[91m\x1b[1mError: \x1b[0mSession not found",
    ],
)
def test_the_words_for_a_lost_session(words: str) -> None:
    assert is_dead_session(words)


def test_pis_session_is_found_by_its_driver_alone() -> None:
    """Controllers that read three usual fields don't look at an event's `id`."""
    with Driver.load("pi") as driver:
        found = driver.extract_session_id(FOLDER / "pi.out")
        assert found == read_output(captured("pi")).session_id
        assert driver.extract_session_id(FOLDER / "droid.out") is None


def test_claude_is_still_claude() -> None:
    """Droid's first event has the same type as claude's."""
    init = {"type": "system", "subtype": "init", "session_id": "c-1", "tools": [], "model": "m"}
    assert read_output(lines(init)).family == "claude"
    assert read_output(lines({**init, "reasoning_effort": "none"})).family == "droid"


def test_a_first_event_that_several_begin_with_is_read_by_the_second() -> None:
    init = {"type": "system", "subtype": "init", "session_id": "d-1", "tools": [], "model": "m"}
    done = {"type": "completion", "finalText": "Done.", "session_id": "d-1"}
    found = read_output(lines(init, done))
    assert (found.family, found.session_id, found.final_text, found.completed) == ("droid", "d-1", "Done.", True)


def test_pi_has_answered_before_it_settles_too() -> None:
    """Versions before 0.87 end with `agent_end`."""
    reader = Reader()
    for event in ({"type": "agent_start"}, {"type": "agent_end", "messages": []}):
        reader.feed(json.dumps(event).encode())
    assert reader.answered()
    reader.feed(b'{"type": "auto_retry_start"}')
    assert not reader.answered()
