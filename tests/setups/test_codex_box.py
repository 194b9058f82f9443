"""`doctor` says what keeps codex's tools from working while its turns end with 0."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from bridge.loop.setups.diagnosis import checks

if TYPE_CHECKING:
    from bridge.loop.setups.diagnosis import Case, Examined

HOMES = ("CODEX_HOME", "HOME")


def look(folder: Path, name: str = "codex", **env: str) -> Examined:
    program = folder / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    case: Any = SimpleNamespace(project=folder, env={"PATH": str(folder), "HOME": "/nonexistent", **env})
    return checks.installed(name, cast("Case", case))


@pytest.fixture(autouse=True)
def no_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tmp_path  # it is made as who we are
    monkeypatch.setattr(os, "getuid", lambda: 987654)


@pytest.mark.parametrize("name", HOMES)
@pytest.mark.parametrize("where", ["TMPDIR", "/tmp"])
def test_a_home_in_the_temporary_folder(tmp_path: Path, name: str, where: str) -> None:
    own = tmp_path / "own"
    home, env = (own / "home", {"TMPDIR": str(own)}) if where == "TMPDIR" else (Path("/tmp/x/home"), {})
    found = look(tmp_path, **{name: str(home)}, **env)
    assert found.status == "warning"
    assert str(home) in found.detail
    assert name in found.hint


def test_through_a_link_too(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (tmp_path / "link").symlink_to(own)
    assert look(tmp_path, CODEX_HOME=str(tmp_path / "link" / "codex"), TMPDIR=str(own)).status == "warning"


def test_elsewhere_and_for_others_nothing_is_said(tmp_path: Path) -> None:
    assert look(tmp_path, CODEX_HOME="/nonexistent/codex").status == "passed"
    assert look(tmp_path).status == "passed"
    assert look(tmp_path, "claude", HOME="/tmp/x").status == "passed"
    assert look(tmp_path, CODEX_HOME="/tmpx/codex", HOME="/tmp/x").status == "passed"


def test_a_socket_folder_that_codex_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uid = 900_000_000 + os.getpid()
    folder = Path(f"/tmp/codex-daemon-{uid}")
    monkeypatch.setattr(os, "getuid", lambda: uid)
    folder.mkdir(mode=0o700)
    try:
        found = look(tmp_path)
    finally:
        folder.rmdir()
    assert (found.status, str(folder) in found.detail) == ("failed", True)
