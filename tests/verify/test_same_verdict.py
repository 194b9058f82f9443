"""An agent that pipes its prompt into its CLI is judged the same each time, however late the prompt is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.verify.engine import verify
from bridge.verify.findings import ScriptFinished
from bridge.verify.subject import Subject

if TYPE_CHECKING:
    from pathlib import Path

WAYS = {
    'cat "$1" | $AGENT_CLI': set(),
    'cat "$1" | nice $AGENT_CLI | cat': set(),
    'cat "$1" | $AGENT_CLI || true': {"RB172"},
    'cat "$1" | docker run --rm image $AGENT_CLI': {"RB171"},
    '{ sleep 0.2; cat "$1"; } | docker run --rm image $AGENT_CLI': {"RB171"},
    '{ sleep 0.2; cat "$1"; } | ssh -n far $AGENT_CLI': {"RB171"},
}
"""How the CLI is run, and what is to be told of it: the last three do not hand their stdin on."""


def script(way: str, folder: Path) -> Path:
    path = folder / "agent.sh"
    path.write_text(
        f'AGENT_CLI="agent"\nagent_invoke() {{ {way}; }}\n'
        'agent_extract_response() { cat "$1"; }\nagent_format_display() { cat; }\n'
    )
    return path


def findings(way: str, folder: Path) -> list[tuple[str, str, str]]:
    events = verify([script(way, folder)], select=["RB171", "RB172"])
    [finished] = (event for event in events if isinstance(event, ScriptFinished))
    return [(each.code, each.severity.value, each.message) for each in finished.findings]


@pytest.mark.parametrize("way", list(WAYS)[-2:])
def test_who_writes_a_late_prompt_does_not_die_of_it(way: str, tmp_path: Path) -> None:
    with Subject(script(way, tmp_path)) as subject:
        assert subject.agent.good_status() == 0


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_again_and_again(way: str, tmp_path: Path) -> None:
    first, *others = (findings(way, tmp_path) for _ in range(8))
    assert {code for code, _, _ in first} == WAYS[way]
    assert all(other == first for other in others)
