"""Atomic writes."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from bridge.files import write_atomic

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
