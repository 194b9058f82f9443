"""What the loop can do without can be left out: its own tests hold in a copy that has neither."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_layering import APART

ROOT = Path(__file__).parents[1]
LEFT_OUT = [ROOT / "bridge" / apart.replace(".", "/") for apart in APART]
OF_THE_LOOP = ("tests/loop", "tests/test_loop.py", "tests/turn", "tests/setups/bmalph", "tests/setups/ralph_loop")
CHOSEN = ("-m", "not slow and not real", "-k", "not verify and not doctor")  # nor what `doctor` says of a script


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_loop_holds_without_telemetry_swarm_verify_and_adapters(tmp_path: Path) -> None:
    here = tmp_path / "house"
    listed = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0"):
        source = ROOT / name
        if source.is_file() and not any(source.is_relative_to(each) for each in LEFT_OUT):
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, here / name)
    assert not any((here / each.relative_to(ROOT)).exists() for each in LEFT_OUT)
    done = subprocess.run(
        [sys.executable, *["-m", "pytest", "-q", "-p", "no:cacheprovider"], *OF_THE_LOOP, *CHOSEN],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(here)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert " passed" in done.stdout
