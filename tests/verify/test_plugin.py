"""The pytest plugin in somebody else's project, and `verify --features` without one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bridge.base import resources
from bridge.verify.findings import CheckOutcome, RunFinished, ScriptFinished
from bridge.verify.gherkin import features
from tests.skeletons import minimal_agent

ROOT = Path(__file__).parents[2]
CODEX = resources.shipped("drivers") / "codex.sh"
SKELETON = resources.shipped("features") / "data" / "my-platform.sh"


def run(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """pytest in a folder outside this checkout, with our plugin as the only one besides pytest-bdd."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **more}
    command = [sys.executable, "-m", "pytest", "-p", "pytest_bdd.plugin", "-p", "ralph_bridge_pytest"]
    return subprocess.run(
        [*command, "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n")
    (tmp_path / "test_own.py").write_text("def test_own():\n    assert True\n")
    return tmp_path


def test_the_features_run_beside_the_projects_own_tests(project: Path) -> None:
    done = run(project, f"--ralph-driver={CODEX}", "-v", "-k", "test_own or starts_with_the_program")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_own.py::test_own PASSED" in done.stdout
    assert "test_it_starts_with_the_program[codex] PASSED" in done.stdout


def test_several_drivers_each_by_its_name(project: Path) -> None:
    arguments = (f"--ralph-driver={CODEX}", f"--ralph-driver={SKELETON}", "-k", "live_output", "-v")
    done = run(project, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[codex" in done.stdout
    assert "[my-platform" in done.stdout


def test_agents_have_scenarios_of_their_own(project: Path) -> None:
    script = resources.shipped("agents") / "amp.sh"
    done = run(
        project,
        f"--ralph-agent={script}",
        f"--ralph-driver={CODEX}",
        "-v",
        "-k",
        "can_be_loaded or starts_with_the",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_it_can_be_loaded[amp] PASSED" in done.stdout
    assert "test_it_starts_with_the_program[codex] PASSED" in done.stdout
    assert done.stdout.count("PASSED") == 2


def test_a_violation_fails_the_run(project: Path) -> None:
    (project / "codex.sh").write_text(CODEX.read_text().replace('    echo "codex"\n', '    echo "other"\n', 1))
    done = run(project, "--ralph-driver=codex.sh", "-k", "hooks_that_answer_a_question")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "other" in done.stdout


def test_a_project_that_does_not_ask_notices_nothing(project: Path) -> None:
    loaded = "import sys; print(sorted(name for name in sys.modules if name.startswith('bridge')))"
    (project / "test_own.py").write_text(f"def test_own():\n    {loaded}\n")
    done = run(project, "-s", "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[]" in done.stdout.splitlines()[0]


def test_a_project_keeps_a_package_of_the_name_of_ours(project: Path) -> None:
    """It is imported as without us; only who asks for scenarios hears that they can't be run beside it."""
    (project / "bridge").mkdir()
    (project / "bridge" / "__init__.py").write_text("SPAN = 40\n")
    (project / "test_own.py").write_text("import bridge\n\ndef test_own():\n    assert bridge.SPAN == 40\n")
    done = run(project)
    assert done.returncode == 0, done.stdout + done.stderr
    refused = run(project, f"--ralph-driver={CODEX}")
    assert refused.returncode == 4, refused.stdout + refused.stderr
    assert f"{project / 'bridge'}, isn't ralph-bridge" in refused.stderr
    assert "next: ralph-bridge verify --features SCRIPT" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_its_former_name_is_the_same_plugin(project: Path) -> None:
    arguments = ("-p", "bridge.verify.plugin", f"--ralph-driver={CODEX}", "-k", "starts_with_the_program")
    done = run(project, *arguments)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_a_driver_that_is_not_there_is_a_usage_error(project: Path) -> None:
    done = run(project, "--ralph-driver=nowhere.sh")
    assert done.returncode == 4
    assert "--ralph-driver nowhere.sh: there is no such file" in done.stderr
    assert "--ralph-agent nowhere.sh: there is no such file" in run(project, "--ralph-agent=nowhere.sh").stderr


def test_it_is_declared_and_so_is_what_it_needs() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert declared["entry-points"]["pytest11"] == {"ralph-bridge": "ralph_bridge_pytest"}
    assert {name.partition(">")[0] for name in declared["optional-dependencies"]["features"]} == {
        "pytest",
        "pytest-bdd",
    }


def _outcomes(finished: ScriptFinished) -> set[CheckOutcome]:
    """But for scenarios about what a driver need not do, such as to look for Windows."""
    return {result.outcome for result in finished.results} - {CheckOutcome.SKIPPED}


@pytest.mark.slow
def test_features_without_pytest_knowledge(tmp_path: Path) -> None:
    script = tmp_path / "my-platform.sh"
    script.write_text(SKELETON.read_text())
    helper = tmp_path / "helper.sh"
    helper.write_text("helper() { :; }\n")
    events = list(features.run([tmp_path]))
    first, sound = (event for event in events if isinstance(event, ScriptFinished))
    assert (first.path, first.kind) == (helper, "out-of-scope")
    assert len(sound.results) > 60
    assert _outcomes(sound) == {CheckOutcome.PASSED}, sound.findings
    assert isinstance(events[-1], RunFinished)


@pytest.mark.slow
@pytest.mark.parametrize("script", ["drivers/codex.sh", "drivers/copilot.sh", "agents/cline.sh"])
def test_on_our_own_scripts_the_features_about_them_are_run_too(script: str) -> None:
    kind, _, name = script.partition("/")
    [finished] = (
        event for event in features.run([resources.shipped(kind) / name]) if isinstance(event, ScriptFinished)
    )
    stems = {result.code.partition(":")[0] for result in finished.results}
    assert {"clauses", "build_command", "loading"} <= stems or {"agent_clauses", "agent"} == stems
    assert _outcomes(finished) == {CheckOutcome.PASSED}, finished.findings


@pytest.mark.slow
def test_the_features_of_agents_without_pytest_knowledge(tmp_path: Path) -> None:
    script = tmp_path / "my-agent.sh"
    script.write_text(minimal_agent())
    [finished] = (event for event in features.run([script]) if isinstance(event, ScriptFinished))
    assert finished.kind == "agent"
    assert len(finished.results) > 15
    assert _outcomes(finished) == {CheckOutcome.PASSED}, finished.findings
    script.write_text(minimal_agent().replace('< "$1"', '2>&1 < "$1"', 1))
    [finished] = (event for event in features.run([script]) if isinstance(event, ScriptFinished))
    assert any("RB173: " in f.message for f in finished.findings)


@pytest.mark.slow
def test_a_script_that_can_not_even_be_loaded_has_failures(tmp_path: Path) -> None:
    script = tmp_path / "exits.sh"
    script.write_text("driver_name() { echo exits; }\nexit 3\n")
    *_, finished, last = features.run([script])
    assert isinstance(finished, ScriptFinished)
    assert any("exit 3" in finding.message for finding in finished.findings)
    assert isinstance(last, RunFinished)
    assert last.errors == len(finished.findings)


def test_without_pytest_bdd_the_environment_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "find_spec", lambda name: None if name == "pytest_bdd" else object())
    with pytest.raises(
        features.FeaturesUnavailable, match=r"needs pytest-bdd.*\n.*pip install.*pytest-bdd"
    ) as error:
        list(features.run([CODEX]))
    assert error.value.exit_code == 4


def test_what_the_plugin_writes_is_json(project: Path) -> None:
    done = run(
        project, f"--ralph-driver={CODEX}", "--ralph-only", "--ralph-results=out", "-k", "starts_with_the_program"
    )
    assert "test_own" not in done.stdout
    [line] = map(json.loads, (project / "out").read_text().splitlines())
    assert (line["feature"], line["outcome"], line["name"]) == (
        "build_command",
        "passed",
        "It starts with the program",
    )


def test_a_scenario_of_ones_own_shows_the_expected_command(project: Path) -> None:
    (project / "my-platform.sh").write_text(SKELETON.read_text())
    (project / "my-platform.feature").write_text(
        "Feature: mine\n"
        "  Scenario: whole\n    When the command is built\n    Then the command is\n"
        '      """\n      my-platform --never "two words"\n      """\n'
        '  Scenario: a pair\n    When the command is built\n    Then the command has "--never" followed by "a b"\n'
        '  Scenario: none\n    When the command is built\n    Then the command does not have "my-platform"\n'
    )
    done = run(project, "--ralph-driver=my-platform.sh", "--ralph-only", "-k", "whole or pair or none")
    assert done.returncode == 1, done.stdout + done.stderr
    for line in (
        "my-platform --never 'two words'",
        "expected in it: --never 'a b'",
        "expected without: my-platform",
    ):
        assert f"{line}\n" in done.stdout


def test_a_sentence_is_true_only_of_what_its_check_looks_at(project: Path) -> None:
    """Any other sentence in front of a check's number, or a number that no check has, fails."""
    (project / "my-platform.sh").write_text(SKELETON.read_text())
    verified = "    When the script is verified\n    Then"
    (project / "my-platform.feature").write_text(
        "Feature: mine\n"
        f"  Scenario: its title\n{verified} the command begins with the CLI (RB104)\n"
        f"  Scenario: its opposite\n{verified} the command does not begin with the CLI (RB104)\n"
        f"  Scenario: of another\n{verified} the prompt arrives as it is (RB104)\n"
        f"  Scenario: no such number\n{verified} the command begins with the CLI (RB999)\n"
    )
    named = "test_its_title or test_its_opposite or test_of_another or test_no_such_number"
    done = run(project, "--ralph-driver=my-platform.sh", "--ralph-only", "-k", named)
    assert "3 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "RB104 does not check that 'the prompt arrives as it is'" in done.stdout
    assert "there is no check RB999" in done.stdout


def test_a_project_that_keeps_its_environment_inside_collects_it_too(project: Path) -> None:
    """Installed below the project's root, in a virtual environment: pytest leaves such folders out otherwise."""
    packages = project / ".venv" / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (project / ".venv" / "pyvenv.cfg").touch()
    shipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "bridge", packages / "bridge", ignore=shipped)
    shutil.copy(ROOT / "ralph_bridge_pytest.py", packages)
    for kind in ("drivers", "agents", "features"):
        shutil.copytree(resources.shipped(kind), packages / "bridge" / "_shipped" / kind, ignore=shipped)
    done = run(
        project,
        f"--ralph-driver={CODEX}",
        "-v",
        "-k",
        "test_own or starts_with_the_program",
        PYTHONPATH=str(packages),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
