"""Runs the steps of an action or a job as GitHub's runner does: with bash, and files for what a step hands back."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from tests.command import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PATIENCE = 300.0
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
RUN: dict[str, Any] = yaml.safe_load((ROOT / "run" / "action.yml").read_text())
Used = Callable[[str, Mapping[str, str]], None]
"""Does what another action does, by its name, without the version, and what ``with:`` gives it."""


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
    action: Mapping[str, Any] = ACTION,
    github: Mapping[str, str] | None = None,
    used: Used | None = None,
    cancel: Callable[[subprocess.Popen[bytes], str], None] | None = None,
) -> StepsRun:
    """Run an action's steps in `workspace`.

    Args:
        workspace: the repository that uses the action.
        scratch: the runner's own folder.
        inputs: what ``with:`` names.
        env: the job's environment.
        given: outputs of steps, by id, which are not run.
        action: which one.
        github: further values of expressions.
        used: does what steps do that use other actions; None: they are passed over.
        cancel: is told of each step that begins, and may interrupt it as the runner does.
    """
    own = {"github.action_path": str(ROOT), "runner.temp": str(scratch / "temp"), **(github or {})}
    known = {name: evaluated(str(each.get("default", "")), own) for name, each in action["inputs"].items()}
    assert set(inputs or ()) <= set(known), "no such input"
    context = {f"inputs.{name}": text for name, text in {**known, **(inputs or {})}.items()} | own
    steps = action["runs"]["steps"]
    done = run_steps(steps, workspace, scratch, context, env=env, given=given or {}, used=used, cancel=cancel)
    outputs = {name: _output(each["value"], done.outputs) for name, each in action["outputs"].items()}
    return done._replace(outputs=outputs)


def run_steps(
    steps: Sequence[Mapping[str, Any]],
    workspace: Path,
    scratch: Path,
    context: Mapping[str, str],
    *,
    env: Mapping[str, str],
    given: Mapping[str, Mapping[str, str]],
    used: Used | None = None,
    cancel: Callable[[subprocess.Popen[bytes], str], None] | None = None,
) -> StepsRun:
    """Run the steps, behind a failed one those that run always; outputs are by what expressions call them."""
    scratch.mkdir(exist_ok=True)
    (scratch / "temp").mkdir(exist_ok=True)
    log, summary, context, failed = "", "", dict(context), 0
    for number, step in enumerate(step for step in steps if "run" in step or used is not None):
        name = step.get("id", f"step-{number}")
        if not _holds(step.get("if", ""), context, failed=failed):
            continue
        if "uses" in step:
            values = {key: _output(str(text), context) for key, text in step["with"].items()}
            assert used is not None
            used(step["uses"].partition("@")[0], values)
            continue
        status, outputs = 0, dict(given.get(name, {}))
        if name not in given:
            status, said, written, outputs = _step(step, workspace, scratch / name, context, env, cancel)
            log, summary = log + said, summary + written
        context |= {f"steps.{name}.outputs.{key}": text for key, text in outputs.items()}
        context[f"steps.{name}.outcome"] = "failure" if status else "success"
        failed = failed or status
    return StepsRun(failed, log, summary, context)


def _holds(condition: str, context: Mapping[str, str], *, failed: int) -> bool:
    """Evaluate the kinds of conditions that there are here."""
    parts = condition.strip().removeprefix("${{").removesuffix("}}").strip().split(" && ")
    if "always()" in parts:
        parts.remove("always()")
    elif failed:
        return False
    return all(_equal(each, context) for each in parts if each)


def _equal(condition: str, context: Mapping[str, str]) -> bool:
    name, equal, text = condition.partition(" == ")
    assert equal, f"a condition that this runner can't evaluate: {condition}"
    return context.get(name, "") == text.strip("'")


def _output(text: str, context: Mapping[str, str]) -> str:
    """An output that no step has set is empty."""
    return EXPRESSION.sub(lambda found: context.get(found[1], ""), text)


def _step(
    step: Mapping[str, Any],
    workspace: Path,
    folder: Path,
    context: Mapping[str, str],
    env: Mapping[str, str],
    cancel: Callable[[subprocess.Popen[bytes], str], None] | None,
) -> tuple[int, str, str, dict[str, str]]:
    assert step.get("shell", "bash") == "bash"
    assert set(step) <= {"name", "id", "if", "shell", "env", "run"}
    folder.mkdir()
    script, outputs, summary = folder / "script.sh", folder / "outputs", folder / "summary"
    assert "${{" not in step["run"], "text of others in a script"
    script.write_text(step["run"])
    outputs.touch()
    summary.touch()
    whole = {
        **env,
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": context.get("github.action_path", str(ROOT)),
        "GITHUB_OUTPUT": str(outputs),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_WORKSPACE": str(workspace),
        "RUNNER_TEMP": str(folder.parent / "temp"),
        **{name: evaluated(str(text), context) for name, text in step.get("env", {}).items()},
    }
    with (folder / "log").open("w+b") as log:
        running = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script],
            cwd=workspace,
            env=whole,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        if cancel is not None:
            cancel(running, folder.name)
        status = running.wait(PATIENCE)
        log.seek(0)
        said = log.read().decode()
    lines = outputs.read_text().splitlines()
    set_ = dict(line.split("=", 1) for line in lines)
    return status, said, summary.read_text(), set_
