"""Every command and every program that the README (and a page of docs) shows is run, and prints what is shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README, VERIFY = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/verify.md"))
ELSEWHERE = {
    "make test": "what runs this test",
    "make quick": "the linters and tests of make test",
    "make lint": "a prerequisite of make test",
    "make test-slow": "what CI runs beside it",
    "make bench": "tests/test_benchmarks.py",
}


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def scripts(page: str) -> dict[str, str]:
    """The scripts that are shown, by the file name in their first line."""
    return {block.split("\n", 1)[0].removeprefix("# "): block for block in blocks("bash", page)}


def commands(page: str) -> list[tuple[str, str]]:
    """Each command of the console blocks with the output that is shown for it."""
    found: list[tuple[str, str]] = []
    for block in blocks("console", page):
        for line in block.splitlines(keepends=True):
            if line.startswith("$ "):
                found.append((line[2:].strip(), ""))
            else:
                found[-1] = (found[-1][0], found[-1][1] + line)
    return found


def matches(shown: str, printed: str) -> bool:
    """Whether `printed` is what is shown, where a line ``...`` stands for any lines."""
    pattern = "".join(".*" if line == "...\n" else re.escape(line) for line in shown.splitlines(keepends=True))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


@pytest.mark.parametrize("page", [README, VERIFY], ids=["README", "verify"])
def test_every_command_prints_what_is_shown(page: str, tmp_path: Path) -> None:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for name, text in scripts(page).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    ran = 0
    for command, shown in commands(page):
        if command in ELSEWHERE:
            continue
        folder = ROOT if command.startswith("make ") else tmp_path
        done = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stderr)
        assert matches(shown, done.stdout) or not shown, (command, done.stdout)
        ran += 1
    assert ran >= 8


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_the_python_of_the_readme_runs(number: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", blocks("python")[number]], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_gherkin_of_the_readme_stands_in_the_features() -> None:
    features = "\n".join(
        re.sub(r"^\s+", "", path.read_text(), flags=re.M) for path in ROOT.glob("features/*.feature")
    )
    for block in blocks("gherkin"):
        assert re.sub(r"^\s+", "", block, flags=re.M).strip() in features


def test_the_demo_of_the_readme_runs_with_another_driver() -> None:
    done = subprocess.run(["make", "demo", "DRIVER=codex"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "4 of 4 tasks ticked" in done.stdout
