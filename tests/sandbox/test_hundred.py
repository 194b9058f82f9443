"""A night in bubblewrap: whatever its turns leave and however they end, nothing of them is left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.probes import probe
from tests.examples import EXAMPLES, project
from tests.machine import NO_BOX

if TYPE_CHECKING:
    from contextlib import ExitStack

    from tests.examples import Loop, Project

pytestmark = pytest.mark.skipif(probe(Wishes(provider="bwrap"), os.environ) is not None, reason=NO_BOX)

TURNS = 100
_STEPS = (
    "work",
    "leave; work",
    "touched; kill -TERM $$",
    "work; (setsid bash -c 'trap \"\" INT TERM HUP; while :; do sleep 300; done' &> /dev/null < /dev/null &)",
    "touched; kill -KILL $$",
    "echo x > \"$HOME/.claude/x\"; rm -rf .ralph/logs .git/hooks 2> /dev/null; touched; trap '' INT TERM; exit 3",
)
_HANGS = {12: "hang", 57: "trap '' INT TERM; leave; hang"}
_LOOKS = (10, 94)
"""Turns behind one of the same kind, in which the loop is looked at."""


def _within(folder: Path) -> list[int]:
    """Processes that have something of a folder mounted, are at work in it, or were started with a word of it."""
    found = []
    for process in psutil.process_iter():
        try:
            seen = Path(f"/proc/{process.pid}/mountinfo").read_text() + " ".join(process.cmdline())
            if f"{folder}/" in f"{seen}{process.cwd()}/" and process.pid != os.getpid():
                found.append(process.pid)
        except (OSError, psutil.Error):
            continue
    return found


def _belongings(loop: Loop, made: Project) -> dict[str, object]:
    """What a loop that runs has of this machine, and of its project."""
    kept = [path for path in made.state.rglob("*") if path.is_file() and "logs" not in path.parts]
    return {
        "descriptors": len(os.listdir(f"/proc/{loop.pid}/fd")),
        "threads": len(list(Path(f"/proc/{loop.pid}/task").iterdir())),
        "children": len(psutil.Process(loop.pid).children()),
        "state": sorted(path.name for path in kept),
        "temporary": len(os.listdir(made.env["TMPDIR"])),
        "home": sorted(os.listdir(made.env["HOME"])),
    }


def _wait_for(turn: int, loop: Loop, made: Project) -> None:
    """Patience is for a few turns each."""
    for number in [*range(made.begun() + 1, turn, 3), turn]:
        loop.until(lambda number=number: made.of_turn(number, "began"), f"turn {number}")  # type: ignore[misc]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hundred_turns_leave_nothing(tmp_path: Path, stack: ExitStack) -> None:
    home = tmp_path / "home"
    made = stack.enter_context(project(EXAMPLES["plain"], home / "place"))
    for folder in (home / ".claude", home / ".config/ralph-bridge", tmp_path / "tmp"):
        folder.mkdir(parents=True)
    configured = home / ".config/ralph-bridge/config.toml"
    configured.write_text(f'[sandbox]\nprovider = "bwrap"\nwrite = ["{made.kept}"]\n')
    made.env |= {"HOME": str(home), "XDG_CONFIG_HOME": "", "TMPDIR": str(tmp_path / "tmp")}
    steps = [_HANGS.get(turn) or _STEPS[turn % len(_STEPS)] for turn in range(1, TURNS)]
    for turn in _LOOKS:
        steps[turn - 1] = f"touched; {made.held}"
    made.turns(*steps, otherwise=f"touched; {made.example.done}")
    before = {path for path in made.path.rglob("*") if ".git" not in path.parts}
    git = {*os.listdir(made.path / ".git")}

    loop = made.start("--max-iterations", str(TURNS), "--timeout", "0.25")
    looks = []
    for turn in _LOOKS:
        _wait_for(turn, loop, made)
        made.wait_until_up()
        assert _within(made.path)
        looks.append(_belongings(loop, made))
        made.let_go()
    _wait_for(TURNS, loop, made)
    assert loop.finished() == 0, loop.said
    assert made.begun() == TURNS
    first, last = looks
    assert first == last

    assert _within(made.path) == []
    assert str(made.path) not in Path("/proc/self/mountinfo").read_text()
    assert os.listdir(made.env["TMPDIR"]) == []
    assert {path for path in made.path.rglob("*") if ".git" not in path.parts and ".ralph" not in path.parts} == {
        path for path in before if ".ralph" not in path.parts
    } | {made.path / "work.txt"}
    assert {*os.listdir(made.path / ".git")} == git
    assert not [*home.glob(".local/state/ralph-bridge/git/*")]
    # What is made beforehand, so that nothing of it looks planted, is empty.
    state = [path for path in (home / ".claude").rglob("*") if path.is_file() and path.stat().st_size]
    assert {path.relative_to(home / ".claude").parts[0] for path in state} <= {"x"}
    assert {"x", "plugins"} <= {*os.listdir(home / ".claude")}
