"""The jq commands that tests hold something against: the machine's, whichever version that is, and our own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING

import pytest

from bridge.scripts.stream import provided_jq

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

OURS = provided_jq()
"""The one that comes with us: its libjq is `Filter`'s own, its reading of the input the command's."""
NO_JQ = "no jq command to compare with"


def environment(**more: str) -> dict[str, str]:
    """Of every jq: without the definitions of a ``~/.jq`` and without colours."""
    return {**os.environ, "HOME": "/nonexistent", "NO_COLOR": "", **more}


@cache
def version() -> tuple[int, int] | None:
    """Of the jq on PATH; None where there is none, or another program of that name (gojq, jaq)."""
    if not shutil.which("jq"):
        return None
    done = subprocess.run(["jq", "--version"], capture_output=True, text=True, env=environment(), check=False)
    found = re.match(r"jq-(1)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2])) if found else None


needs_jq = pytest.mark.skipif(version() is None, reason=NO_JQ)
"""For tests that hold something against the jq command of the machine."""


def one_for_scripts(folder: Path) -> str:
    """Make a folder for PATH that holds a jq and nothing else: the machine's, or ours where there is none.

    For tests that run scripts in plain bash: those need some jq, and not whatever else lies beside it.
    """
    folder.mkdir(exist_ok=True)
    found = shutil.which("jq") if version() else None
    start: Sequence[str] = [os.path.abspath(found)] if found else OURS
    (folder / "jq").write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in start) + ' "$@"\n')
    (folder / "jq").chmod(0o755)
    return str(folder)
