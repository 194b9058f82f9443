"""What a new part costs: a file of its own, and one line elsewhere. Each is added to a copy, which then has it.

A stage is added in tests/loop/test_stages.py, a kind of setup in tests/setups/test_toy.py and a source of tasks in
tests/tasks/test_package.py, the last two without any line elsewhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow

CHECK = '''\
"""Signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.findings import Harm
from bridge.verify.registry import Problem, static

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.verify.subject import Subject


@static("RB999", "the script is signed", Harm.OLD_BASH, expected="a line `# signed: NAME`", hint="sign it")
def unsigned(subject: Subject) -> Iterator[Problem]:
    """Somebody answers for it."""
    if "# signed:" not in subject.path.read_text():
        yield Problem("nobody has signed it")
'''
FORMAT = '''\
"""The number of findings alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.verify.reports import Report

if TYPE_CHECKING:
    from bridge.verify.findings import RunFinished, ScriptFinished


class CountReport(Report):
    found = 0

    def script(self, script: ScriptFinished) -> None:
        self.found += len(script.findings)

    def end(self, run: RunFinished) -> None:
        self._out.write(f"{self.found} found\\n")
'''


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of what runs."""
    for name in ("bridge", "drivers", "agents", "features", "tests/contract", "tests/__init__.py"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, tmp_path / name)
    return tmp_path


def one_line(file: Path, behind: str, line: str) -> None:
    """Add one line behind the one that begins so."""
    lines = file.read_text().splitlines(keepends=True)
    number = next(number for number, each in enumerate(lines) if each.startswith(behind))
    file.write_text("".join([*lines[: number + 1], f"{line}\n", *lines[number + 1 :]]))


def run(house: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=house,
        env={**os.environ, "PYTHONPATH": str(house)},
        capture_output=True,
        text=True,
    )


def test_a_check(house: Path) -> None:
    (house / "bridge/verify/checks/signatures.py").write_text(CHECK)
    one_line(house / "bridge/verify/registry.py", "_ROOMS = {", '    "signatures": ALL,')
    done = run(house, "-m", "bridge", "verify", "--select", "RB999", "drivers/codex.sh")
    assert "RB999" in done.stdout
    assert "nobody has signed it" in done.stdout
    assert "Somebody answers for it." in run(house, "-m", "bridge", "explain", "RB999").stdout


def test_a_format_of_reports(house: Path) -> None:
    (house / "bridge/verify/reports/count.py").write_text(FORMAT)
    row = '    "count": Format("how many", "count.CountReport"),'
    one_line(house / "bridge/verify/reports/__init__.py", "FORMATS: dict[str, Format] = {", row)
    done = run(house, "-m", "bridge", "verify", "--static", "--format", "count", "drivers/codex.sh")
    assert (done.returncode, done.stdout) == (0, "0 found\n")


def test_a_cli(house: Path) -> None:
    """`make contract` writes the JSON that is loaded; no line elsewhere."""
    data = (ROOT / "bridge/base/clis/kimi.yaml").read_text().replace("programs: [kimi]", "programs: [moon]")
    data = "".join(line for line in data.splitlines(keepends=True) if not line.startswith("driver:"))
    (house / "bridge/base/clis/moon.yaml").write_text(data)
    assert run(house, "-m", "tests.contract.test_json").returncode == 0
    asked = "from bridge.base.clis import find_cli; print(find_cli('moon').title)"
    assert run(house, "-c", asked).stdout == "Kimi Code\n"
