"""What Antigravity CLI prints, as it is documented: its answer, its session, what it used, how it fails."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bridge.scripts.stream.events import Reader, read_output

if TYPE_CHECKING:
    from collections.abc import Mapping


def lines(*events: Mapping[str, object]) -> list[bytes]:
    return [json.dumps(each).encode() + b"\n" for each in events]


def step(number: int, text: str, **more: object) -> dict[str, object]:
    inner = {"step_index": number, "step_type": "agent_response", "state": "ACTIVE", "text_delta": text}
    return {"event": "step_update", "step_update": inner | more}


INIT = {"event": "init", "conversation_id": "c-1", "init": {"cwd": "/"}}
USAGE = {"input_tokens": 17, "output_tokens": 9, "cache_read_tokens": 4}
DONE = {"event": "result", "result": {"status": "SUCCESS", "response": "All done.", "usage": USAGE}}


def test_pieces_are_one_message_and_a_repetition_is_none() -> None:
    echo = step(0, "the prompt", step_type="user_input", state="DONE")
    last = {"event": "step_update", "step_update": {"step_index": 1, "state": "DONE", "text_delta": "I look."}}
    answer = read_output(lines(INIT, echo, step(1, "I "), step(1, "look."), last, step(3, "All done."), DONE))
    assert (answer.family, answer.text, answer.final_text) == ("agy", "I look.\n\nAll done.", "All done.")
    assert (answer.session_id, answer.completed, answer.is_error) == ("c-1", True, False)
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.cache_read_tokens) == (17, 9, 4)


def test_a_result_that_is_none_is_a_failure_in_its_words() -> None:
    failed = {"event": "result", "result": {"status": "ERROR", "error": "quota exceeded", "response": ""}}
    answer = read_output(lines(INIT, step(1, "I "), failed))
    assert (answer.completed, answer.is_error, answer.error) == (False, True, "quota exceeded")
    assert read_output(lines(INIT, step(1, "I "))).completed is False


def test_the_result_closes_the_turn() -> None:
    reader = Reader()
    for line in lines(INIT, step(1, "All done.")):
        reader.feed(line)
        assert not reader.answered()
    reader.feed(lines(DONE)[0])
    assert reader.answered()


def test_fields_of_other_types_count_as_missing() -> None:
    odd = [
        {"event": "step_update", "step_update": each}
        for each in ({}, {"step_type": 3}, {"step_type": "agent_response"})
    ]
    assert read_output(lines(INIT, *odd, {"event": "result", "result": {"usage": 3}})).is_error
