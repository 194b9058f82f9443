"""Runs the steps of an action or a job as GitHub's runner does: with bash, and files for what a step hands back."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from tests.command import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PATIENCE = 300.0
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())


class StepsRun(NamedTuple):
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
) -> StepsRun:
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
    done = run_steps(ACTION["runs"]["steps"], workspace, scratch, context, env=env, given=given or {})
    outputs = {name: _output(each["value"], done.outputs) for name, each in ACTION["outputs"].items()}
    return done._replace(outputs=outputs)


def run_steps(
    steps: Sequence[Mapping[str, Any]],
    workspace: Path,
    scratch: Path,
    context: Mapping[str, str],
    *,
    env: Mapping[str, str],
    given: Mapping[str, Mapping[str, str]],
) -> StepsRun:
    """Run the steps that are scripts, until one fails; the outputs are by what expressions call them."""
    scratch.mkdir(exist_ok=True)
    (scratch / "temp").mkdir()
    log, summary, context = "", "", dict(context)
    for number, step in enumerate(step for step in steps if "run" in step):
        name = step.get("id", f"step-{number}")
        if "if" in step and not _holds(step["if"], context):
            continue
        status, outputs = 0, dict(given.get(name, {}))
        if name not in given:
            status, said, written, outputs = _step(step, workspace, scratch / name, context, env)
            log, summary = log + said, summary + written
        context |= {f"steps.{name}.outputs.{key}": text for key, text in outputs.items()}
        if status:
            return StepsRun(status, log, summary, context)
    return StepsRun(0, log, summary, context)


def _holds(condition: str, context: Mapping[str, str]) -> bool:
    """Evaluate the one kind of condition that there is here."""
    name, equal, text = condition.partition(" == ")
    assert equal, f"a condition that this runner can't evaluate: {condition}"
    return context.get(name, "") == text.strip("'")


def _output(text: str, context: Mapping[str, str]) -> str:
    """An output that no step has set is empty."""
    return EXPRESSION.sub(lambda found: context.get(found[1], ""), text)


def _step(
    step: Mapping[str, Any], workspace: Path, folder: Path, context: Mapping[str, str], env: Mapping[str, str]
) -> tuple[int, str, str, dict[str, str]]:
    assert step.get("shell", "bash") == "bash"
    assert set(step) <= {"name", "id", "if", "shell", "env", "run"}
    folder.mkdir()
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
        "RUNNER_TEMP": str(folder.parent / "temp"),
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
