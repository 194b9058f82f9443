"""Trying a script on its CLI: a home, a project and a scripted model, in namespaces.

:func:`try_script` stays outside; :func:`main` runs in the namespaces, with the script and everything else of ours.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.base.clis import find_cli
from bridge.base.git.fresh import begin_repository
from bridge.errors import BridgeError
from bridge.verify.drift.report import DriftFinding, DriftStatus, failed, passed, skipped, warning
from bridge.verify.drift.runs import ScriptedModel
from bridge.verify.rehearsal.homes import CLIS, PORT, copilot_cache, environment, furnish
from bridge.verify.rehearsal.sandbox import rehearse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bridge.verify.drift.commands import ScriptCommands

_TIMEOUT = 1200.0
_MAIN = (
    "import sys; sys.path.insert(0, sys.argv[1]); from bridge.verify.drift.trial import main; main(*sys.argv[2:])"
)


def try_script(script: Path, commands: ScriptCommands, env: Mapping[str, str]) -> list[DriftFinding]:
    """Run the CLI through the script; `SandboxUnavailable`: there are no namespaces here."""
    name = os.path.basename(commands.cli)
    if (known := find_cli(name)) and known.runs_elsewhere:
        return [skipped("run", f"the agent loop of {known.name} runs on its maker's servers")]
    findings = _rehearsed(script, commands.kind, env)
    if name in CLIS or any(each.check == "starts" and each.status is DriftStatus.PASSED for each in findings):
        return findings
    # It is no wrapper of a CLI that we know: what it made of the trial says nothing about the script.
    detail = next((each.detail for each in findings if each.check in ("starts", "run")), "")
    return [skipped("run", f"it is not known how to send {name} to another server; offline, {detail}")]


def _rehearsed(script: Path, kind: str, env: Mapping[str, str]) -> list[DriftFinding]:
    with tempfile.TemporaryDirectory(prefix="ralph-bridge-trial-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        furnish(folder / "home", PORT, unpacked=copilot_cache(env))
        own = dict(environment(folder / "home", PORT, path=env.get("PATH", os.defpath)))
        project = folder / "project"
        project.mkdir()
        (project / "README.md").write_text("A project to try things in.\n", encoding="utf-8")
        begin_repository(project, own, "begin")
        done = rehearse(
            [sys.executable, "-P", "-c", _MAIN, str(Path(__file__).resolve().parents[3]), kind, str(script)],
            cwd=project,
            env=own,
            folder=folder / "out",
            timeout=_TIMEOUT,
        )
    lines = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.startswith("{")]
    findings = [DriftFinding.from_data(json.loads(line)) for line in lines]
    if done.status != 0:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no words"]
        ended = "took too long" if done.status is None else f"ended with status {done.status}"
        findings.append(failed("run", f"the trial {ended}: {last[0][:300]}"))
    if done.leftovers:
        findings.append(warning("leftovers", f"processes outlive a run: {'; '.join(done.leftovers)[:300]}"))
    else:
        findings.append(passed("leftovers", "no process outlives a run"))
    return findings


def main(kind: str, script: str) -> None:
    """Try the script in the working folder; one line of JSON on stdout per finding."""
    for finding in _findings(kind, Path(script)):
        os.write(1, (json.dumps(finding.as_data()) + "\n").encode())


def _findings(kind: str, script: Path) -> Iterator[DriftFinding]:
    from bridge.verify.drift.agents import try_agent
    from bridge.verify.drift.drivers import try_driver

    model = ScriptedModel(PORT)
    try:
        yield from (try_agent if kind == "agent" else try_driver)(script, model)
    except BridgeError as error:
        yield failed("run", " ".join(str(error).partition("\n  next: ")[0].split())[:500])
