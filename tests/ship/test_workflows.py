"""The workflows and the action, read by the linters of their format."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.command import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FILES = [*WORKFLOWS, ROOT / "action.yml", ROOT / "run" / "action.yml"]
PROGRAMS = Path(sys.executable).parent


def lint(*command: str, stdin: str = "") -> None:
    done = subprocess.run(
        [str(PROGRAMS / command[0]), *command[1:]],
        cwd=ROOT,
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def scripts() -> Iterator[Any]:
    """Each step's script, by the file and the name of the step."""
    for path in FILES:
        document = yaml.safe_load(path.read_text())
        for job in [document["runs"]] if "runs" in document else document["jobs"].values():
            for step in job.get("steps", ()):
                if "run" in step:
                    yield pytest.param(step["run"], id=f"{path.stem}: {step.get('name', step['run'][:20])}")


def test_they_have_the_form_that_github_reads() -> None:
    lint("check-jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml", "run/action.yml")
    lint("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *map(str, WORKFLOWS))


def test_they_are_safe() -> None:
    """Nothing is put into scripts, tokens are not left lying around, permissions are the least that will do."""
    lint("zizmor", "--offline", "--quiet", ".")


@pytest.mark.parametrize("script", list(scripts()))
def test_their_scripts(script: str) -> None:
    lint("shellcheck", "--shell=bash", "-", stdin=script)
