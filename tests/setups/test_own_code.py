"""A loop starts the code of its own kind: of others, what finds out that a project isn't theirs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bridge.loop.setups import KINDS

if TYPE_CHECKING:
    from tests.examples import MakeProject, Project

ROOMS = {name: path.rsplit(".", 1)[0] for name, path in KINDS.items()}
RECOGNISING = {"", ".kind", ".layout", ".detect", ".which", ".calls", ".past_path", ".reading", ".tree"}
"""Modules of a kind that tell whose a project is."""
CODE = """\
import atexit, sys
atexit.register(lambda: print(*sys.modules, sep="\\n", file=open(".ralph/modules", "w")))
from bridge.cli import main
sys.exit(main())
"""


def loaded(project: Project, *words: str) -> set[str]:
    """The modules of kinds that a command loads in a project of one kind."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *words],
        cwd=project.path,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert "Traceback" not in done.stderr, done.stderr
    found = (project.path / ".ralph/modules").read_text().split()
    return {name for name in found if f"{name}.".startswith(tuple(f"{room}." for room in ROOMS.values()))}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        *(("plain", words) for words in ("run --max-iterations 1", "status --setup plain", "doctor")),
        ("bmalph", "run --max-iterations 1"),
        ("frankbria", "run --max-iterations 1"),
        ("ralph-loop", "run plan 1"),
    ],
)
def test_a_command_loads_the_code_of_the_projects_kind_alone(
    kind: str, words: str, make_project: MakeProject
) -> None:
    found = loaded(make_project(kind), *words.split())
    allowed = {f"{room}{name}" for room in ROOMS.values() for name in RECOGNISING}
    # `plain` is the base of all others.
    strange = {name for name in found - allowed if not name.startswith((ROOMS[kind], ROOMS["plain"]))}
    assert not strange
    assert words.startswith("status") or any(name.startswith(f"{ROOMS[kind]}.") for name in found - allowed)
