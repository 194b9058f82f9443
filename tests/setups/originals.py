"""The original scripts of setups: from the folder RALPH_BRIDGE_ORIGINALS or that of the corpus, or fetched by tests
marked `real`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.machine import NO_ORIGINAL
from tests.setups.bash_oracle import corpus

SOURCES = ["folder", pytest.param("fetched", marks=pytest.mark.real)]
"""Parameters of a test that compares."""


def original(source: str, owner: str, name: str, script: str, scratch: Path) -> Path:
    """A checkout of a project that has `script`; without one the test is skipped."""
    if source == "fetched":
        address = f"https://github.com/{owner}/{name}"
        clone = ["git", "clone", "-q", "--depth", "1", address, str(scratch)]
        done = subprocess.run(clone, capture_output=True, text=True, timeout=120, check=False)
        found = [scratch] if done.returncode == 0 else []
    else:
        named, common = os.environ.get("RALPH_BRIDGE_ORIGINALS"), corpus()
        folders = [Path(named)] if named else []
        folders += [common / "originals"] if common is not None else []
        full = f"{owner}+{name}"
        ways = (owner, name, full, f"{owner}/{name}", f"{owner}/{full}")
        found = [folder / each for folder in folders for each in ways]
    there = [each for each in found if (each / script).is_file()]
    if not there:
        pytest.skip(NO_ORIGINAL)
    return there[0]
