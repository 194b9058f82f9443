"""A loop whose program isn't there is refused before anything is written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.wiggum.project import Project

DRIVER = """
driver_name() { echo mine; }
driver_display_name() { echo Mine; }
driver_cli_binary() { echo no-such-cli; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Bash); }
driver_build_command() { CLAUDE_CMD_ARGS=(no-such-cli "$(cat "$1")"); }
"""
AGENT = """
AGENT_CLI="no-such-cli"
agent_invoke() { no-such-cli < "$1"; }
agent_extract_response() { cat "$1"; }
agent_format_display() { cat; }
"""


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


@pytest.mark.parametrize("kind", ["driver", "agent"])
@pytest.mark.parametrize("prepared", [False, True])
def test_without_its_program_a_loop_writes_nothing(project: Project, kind: str, prepared: bool) -> None:
    script = project.write("mine.sh", DRIVER if kind == "driver" else AGENT)
    if not prepared:
        for name in ("PROMPT.md", "fix_plan.md"):
            (project.path / name).unlink()
    before = _files(project.path)
    done = project.wiggum("start", "Do a thing.", f"--{kind}", os.fspath(script))
    assert done.returncode == 4, done.stderr
    assert "no-such-cli was not found on PATH" in done.stderr
    assert _files(project.path) == before
