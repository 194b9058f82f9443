"""Atomic writes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from bridge.base.files import LEFTOVER, write_atomic

if TYPE_CHECKING:
    from pathlib import Path


def test_a_new_file_and_an_old_one(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_atomic(path, "ü\udcff")
    assert path.read_bytes() == "ü".encode() + b"\xff"
    path.chmod(0o640)
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["f"]


def test_a_new_file_obeys_the_umask(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    write_atomic(tmp_path / "new", b"")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    write_atomic(tmp_path / "link", b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"x"


def test_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_atomic(tmp_path / "folder", b"x")
    with pytest.raises(FileNotFoundError):
        write_atomic(tmp_path / "none" / "f", b"x")
    assert os.listdir(tmp_path) == ["folder"]


def test_a_reader_keeps_the_file_it_opened(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_atomic(path, b"old")
    with open(path, "rb") as reader:
        write_atomic(path, b"new")
        assert reader.read() == b"old"


def test_the_temporary_name_lies_where_git_does_not_look(tmp_path: Path) -> None:
    """Seen by a reader of the folder that looks all the while; a scratch folder that is none is no harm."""
    ignored = tmp_path / "logs"
    ignored.mkdir()
    over = threading.Event()
    seen: set[str] = set()

    def look() -> None:
        while not over.is_set():
            seen.update(os.listdir(tmp_path))

    watcher = threading.Thread(target=look)
    watcher.start()
    for number in range(200):
        write_atomic(tmp_path / "f", str(number), scratch=ignored)
    over.set()
    watcher.join()
    assert seen <= {"f", "logs"}
    assert os.listdir(ignored) == []
    for other in (tmp_path / "none", tmp_path / "f", "/proc"):
        write_atomic(tmp_path / "f", b"new", scratch=other)
    assert (tmp_path / "f").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["f", "logs"]


def test_what_a_killed_writer_leaves_is_known_by_its_name(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom bridge.base.files import write_atomic\n"
        "os.replace = lambda *_, **__: os._exit(0)\nwrite_atomic(sys.argv[1], b'x')\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "status.json")], check=True)
    (left,) = os.listdir(tmp_path)
    assert LEFTOVER.fullmatch(left)
