"""An agent that takes away or makes anew the ``.git`` of its work tree loses nothing; nothing of its own runs."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from bridge.base.git.repository import ALL_WORK, Repository
from bridge.loop.swarm.supervisor import tree_of
from bridge.loop.swarm.work_order import Order
from bridge.loop.swarm.work_trees import add_tree, save

if TYPE_CHECKING:
    from pathlib import Path

    from tests.swarm.projects import Project


@pytest.mark.parametrize("how", ["removed", "init", "link", "elsewhere"])
def test_what_was_written_is_saved(project: Project, tmp_path: Path, how: str) -> None:
    git = Repository(project.path)
    tree, canary = tmp_path / "tree", tmp_path / "canary"
    add_tree(git, tree, branch="task", base=git.head(), lock=tmp_path / "lock")
    (tree / "work.txt").write_text("precious\n")
    (tree / ".git").unlink()
    other = tree / ".git" if how == "init" else tmp_path / "other" / ".git"
    if how != "removed":
        made = Repository(other.parent if how == "init" else tmp_path)
        assert made.run("init", "--quiet", str(other.parent)).ok
        attack = tmp_path / "attack"
        attack.write_text(f"#!/bin/sh\ntouch {canary}\n")
        attack.chmod(0o755)
        for name in ("core.fsmonitor", "filter.x.clean"):
            assert Repository(other.parent).run("config", name, str(attack)).ok
        (other / "info").mkdir(exist_ok=True)
        (other / "info" / "attributes").write_text("* filter=x\n")
        shutil.copy(attack, other / "hooks" / "reference-transaction")
    if how == "link":
        (tree / ".git").symlink_to(other)
    elif how == "elsewhere":
        (tree / ".git").write_text(f"gitdir: {other}\n")
    names = ("run_folder", "folder", "task", "top", "home", "base", "kept", "lock")
    unused: dict[str, Any] = dict.fromkeys(names, "")
    where: dict[str, Any] = {"project": str(tree), "tree": str(tree), "source": str(project.path), "branch": "task"}
    found = tree_of(Order(**unused, **where, attempt=1, kind="plain"))
    found.files = ALL_WORK
    saved = save(found, branch="task", kept="kept", message="x", copied={})
    assert not saved.unsaved
    assert git.run("show", "task:work.txt").text == "precious"
    assert not canary.exists()
