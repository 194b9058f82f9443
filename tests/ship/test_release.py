"""The notes of a release, cut from the changelog."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bridge import __version__
from tests.command import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CHANGELOG = """\
# Changelog

## [1.1.0] - 2026-12-01

### Added

- One line that goes
  on, with [a link](x.md).
  - A part of it.
- `Two`.

### Changed

### Removed

### Fixed

- Three.

## [1.0.0] - unreleased

- Four.

## [0.9.0]

- Five.
"""
NOTES = """\
### Added

- One line that goes on, with [a link](x.md).
  - A part of it.
- `Two`.

### Fixed

- Three.
"""


def release_notes(root: Path, tag: str, version: str | None = None) -> subprocess.CompletedProcess[str]:
    (root / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "release_notes.py", root / ".ci")
    (root / "bridge").mkdir()
    (root / "bridge" / "_version.py").write_text(f'__version__ = "{version or tag.removeprefix("v")}"\n')
    (root / "CHANGELOG.md").write_text(CHANGELOG)
    command = [sys.executable, str(root / ".ci" / "release_notes.py"), tag]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("tag", ["1.1.0", "v1.1.0"])
def test_notes_of_a_version(tmp_path: Path, tag: str) -> None:
    done = release_notes(tmp_path, tag)
    assert (done.returncode, done.stdout, done.stderr) == (0, NOTES, "")


@pytest.mark.parametrize(
    ("tag", "version", "words"),
    [
        ("v1.0.0", None, "dated 'unreleased'"),
        ("v0.9.0", None, "has no date"),
        ("v2.0.0", None, "has no section [2.0.0]"),
        ("v1.1.0", "1.1.1", "v1.1.0 is not the version in"),
        ("1.1", "1.1.0", "is not the version in"),
    ],
)
def test_what_is_no_release(tmp_path: Path, tag: str, version: str | None, words: str) -> None:
    done = release_notes(tmp_path, tag, version)
    assert (done.returncode, done.stdout, words in done.stderr) == (1, "", True), done.stderr


def test_our_own_changelog_has_this_version_and_is_in_good_form() -> None:
    heads = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert heads[0].startswith(f"## [{__version__}] - ")
