"""14 D.2: `verify`, `verify --features` and `pytest --ralph-driver` say the same of every script."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from bridge.base import resources
from bridge.scripts.contract import driver_contract
from bridge.verify.engine import verify
from bridge.verify.findings import RunFinished, ScriptFinished
from bridge.verify.gherkin import features
from tests.machine import mostly_slow
from tests.skeletons import minimal_agent, minimal_driver

from .examples import FIXTURES, examples

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
VERIFY = (ROOT / "docs" / "verify.md").read_text()
[EXAMPLE] = re.findall(r"```bash\n# drivers/my-platform\.sh\n(.*?)```", VERIFY, re.DOTALL)
MENDED = EXAMPLE.replace(
    'if [[ -n "$session_id" ]]', 'if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]'
)
assert MENDED != EXAMPLE
OPTIONAL = [name for name in driver_contract().hooks if name not in driver_contract().required]


def without(text: str, hook: str) -> str:
    left = re.sub(rf"^{hook}\(\) \{{\n.*?^\}}\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(rf"^{hook}\(\) \{{ .*\}}\n", "", left, flags=re.MULTILINE)


def scripts() -> dict[str, str]:
    """Name below the test's folder to text."""
    shipped = [*resources.shipped("drivers").glob("*.sh"), *resources.shipped("agents").glob("*.sh")]
    found = {f"{path.parent.name}/{path.name}": path.read_text() for path in shipped if "wrapper" not in path.name}
    opencode = found["drivers/opencode.sh"]
    found |= {f"without/{hook}/opencode.sh": without(opencode, hook) for hook in OPTIONAL}
    found |= {
        "skeleton/my-platform.sh": minimal_driver(),
        "required/my-platform.sh": without(
            without(minimal_driver(), "driver_min_version"), "driver_check_available"
        ),
        "docs/my-platform.sh": EXAMPLE,
        "mended/my-platform.sh": MENDED,
        "agent/my-agent.sh": minimal_agent(),
        "no-display/my-agent.sh": minimal_agent(without="agent_format_display"),
        "edited/codex.sh": found["drivers/codex.sh"].replace('"exec"', '"exec" "--model" "gpt-5"', 1),
        "renamed/other.sh": found["drivers/codex.sh"],
        "warned/codex.sh": found["drivers/codex.sh"].replace("    local prompt\n", ""),
        "broken/codex.sh": found["drivers/codex.sh"] + "if then\n",
        "exits/my-platform.sh": minimal_driver() + "exit 3\n",
    }
    for path in sorted((HERE / "sound").glob("*/*.sh")):
        if path.stem in ("minimal", "rovo", "iflow", "joined", "piped", "seeker", "own", "plain-text", "pi-env"):
            found[f"sound/{path.parent.name}/{path.name}"] = path.read_text()
    return found


SCRIPTS = scripts()


class Verdicts(NamedTuple):
    """The scripts that fail, by the three ways."""

    checks: set[str]
    scenarios: set[str]
    plugin: set[str]


def _made(folder: Path, names: tuple[str, ...]) -> dict[Path, str]:
    made = {}
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SCRIPTS[name])
        made[path] = name
    return made


def _of(event: ScriptFinished, strict: bool) -> bool:
    bad = ("error", "warning") if strict else ("error",)
    return any(finding.severity.value in bad for finding in event.findings)


def _plugin(folder: Path, made: dict[Path, str], strict: bool) -> set[str]:
    results = folder / "results.jsonl"
    command = [sys.executable, "-m", "pytest", "-p", "pytest_bdd.plugin", "-p", "ralph_bridge_pytest", "-q"]
    command += ["-p", "no:cacheprovider", "--ralph-only", f"--ralph-results={results}", "--tb=no"]
    command += ["--ralph-strict"] if strict else []
    command += [f"--ralph-{'agent' if path.stem == 'my-agent' else 'driver'}={path}" for path in made]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    failed = set()
    for line in map(json.loads, results.read_text().splitlines()):
        if line["outcome"] == "failed":
            failed.add(made[Path(line["driver"])])
    assert done.returncode == bool(failed), done.stdout + done.stderr
    return failed


def _verdicts(folder: Path, names: tuple[str, ...], *, strict: bool = False) -> Verdicts:
    made = _made(folder, names)
    by_checks = [event for event in verify(list(made), timeout=120) if isinstance(event, ScriptFinished)]
    by_features = [event for event in features.run(list(made), strict=strict) if isinstance(event, ScriptFinished)]
    assert [event.kind for event in by_checks] == [event.kind for event in by_features]
    return Verdicts(
        {made[event.path] for event in by_checks if _of(event, strict)},
        {made[event.path] for event in by_features if _of(event, strict)},
        _plugin(folder, made, strict),
    )


@pytest.mark.parametrize(
    ("strict", "bad", "good"),
    mostly_slow(
        [
            (False, ["docs/my-platform.sh"], ["warned/codex.sh"]),
            (True, ["warned/codex.sh"], ["mended/my-platform.sh", "without/driver_min_version/opencode.sh"]),
            (False, ["no-display/my-agent.sh", "broken/codex.sh"], ["agent/my-agent.sh"]),
        ],
        1,
    ),
)
def test_d2_the_three_ways_agree_on_the_readmes_example(
    tmp_path: Path, strict: bool, bad: list[str], good: list[str]
) -> None:
    checks, scenarios, plugin = _verdicts(tmp_path, (*bad, *good), strict=strict)
    assert checks == scenarios == plugin == {*bad}


@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_d2_the_three_ways_agree_on_every_script(tmp_path: Path) -> None:
    assert len(SCRIPTS) >= 30
    checks, scenarios, plugin = _verdicts(tmp_path, tuple(SCRIPTS))
    assert checks == scenarios == plugin
    # "without": a driver with live output whose filter shows nothing, or with sessions that are never found again.
    failing = {"docs", "no-display", "renamed", "broken", "exits", "without"}
    assert {name.partition("/")[0] for name in checks} == failing
    needed = ("stream_filter", "extract_session_id_from_output", "fallback_session_id")
    assert {name for name in checks if name.startswith("without/")} == {
        f"without/driver_{hook}/opencode.sh" for hook in needed
    }


@pytest.mark.nightly
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", ["good", "bad"])
def test_d2_the_three_ways_agree_on_the_fixtures_of_the_checks(tmp_path: Path, name: str) -> None:
    # Every eighth, good and bad ones of different checks: all of them take a quarter of an hour.
    codes = [path.stem for path in sorted(FIXTURES.glob("RB*.sh"))]
    scripts = [each for code in codes for each in examples(code) if each.file == f"{name}.sh"]
    for each in scripts[name == "bad" :: 8]:
        SCRIPTS[f"fixtures/{each.code}/{each.file}"] = each.text
    names = tuple(each for each in SCRIPTS if each.startswith("fixtures/") and each.endswith(f"/{name}.sh"))
    made = _made(tmp_path, names)
    by_checks = [event for event in verify(list(made), timeout=120, jobs=2) if isinstance(event, ScriptFinished)]
    failing = {made[event.path] for event in by_checks if _of(event, strict=False)}
    assert failing == _plugin(tmp_path, made, strict=False)


def test_d2_a_run_of_scenarios_ends_with_the_same_sum(tmp_path: Path) -> None:
    made = _made(tmp_path, ("docs/my-platform.sh",))
    [*_, by_checks] = verify(list(made))
    [*_, by_features] = features.run(list(made))
    assert isinstance(by_checks, RunFinished)
    assert isinstance(by_features, RunFinished)
    assert (by_checks.scripts, by_checks.errors) == (1, 1)
    # What a clause says, and the scenario about the command that shows it.
    assert (by_features.scripts, by_features.errors) == (1, 2)
