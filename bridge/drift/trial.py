"""Trying a script on its CLI: a home, a project and a scripted model, in namespaces. This half stays outside."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.drift.machine import copilot_cache
from bridge.drift.model import Finding, Status, finding_of
from bridge.git.fresh import begin_repository
from bridge.rehearsal.homes import CLIS, environment, furnish
from bridge.rehearsal.sandbox import PORT, rehearse

if TYPE_CHECKING:
    from bridge.drift.held import Held
    from bridge.drift.machine import Machine

__all__ = ["tried"]

_TIMEOUT = 1200.0
_MAIN = "import sys; sys.path.insert(0, sys.argv[1]); from bridge.drift.inside import main; main(*sys.argv[2:])"
_ELSEWHERE = {
    "cursor-agent": "the agent loop of cursor-agent runs on its maker's servers",
    "agent": "the agent loop of cursor-agent runs on its maker's servers",
    "amp": "the agent loop of amp runs on its maker's servers",
}


def tried(script: Path, asked: Held, machine: Machine) -> list[Finding]:
    """Run the CLI through the script, and say what came of it.

    Raises:
        SandboxUnavailable: there are no namespaces here.
    """
    name = os.path.basename(asked.cli)
    if why := _ELSEWHERE.get(name.removesuffix(".cmd")):
        return [Finding("run", Status.SKIPPED, why)]
    found = _tried(script, asked, machine)
    if name in CLIS or any(each.check == "starts" and each.status is Status.PASSED for each in found):
        return found
    # It is no wrapper of a CLI that we know: what it made of the trial says nothing about the script.
    said = next((each.detail for each in found if each.check in ("starts", "run")), "")
    why = f"nobody has told us how to send {name} to another server; offline, {said}"
    return [Finding("run", Status.SKIPPED, why)]


def _tried(script: Path, asked: Held, machine: Machine) -> list[Finding]:
    with tempfile.TemporaryDirectory(prefix="ralph-bridge-trial-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        furnish(folder / "home", PORT, copilot_cache=copilot_cache(machine.env))
        env = dict(environment(folder / "home", PORT, path=machine.env.get("PATH", os.defpath)))
        project = folder / "project"
        _repository(project, env)
        done = rehearse(
            [sys.executable, "-P", "-c", _MAIN, str(Path(__file__).resolve().parents[2]), asked.kind, str(script)],
            cwd=project,
            env=env,
            folder=folder / "out",
            timeout=_TIMEOUT,
        )
    lines = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.startswith("{")]
    findings = [finding_of(json.loads(line)) for line in lines]
    if done.status != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no words"]
        took = "took too long" if done.status is None else f"ended with status {done.status}"
        findings.append(Finding("run", Status.FAILED, f"the trial {took}: {said[0][:300]}"))
    return [*findings, _nothing_left(done.left)]


def _nothing_left(left: object) -> Finding:
    commands = list(left) if isinstance(left, list | tuple) else []
    if commands:
        return Finding("leftovers", Status.WARNING, f"processes outlive a run: {'; '.join(commands)[:300]}")
    return Finding("leftovers", Status.PASSED, "no process outlives a run")


def _repository(project: Path, env: dict[str, str]) -> None:
    project.mkdir()
    (project / "README.md").write_text("A project to try things in.\n", encoding="utf-8")
    begin_repository(project, env, "begin")
