"""The door to a project's files: no link leads out of it, and only regular files are written."""

from __future__ import annotations

import os
import socket
import stat
import threading
from typing import TYPE_CHECKING

import pytest

from bridge.base import files
from bridge.base.files import append_durably, confine, open_file, read_bytes, write_atomic
from bridge.errors import ProjectUnusable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _truncate(path: Path) -> None:
    open_file(path, "wb").close()


def _append(path: Path) -> None:
    append_durably(path, b"more\n")


def _replace(path: Path) -> None:
    write_atomic(path, "new\n")


def _read(path: Path) -> None:
    read_bytes(path)


WRITERS = [_truncate, _append, _replace]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project, with a folder of state, and a canary beside it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "canary").write_text("canary\n")
    (tmp_path / "project" / ".ralph" / "logs").mkdir(parents=True)
    confine(tmp_path / "project")
    return tmp_path / "project"


def _absolute(path: Path, target: Path) -> None:
    path.symlink_to(target)


def _relative(path: Path, target: Path) -> None:
    path.symlink_to(os.path.relpath(target, path.parent))


def _by_another(path: Path, target: Path) -> None:
    path.with_name("between").symlink_to(target)
    path.symlink_to("between")


def _by_a_folder(path: Path, target: Path) -> None:
    path.parent.rmdir()
    path.parent.symlink_to(target.parent)


@pytest.mark.parametrize("act", [*WRITERS, _read])
@pytest.mark.parametrize("link", [_absolute, _relative, _by_another, _by_a_folder])
@pytest.mark.parametrize("name", ["canary", "not-there"])
def test_no_link_leads_out(
    project: Path, act: Callable[[Path], None], link: Callable[[Path, Path], None], name: str
) -> None:
    outside = project.parent / "outside"
    path = project / ".ralph" / "logs" / name
    link(path, outside / name)
    with pytest.raises(ProjectUnusable, match=r"symbolic link that leads out of (.|\n)*next: remove the link"):
        act(path)
    assert [each.name for each in outside.iterdir()] == ["canary"]
    assert (outside / "canary").read_text() == "canary\n"


@pytest.mark.parametrize("act", WRITERS)
def test_a_link_that_stays_inside_is_followed(project: Path, act: Callable[[Path], None]) -> None:
    path = project / ".ralph" / "plan"
    (project / "docs").mkdir()
    (project / "docs" / "plan").write_text("old\n")
    path.symlink_to("../docs/plan")
    act(path)
    assert path.is_symlink()
    assert path.read_text() != "old\n"


@pytest.mark.parametrize("act", [*WRITERS, _read])
@pytest.mark.parametrize("kind", ["fifo", "socket", "folder", "device"])
def test_only_regular_files(project: Path, act: Callable[[Path], None], kind: str) -> None:
    path = project / ".ralph" / "x"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as made:
                here = os.getcwd()
                os.chdir(path.parent)  # the name of a socket is short
                try:
                    made.bind(path.name)
                finally:
                    os.chdir(here)
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to("/dev/null")
            if os.geteuid() == 0:
                path.unlink()
                os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    before = path.lstat()
    with pytest.raises((ProjectUnusable, IsADirectoryError)):
        act(path)
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.parametrize("act", WRITERS)
def test_another_name_of_a_file_keeps_what_it_has(project: Path, act: Callable[[Path], None]) -> None:
    canary = project.parent / "outside" / "canary"
    path = project / ".ralph" / "live.log"
    os.link(canary, path)
    act(path)
    assert canary.read_text() == "canary\n"
    assert path.read_text() != "canary\n"


def test_a_part_of_a_repository_shares_a_folder_with_the_others(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "common").mkdir()
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / ".ralph").symlink_to("../common")
    confine(tmp_path / "part")
    write_atomic(tmp_path / "part" / ".ralph" / "status.json", "{}\n")
    assert (tmp_path / "common" / "status.json").read_text() == "{}\n"


def test_a_repository_that_holds_the_user_s_home_is_no_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".git").mkdir()
    (tmp_path / ".bashrc").write_text("mine\n")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "live.log").symlink_to("../.bashrc")
    confine(tmp_path / "project")
    for act in WRITERS:
        with pytest.raises(ProjectUnusable):
            act(tmp_path / "project" / "live.log")
    assert (tmp_path / ".bashrc").read_text() == "mine\n"


@pytest.mark.parametrize("act", [*WRITERS, _read])
@pytest.mark.parametrize("name", ["config", "hooks/pre-commit"])
def test_git_s_own_files_are_no_part_of_the_work_tree(
    project: Path, act: Callable[[Path], None], name: str
) -> None:
    """An agent may be kept out of them: what it says must not get there through a log of ours."""
    own = project / ".git" / name
    own.parent.mkdir(parents=True)
    own.write_text("mine\n")
    path = project / ".ralph" / "live.log"
    path.symlink_to(os.path.relpath(own, path.parent))
    with pytest.raises(ProjectUnusable, match="leads into git's own files"):
        act(path)
    assert own.read_text() == "mine\n"
    act(own)  # by its own name


def test_what_is_refused_is_no_missing_file(project: Path) -> None:
    with files.lenient():
        read_bytes(project / "not-there")
    (project / "link").symlink_to("/etc/passwd")
    with pytest.raises(ProjectUnusable, match=r"^\S+/link is not used: it is a symbolic link"), files.lenient():
        read_bytes(project / "link")


def test_a_folder_that_can_t_be_made_has_its_own_name(project: Path) -> None:
    (project / "logs").symlink_to(project.parent)
    with pytest.raises(ProjectUnusable, match=r"^\S+/logs is not used: it is"):
        files.make_folder(project / "logs")


def test_a_link_that_comes_and_goes_meanwhile(project: Path) -> None:
    """An agent that swaps a folder for a link, and back, while the host writes below it."""
    outside = project.parent / "outside"
    logs, aside = project / ".ralph" / "logs", project / ".ralph" / "aside"
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            logs.rename(aside)
            logs.symlink_to(outside)
            logs.unlink()
            aside.rename(logs)

    agent = threading.Thread(target=swap)
    agent.start()
    try:
        for _ in range(300):
            for act in WRITERS:
                try:
                    act(logs / "canary")
                except (ProjectUnusable, OSError):
                    continue
    finally:
        over.set()
        agent.join()
    assert [each.name for each in outside.iterdir()] == ["canary"]
    assert (outside / "canary").read_text() == "canary\n"


def test_a_file_without_end_is_not_read_whole(project: Path) -> None:
    path = project / "settings"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ProjectUnusable, match=r"settings has 1099511627776 bytes: at most (.|\n)*next: "):
        read_bytes(path)
    assert read_bytes(path, 2) == b"\0\0"
