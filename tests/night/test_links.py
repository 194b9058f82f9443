"""A link that an agent, or a clone, has put in the way leads the host nowhere out of the project."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Project

_CANARY = "what belongs to the user\n"


def _canary(folder: Path) -> Path:
    path = folder / "canary"
    path.write_text(_CANARY)
    path.chmod(0o640)
    os.utime(path, (1, 1))
    return path


def _untouched(canary: Path) -> None:
    seen = canary.stat()
    assert canary.read_text() == _CANARY
    assert (stat.S_IMODE(seen.st_mode), seen.st_mtime) == (0o640, 1)


def _written(night: Project) -> list[str]:
    """What a run of one turn makes in the folder of its state."""
    before = {path for path in night.path.rglob("*") if ".git" not in path.parts}
    assert night.start("--max-iterations", "1").finished() in (0, night.example.used_up)
    found = {path for path in night.path.rglob("*") if ".git" not in path.parts} - before
    return sorted(str(path.relative_to(night.path)) for path in found if path.name != "work.txt")


def test_every_file_of_a_run_as_a_link(night: Project, tmp_path: Path) -> None:
    names = [name for name in _written(night) if (night.path / name).is_file()]
    assert names
    canary = _canary(tmp_path)
    for name in names:
        path = night.path / name
        kept = path.read_bytes() if path.is_file() else None
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(canary)
        loop = night.start("--max-iterations", "1")
        status = loop.finished()
        _untouched(canary)
        assert status != 3, loop.said
        if status not in (0, night.example.used_up):
            assert str(canary) in loop.said
            assert "next:" in loop.said
        path.unlink(missing_ok=True)
        if kept is not None:
            path.write_bytes(kept)


def test_a_folder_of_state_as_a_link(night: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    logs = night.state if night.state.name == "logs" else night.state / "logs"
    logs.parent.mkdir(parents=True, exist_ok=True)
    logs.symlink_to(outside)
    loop = night.start("--max-iterations", "1")
    status = loop.finished()
    assert status not in (0, 3), loop.said
    assert os.listdir(outside) == []
    assert str(outside) in loop.said
    assert "next:" in loop.said


def test_a_link_planted_by_a_turn(night: Project, tmp_path: Path) -> None:
    canary = _canary(tmp_path)
    names = ("live.log", "status.json", ".ralph_bridge.json", ".ralph_bridge.lock", "logs/turns.jsonl")
    plants = "; ".join(f"ln -sf {canary} {night.state}/{name} 2>/dev/null" for name in names)
    night.turns(f"work; {plants}; true")
    loop = night.start("--max-iterations", "2")
    assert loop.finished() != 3, loop.said
    _untouched(canary)


def test_the_record_of_a_run_is_private(night: Project) -> None:
    night.start("--max-iterations", "1").finished()
    assert stat.S_IMODE((night.state / ".ralph_bridge.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["status.json", "live.log"])
def test_a_hard_link_is_parted_from_the_users_file(night: Project, tmp_path: Path, name: str) -> None:
    canary = _canary(tmp_path)
    night.state.mkdir(parents=True, exist_ok=True)
    os.link(canary, night.state / name)
    night.start("--max-iterations", "1").finished()
    assert canary.read_text() == _CANARY
