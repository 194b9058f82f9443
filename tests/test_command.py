"""The suite's own way to start commands says what a start from the ground up says."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests import command
from tests.test_layering import MODULES, module_of

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
driver_name() { echo mine; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Read); }
streams() { printf 'out\\xff'; echo err >&2; cat; pwd; echo "$SET"; return 3; }
"""
# Each module in a process that has imported nothing of ours: a circle of imports shows, wherever one enters it.
FIRST = """
import os, sys
from importlib import import_module
for name in sys.argv[1:]:
    pid = os.fork()
    if not pid:
        import_module(name)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        print(name)
"""


@pytest.mark.parametrize(
    "words", ["--version", "call ./mine.sh streams", "call ./mine.sh nothing", "inspect ./mine.sh", "--nonsense"]
)
def test_a_forked_command_is_one_from_the_ground_up(tmp_path: Path, words: str) -> None:
    (tmp_path / "mine.sh").write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": str(command.ROOT), "SET": "ä $x"}
    forked = command.run_bytes(words.split(), cwd=tmp_path, env=env, stdin=b"typed\n")
    real = subprocess.run(
        [*command.MAIN, *words.split()], cwd=tmp_path, env=env, input=b"typed\n", capture_output=True, check=False
    )
    assert (forked.returncode, forked.stdout, forked.stderr) == (real.returncode, real.stdout, real.stderr)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_each_module_can_be_the_first_to_be_imported() -> None:
    needs_arguments = "bridge.verify.gherkin.module"
    names = [name for path in MODULES if (name := module_of(path)) not in ("bridge.__main__", needs_arguments)]
    done = subprocess.run([sys.executable, "-c", FIRST, *names], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
