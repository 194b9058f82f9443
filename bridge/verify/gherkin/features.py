"""The Gherkin scenarios on a script, for people who don't know pytest: the same events as the checks give.

pytest runs in a process of its own with our plugin and nothing of the project around it (its settings and
conftest files are not ours); each scenario becomes the result of a check whose code is its feature and line.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.base.packages import install_command
from bridge.errors import BridgeError
from bridge.verify.findings import (
    CheckOutcome,
    CheckResult,
    Finding,
    RunFinished,
    RunStarted,
    ScriptFinished,
    ScriptStarted,
    Severity,
)
from bridge.verify.intake import given_in, not_admitted, nothing_verified
from bridge.verify.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from bridge.verify.findings import Event


class FeaturesUnavailable(BridgeError, ImportError):
    """pytest or pytest-bdd is not installed, or did not work."""

    exit_code = 4


def run(paths: Iterable[str | os.PathLike[str]], *, strict: bool = False) -> Generator[Event]:
    """Run the scenarios on each script; those of a folder that are neither drivers nor agents are out of scope.

    strict: warnings of the checks fail their scenario, too. Raises `FeaturesUnavailable` before anything has run.
    """
    missing = [name for name in ("pytest", "pytest_bdd") if find_spec(name) is None]
    if missing:
        raise FeaturesUnavailable(
            f"--features needs {' and '.join(missing).replace('_', '-')}, not installed here\n"
            f"  next: {install_command('features')}"
        )
    began = time.monotonic()
    scripts = given_in(paths)
    yield RunStarted(tuple(given.path for given in scripts))
    severities: list[Severity] = []
    verified = False
    for index, given in enumerate(scripts):
        subject = Subject(given.path, named=given.named)
        yield ScriptStarted(given.path, subject.kind)
        finished = _run_one(subject, [each.path for each in scripts], strict=strict)
        verified = verified or bool(finished.results)
        if not verified and index == len(scripts) - 1:
            finished = nothing_verified(finished)
        severities += [finding.severity for finding in finished.findings]
        yield finished
    errors, warnings, infos = (severities.count(severity) for severity in Severity)
    yield RunFinished(len(scripts), errors, warnings, infos, time.monotonic() - began)


def _run_one(subject: Subject, others: list[Path], *, strict: bool) -> ScriptFinished:
    began = time.monotonic()
    if subject.kind == "out-of-scope":
        refused = not_admitted(subject, others)
        results: tuple[CheckResult, ...] = () if refused is None else (refused,)
    else:
        results = tuple(
            _result(subject.path, scenario) for scenario in _scenarios(subject.path, subject.kind, strict=strict)
        )
    return ScriptFinished(
        subject.path, subject.kind, results, {}, subject.name, time.monotonic() - began, subject.reason
    )


def _scenarios(script: Path, kind: str, *, strict: bool) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="ralph-bridge-features-") as folder:
        written = Path(folder) / "scenarios.jsonl"
        settings = Path(folder) / "pytest.ini"
        settings.write_text("[pytest]\n")
        # Plugins are named one by one, so that nothing else that is installed takes part.
        command = [sys.executable, "-m", "pytest", "-p", "pytest_bdd.plugin", "-p", "ralph_bridge_pytest"]
        command += ["-p", "no:cacheprovider", "-c", str(settings), "--rootdir", folder, "-q", "--tb=short"]
        command += [
            f"--basetemp={folder}/made",
            f"--ralph-{kind}={os.path.abspath(script)}",
            f"--ralph-results={written}",
        ]
        command += ["--ralph-only", *(["--ralph-strict"] if strict else [])]
        done = subprocess.run(
            command, cwd=folder, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if done.returncode not in (0, 1) or not written.exists():
            output = (done.stderr or done.stdout).decode("utf-8", "replace")[-2000:].strip()
            raise FeaturesUnavailable(f"pytest ended with status {done.returncode}:\n{output}")
        scenarios = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    return sorted(scenarios, key=lambda scenario: (scenario["feature"], scenario["line"], scenario["example"]))


def _environment() -> Mapping[str, str]:
    package = str(Path(__file__).parents[3])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": path}


def _result(script: Path, scenario: Mapping[str, Any]) -> CheckResult:
    code = f"{scenario['feature']}:{scenario['line']}"
    title = " ".join(filter(None, (scenario["name"], scenario["example"])))
    if scenario["outcome"] == "skipped":
        return CheckResult(
            code, title, CheckOutcome.SKIPPED, reason=scenario["message"], seconds=scenario["seconds"]
        )
    if scenario["outcome"] == "passed":
        return CheckResult(code, title, CheckOutcome.PASSED, seconds=scenario["seconds"])
    step = scenario["step"]
    read = f"read the scenario in {_place(script, scenario)}, line {scenario['line']}"
    clause = re.match(r"RB\d{3}(?=:)", scenario["message"])
    finding = Finding(
        code,
        Severity.ERROR,
        f"{scenario['name']}: {scenario['message']}",
        script,
        expected=step,
        hint=f"ralph-bridge explain {clause[0]}" if clause else read,
    )
    return CheckResult(code, title, CheckOutcome.FAILED, (finding,), seconds=scenario["seconds"])


def _place(script: Path, scenario: Mapping[str, Any]) -> str:
    if scenario["own"]:
        return str(script.with_suffix(".feature"))
    return f"features/{scenario['feature']}.feature"
