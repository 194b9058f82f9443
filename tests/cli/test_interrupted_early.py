"""Ctrl-C while a command is still being loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.command import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# Python drops what is raised in the function with which it ends each import.
PROGRAM = """
import signal, sys
from bridge.cli import main
sent = []
def look(frame, event, arg):
    if not sent and event == "call" and frame.f_code.co_name == "cb" and "importlib" in frame.f_code.co_filename:
        sent.append(1)
        signal.raise_signal(signal.SIGINT)
sys.setprofile(look)
main()
"""


def test_it_is_not_lost_where_an_import_ends(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("- [ ] one\n")
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, "tasks", "list", "plan:plan.md"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, ""), done.stderr
