"""Files that are aside while a task has the project: they come back byte for byte, whatever lies there instead."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from bridge.base.files import confine
from bridge.errors import ProjectUnusable
from bridge.loop.engine.set_aside import FOLDER, Aside

if TYPE_CHECKING:
    from pathlib import Path

PLAN = b"- [ ] caf\xe9\r\n\x00no newline at its end"
GONE = {"pid": 1, "started": "never", "boot": "another"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".ralph").mkdir(parents=True)
    (folder / "plan.md").write_bytes(PLAN)
    (folder / "plan.md").chmod(0o640)
    (folder / "real.md").write_text("real\n")
    (folder / "linked.md").symlink_to("real.md")
    confine(folder)
    return folder


FILES = {"plan.md": "- [ ] the task\n", "linked.md": "of the task\n", "deep/new.md": "new\n", "none.md": None}


def aside(project: Path) -> Aside:
    return Aside(project, project / ".ralph")


def as_it_was(project: Path) -> None:
    assert (project / "plan.md").read_bytes() == PLAN
    assert (project / "plan.md").stat().st_mode & 0o777 == 0o640
    assert os.readlink(project / "linked.md") == "real.md"
    assert (project / "real.md").read_text() == "real\n"
    assert not (project / "deep/new.md").exists()


def listed(project: Path, **changes: Any) -> None:
    path = project / ".ralph" / FOLDER / "aside.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_they_come_back(project: Path) -> None:
    one = aside(project)
    one.take("a", FILES)
    assert (project / "plan.md").read_text() == "- [ ] the task\n"
    assert not (project / "linked.md").is_symlink()
    assert one.give_back(done=True) == []
    as_it_was(project)
    assert not (project / ".ralph" / FOLDER).exists()


@pytest.mark.parametrize("what", ["gone", "folder", "link", "fifo"])
def test_whatever_the_task_has_made_of_its_own(project: Path, what: str, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("not yours\n")
    one = aside(project)
    one.take("a", FILES)
    for name in ("plan.md", "deep/new.md"):
        (project / name).unlink()
        if what == "folder":
            (project / name / "in it").mkdir(parents=True)
        elif what == "link":
            (project / name).symlink_to(tmp_path / "outside")
        elif what == "fifo":
            os.mkfifo(project / name)
    one.give_back()
    as_it_was(project)
    assert (tmp_path / "outside").read_text() == "not yours\n"


def test_a_process_that_is_no_more_is_followed_by_one_that_puts_them_back(project: Path) -> None:
    aside(project).take("a", FILES)
    assert aside(project).recover() == [], "it is at work: this process"
    listed(project, **GONE)
    assert aside(project).recover() == ["what a task's loop that was killed had put aside is back in its place"]
    as_it_was(project)
    assert aside(project).recover() == []


def test_what_the_killed_task_has_made_of_its_files_comes_back_to_it_alone(project: Path) -> None:
    aside(project).take("a", FILES)
    (project / "plan.md").write_text("- [x] the task\n")
    listed(project, **GONE)
    aside(project).recover()
    other = aside(project)
    other.take("b", FILES)
    assert (project / "plan.md").read_text() == "- [ ] the task\n"
    other.give_back()
    aside(project).take("a", FILES)
    assert (project / "plan.md").read_text() == "- [ ] the task\n", "another one had its place since"
    (project / "plan.md").write_text("- [x] half of it\n")
    listed(project, **GONE)
    aside(project).recover()
    again = aside(project)
    again.take("a", FILES, lambda _name, text, _made: "half" in text)
    assert (project / "plan.md").read_text() == "- [x] half of it\n"
    assert (project / "linked.md").read_text() == "of the task\n", "what doesn't fit is made anew"
    again.give_back(done=True)
    as_it_was(project)


@pytest.mark.parametrize("replaced", [(), ("plan.md",), tuple(FILES)])
def test_a_kill_before_all_were_replaced_or_put_back_gives_no_task_the_users_plan(
    project: Path, replaced: tuple[str, ...]
) -> None:
    aside(project).take("a", FILES)
    if "plan.md" not in replaced:
        (project / "plan.md").write_bytes(PLAN)
    if "linked.md" not in replaced:
        (project / "linked.md").unlink()
        (project / "linked.md").symlink_to("real.md")
    listed(project, **GONE)
    aside(project).recover()
    as_it_was(project)
    aside(project).take("a", FILES)
    assert (project / "plan.md").read_text() == "- [ ] the task\n"
    assert (project / "linked.md").read_text() == "of the task\n"


def test_a_forged_list_leads_nowhere(project: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("not yours\n")
    (project / ".git/hooks").mkdir(parents=True)
    users = project / ".ralph" / FOLDER / "users"
    users.mkdir(parents=True)
    names = ["../outside", "/etc/passwd", ".git/hooks/pre-commit", "a/../b", "plan.md/"]
    for name in names:
        (users / name.replace("%", "%25").replace("/", "%2F")).write_text("forged\n")
    away = dict.fromkeys(names, "file") | {"plan.md": "file", "linked.md": "fifo", "real.md": ["file"]}
    (users.parent / "aside.json").write_text(json.dumps({**GONE, "task": 7, "away": away, "unwatched": "x"}))
    (users / "plan.md").symlink_to(tmp_path / "outside")
    told = aside(project).recover()
    assert told[1:] == ["the copy of plan.md that was kept is gone: it stays as the task has left it"]
    as_it_was(project)
    assert (tmp_path / "outside").read_text() == "not yours\n"
    assert not any((project / ".git/hooks").iterdir())
    for nonsense in ("[]", "{", '{"away": 7}', '{"away": {"plan.md": "file"}, "pid": "x"}'):
        users.parent.mkdir(exist_ok=True)
        (users.parent / "aside.json").write_text(nonsense)
        aside(project).recover()
        as_it_was(project)


def test_what_cannot_be_kept_is_refused_before_anything_is_changed(project: Path) -> None:
    (project / "none.md").mkdir()
    with pytest.raises(ProjectUnusable, match=r"none\.md can't be put aside"):
        aside(project).take("a", FILES)
    as_it_was(project)
