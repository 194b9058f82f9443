"""codex's own sandbox can't be made: no command runs, and codex ends with 0 all the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridge.scripts.stream.events import read_output

REFUSED = "error building bubblewrap command: app-server socket directory must be a user-owned directory\n"


def item(kind: str, status: str, output: str = "", **more: object) -> dict[str, Any]:
    fields = {"id": "item_0", "type": kind, "status": status, "aggregated_output": output, **more}
    return {"type": "item.completed", "item": fields}


def turn(*items: dict[str, Any]) -> list[bytes]:
    say = {"type": "item.completed", "item": {"id": "item_9", "type": "agent_message", "text": "All is done."}}
    events = [{"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"}, *items, say]
    events.append({"type": "turn.completed", "usage": {"input_tokens": 3, "output_tokens": 1}})
    return [json.dumps(event).encode() + b"\n" for event in events]


@pytest.mark.parametrize("words", [REFUSED, "bwrap: Creating new namespace failed\n", "error running landlock: x"])
def test_a_turn_whose_commands_could_not_be_boxed_has_failed(words: str) -> None:
    found = read_output(turn(item("command_execution", "failed", words, exit_code=1)))
    assert (found.is_error, found.completed, found.text) == (True, False, "All is done.")
    assert words.splitlines()[0] in (found.error or "")


@pytest.mark.parametrize(
    "items",
    [
        [item("command_execution", "failed", "no such file\n", exit_code=1)],
        [item("command_execution", "failed", REFUSED), item("command_execution", "completed", "hi\n", exit_code=0)],
        [item("file_change", "completed"), item("command_execution", "failed", REFUSED)],
        [item("command_execution", "completed", REFUSED, exit_code=0)],  # it only prints the words
        [],
    ],
)
def test_any_other_turn_has_not(items: list[dict[str, Any]]) -> None:
    found = read_output(turn(*items))
    assert (found.is_error, found.completed) == (False, True)


def test_the_next_turn_begins_anew() -> None:
    found = read_output([*turn(item("command_execution", "failed", REFUSED)), *turn()])
    assert (found.is_error, found.completed) == (False, True)
