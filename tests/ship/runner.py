"""Runs the steps of a composite action as GitHub's runner does: with bash, and files for what a step hands back."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from tests.command import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PATIENCE = 300.0
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())


class ActionRun(NamedTuple):
    """The status of the first step that failed, or 0; what all steps printed and added to the summary; outputs."""

    status: int
    log: str
    summary: str
    outputs: dict[str, str]


def evaluated(text: str, context: Mapping[str, str]) -> str:
    """Put values in the place of expressions; a name that isn't known is an error, as a typo would be."""
    return EXPRESSION.sub(lambda found: context[found[1]], text)


def run_action(
    workspace: Path,
    scratch: Path,
    inputs: Mapping[str, str] | None = None,
    *,
    env: Mapping[str, str],
    given: Mapping[str, Mapping[str, str]] | None = None,
) -> ActionRun:
    """Run the action's steps in `workspace`.

    Args:
        workspace: the repository that uses the action.
        scratch: the runner's own folder.
        inputs: what ``with:`` names.
        env: the job's environment.
        given: outputs of steps, by id, which are not run.
    """
    known = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()}
    assert set(inputs or ()) <= set(known), "no such input"
    context = {f"inputs.{name}": text for name, text in {**known, **(inputs or {})}.items()}
    context["github.action_path"] = str(ROOT)
    scratch.mkdir(exist_ok=True)
    status, log, summary = 0, "", ""
    for step in ACTION["runs"]["steps"]:
        name = step["id"]
        if given and name in given:
            outputs = dict(given[name])
        elif status:
            outputs = {}
        else:
            status, said, written, outputs = _step(step, workspace, scratch / name, context, env)
            log, summary = log + said, summary + written
        context |= {f"steps.{name}.outputs.{key}": text for key, text in outputs.items()}
    outputs = {name: _output(each["value"], context) for name, each in ACTION["outputs"].items()}
    return ActionRun(status, log, summary, outputs)


def _output(text: str, context: Mapping[str, str]) -> str:
    """An output that no step has set is empty."""
    return EXPRESSION.sub(lambda found: context.get(found[1], ""), text)


def _step(
    step: Mapping[str, Any], workspace: Path, folder: Path, context: Mapping[str, str], env: Mapping[str, str]
) -> tuple[int, str, str, dict[str, str]]:
    assert (step["shell"], set(step) - {"name", "id", "shell", "env", "run"}) == ("bash", set())
    folder.mkdir()
    (folder / "temp").mkdir()
    script, outputs, summary = folder / "script.sh", folder / "outputs", folder / "summary"
    script.write_text(evaluated(step["run"], context))
    outputs.touch()
    summary.touch()
    whole = {
        **env,
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_OUTPUT": str(outputs),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_WORKSPACE": str(workspace),
        "RUNNER_TEMP": str(folder / "temp"),
        **{name: evaluated(str(text), context) for name, text in step.get("env", {}).items()},
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script],
        cwd=workspace,
        env=whole,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE,
        check=False,
    )
    lines = outputs.read_text().splitlines()
    set_ = dict(line.split("=", 1) for line in lines)
    return done.returncode, done.stdout.decode(), summary.read_text(), set_
