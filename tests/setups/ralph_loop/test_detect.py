"""Told by its files, never by a folder's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.loop.setups import detect as detect_any
from bridge.loop.setups.ralph_loop.kind import detect, missing

if TYPE_CHECKING:
    from pathlib import Path

    from tests.setups.ralph_loop.conftest import Ralph


def test_both_places_and_the_evidence(ralph: Ralph) -> None:
    found = detect(ralph.folder)
    assert found is not None
    assert found.home == ralph.home.resolve()
    assert found.evidence == (".ralph/ralph", ".ralph/config", ".ralph/agents/amp.sh", ".ralph/lib/plan-filter.sh")
    assert missing(ralph.folder) == ()
    assert detect_any(ralph.folder) == [found]
    at_root = detect(ralph.home)
    assert at_root is not None
    assert at_root.evidence[0] == "ralph"


def test_a_link_in_the_projects_folder_is_resolved(ralph: Ralph, tmp_path: Path) -> None:
    (ralph.folder / "ralph").symlink_to(".ralph/ralph")
    other = tmp_path / "other"
    other.mkdir()
    (other / "ralph").symlink_to(ralph.home / "ralph")
    for folder in (ralph.folder, other):
        found = detect(folder)
        assert found is not None
        assert found.controller == ralph.home.resolve() / "ralph"


def test_a_folder_alone_proves_nothing(tmp_path: Path) -> None:
    (tmp_path / ".ralph").mkdir()
    (tmp_path / "ralph").mkdir()
    assert detect(tmp_path) is None
    (told,) = missing(tmp_path)
    assert told.startswith("there is no controller, neither ")


def test_each_part_is_missed_by_its_name(ralph: Ralph) -> None:
    ralph.write(".ralph/config", "# AGENT= in a comment\nNOT_AGENT=1\n")
    assert missing(ralph.folder) == (".ralph/config sets no AGENT=",)
    (ralph.home / "config").unlink()
    ralph.write(".ralph/agents/amp.sh", "agent_something() { :; }\n")
    assert detect(ralph.folder) is None
    assert missing(ralph.folder) == (".ralph/config is missing", ".ralph/agents/*.sh defines no agent_invoke")
    (ralph.home / "agents/amp.sh").unlink()
    (ralph.home / "agents").rmdir()
    assert missing(ralph.folder)[1] == ".ralph/agents/*.sh is missing"


def test_the_other_systems_with_such_a_folder(ralph: Ralph) -> None:
    (ralph.home / "ralph").rename(ralph.home / "ralph_loop.sh")
    assert detect(ralph.folder) is None
