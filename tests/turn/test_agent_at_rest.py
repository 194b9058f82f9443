"""An agent's program that prints plain text and stays is over once it is at rest, as a driver's is."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from bridge import Agent
from bridge.loop.turn.agent_program import AgentEnd, run_agent

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

SCRIPT = """\
AGENT_CLI=bash
AGENT_ARGS=
AGENT_INSTALL=none
AGENT_ENV_KEYS=
agent_invoke() { cat "$1" > /dev/null; %s; }
agent_extract_response() { cat "$1"; }
agent_format_display() { cat; }
"""


@pytest.mark.parametrize(
    ("program", "end"),
    [
        ("echo 'All is done.'; exec sleep 60", AgentEnd(0)),
        ("echo 'I begin.'; sleep 0.1; bash -c 'echo a tool at work; sleep 60; true'", None),
    ],
)
def test_a_plain_program_that_stays_is_ended_once_it_is_at_rest(
    tmp_path: Path, program: str, end: AgentEnd | None
) -> None:
    (tmp_path / "plain.sh").write_text(SCRIPT % program)
    (tmp_path / "PROMPT.md").write_text("Do it.")
    with Agent.load(tmp_path / "plain.sh") as agent:
        running = run_agent(
            agent,
            tmp_path / "PROMPT.md",
            io.BytesIO(),
            stdin=b"",
            grace=0.2,
            timeout=6 if end else 1.5,
            answered=0.6,
        )
        found = _returned(running)
    if end is not None:
        assert found == end
    else:
        assert found.timed_out


def _returned(running: Generator[str, None, AgentEnd]) -> AgentEnd:
    while True:
        try:
            next(running)
        except StopIteration as stop:
            end: AgentEnd = stop.value
            return end
