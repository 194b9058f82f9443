"""A finding about a command or a text names the line that writes or reads what is wrong, not the hook's first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .mutants import agents, drivers, live
from .standin import verify

if TYPE_CHECKING:
    from pathlib import Path

MUTANTS = {mutant.name: mutant for mutant in (*drivers.MUTANTS, *live.MUTANTS, *agents.MUTANTS)}
CASES = {
    "session without its dashes": "RB109",
    "session behind a blank": "RB109",
    "the last session by a letter": "RB110",
    "resumes on words that have true in them": "RB110",
    "prompt without several empty lines": "RB106",
    "one tool more": "RB115",
    "context without quotes in it": "RB107",
    "mode fixed": "RB114",
    "response of a line without quotes": "RB176",
    "display of a line without quotes": "RB181",
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_line_that_was_broken(name: str, tmp_path: Path) -> None:
    mutant = MUTANTS[name]
    path = mutant.write(tmp_path)
    sound, broken = (each.splitlines() for each in (mutant.source().read_text(), path.read_text()))
    changed = {number for number, line in enumerate(broken, 1) if line not in sound}
    (finding, *_) = verify(path, [CASES[name]]).findings
    assert finding.line in changed, (finding, changed)


def test_where_a_helper_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.sh"
    path.write_text(
        "driver_name() { echo mine; }\n"
        "driver_display_name() { echo Mine; }\n"
        "driver_cli_binary() { echo my-cli; }\n"
        "driver_valid_tools() { VALID_TOOL_PATTERNS=(Read); }\n"
        "driver_build_command() {\n"
        '    [[ -f "$1" ]] || return 1\n'
        '    CLAUDE_CMD_ARGS=(my-cli -p "$(<"$1")" --context "$2")\n'
        '    _resume "$3"\n'
        "}\n"
        "_resume() {\n"
        '    [[ -n "$1" ]] || return 0\n'
        '    CLAUDE_CMD_ARGS+=(--resume "${1:0:8}")\n'
        "}\n"
    )
    (finding,) = verify(path, ["RB109"]).findings
    assert finding.line == 12
