"""The GitHub action: its steps, run as a runner does, on a small repository."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.ship.runner import ACTION, StepsRun, run_action
from tests.verify.sarif import sarif_run

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., StepsRun]

GOOD = """\
driver_name() { echo "good"; }
driver_display_name() { echo "Good"; }
driver_cli_binary() { echo "good"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Read" "Write" "Bash"); }
driver_build_command() {
    [[ -f "$1" ]] || { echo "no prompt: $1" >&2; return 1; }
    CLAUDE_CMD_ARGS=("good" "--prompt-file" "$1")
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$3" ]]; then CLAUDE_CMD_ARGS+=("--resume" "$3"); fi
    if [[ -n "$2" ]]; then CLAUDE_CMD_ARGS+=("--context" "$2"); fi
}
"""
BAD = GOOD.replace('"$CLAUDE_USE_CONTINUE" == "true" && ', "").replace('"good"', '"bad"')
"""It resumes whether it is to or not: RB110, in line 8."""
WARNED = GOOD.replace('"good"', '"warned"') + 'lower() { echo "${1,,}"; }\n'


@pytest.fixture
def action(tmp_path: Path) -> Run:
    """A repository with a driver, and the step that verifies it; ralph-bridge is the one of these tests."""
    home = tmp_path / "installed"
    (home / "venv").mkdir(parents=True)
    (home / "venv" / "bin").symlink_to(Path(sys.executable).parent)
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    def run(inputs: dict[str, str] | None = None, *, install: bool = False, **scripts: str) -> StepsRun:
        for path, text in (scripts or {"drivers/good.sh": GOOD}).items():
            (workspace / path).parent.mkdir(parents=True, exist_ok=True)
            (workspace / path).write_text(text)
        env = {name: text for name, text in os.environ.items() if not name.startswith(("RALPH_BRIDGE_", "PYTHON"))}
        given = {} if install else {"install": {"folder": str(home)}}
        return run_action(workspace, tmp_path / "runner", inputs, env=env, given=given)

    return run


def annotated(log: str) -> list[tuple[str, ...]]:
    """Level, file, line and title of each."""
    return re.findall(r"^::(\w+) file=([^,]*),line=(\d+),title=(\w+)::", log, re.MULTILINE)


def test_a_driver_that_meets_the_contract(action: Run) -> None:
    done = action()
    assert (done.status, annotated(done.log)) == (0, []), done.log
    assert done.log == "ralph-bridge verify: 1 script, 0 errors, 0 warnings, 0 notes\n"
    assert "contract met" in done.summary
    assert done.outputs["exit-code"] == "0"


def test_a_driver_that_does_not(action: Run, tmp_path: Path) -> None:
    scripts = {"drivers/good.sh": GOOD, ".ralph/drivers/bad.sh": BAD + "driver_min_versoin() { echo 1.0; }\n"}
    done = action({"sarif-file": "found = here.sarif"}, **scripts)
    assert done.status == 1, done.log
    assert annotated(done.log) == [
        ("error", ".ralph/drivers/bad.sh", "8", "RB110"),
        ("error", ".ralph/drivers/bad.sh", "11", "RB006"),
    ]
    assert "RB110" in done.summary
    assert done.outputs == {"sarif-file": "found = here.sarif", "exit-code": "1"}
    results = sarif_run((tmp_path / "workspace" / "found = here.sarif").read_text())["results"]
    places = [each["locations"][0]["physicalLocation"] for each in results]
    assert [each["ruleId"] for each in results] == ["RB006", "RB110"]
    assert {each["artifactLocation"]["uri"] for each in places} == {".ralph/drivers/bad.sh"}
    assert [each["region"]["startLine"] for each in places] == [11, 8]


ONE = {"drivers/good.sh": GOOD, "other place/bad.sh": BAD}
BOTH = ONE | {"drivers/bad.sh": BAD}


@pytest.mark.parametrize(
    ("inputs", "status", "scripts"),
    [
        pytest.param({"ignore": "RB110"}, 0, BOTH, marks=pytest.mark.slow),
        pytest.param({"select": "RB0,RB12"}, 0, BOTH, marks=pytest.mark.slow),
        pytest.param({"paths": "\n  drivers/good.sh\n  other place\n"}, 1, ONE, marks=pytest.mark.slow),
        ({"static": "true"}, 0, BOTH),
        ({"static": "true"}, 0, {"drivers/warned.sh": WARNED}),
        ({"static": "true", "strict": "true"}, 1, {"drivers/warned.sh": WARNED}),
        ({"paths": "drivers/nobody.sh"}, 2, ONE),
        ({"paths": "-h"}, 2, ONE),
        ({"strict": "yes"}, 2, ONE),
        ({"sarif-file": "", "static": "true"}, 0, BOTH),
        ({"sarif-file": "no/such/folder.sarif"}, 2, ONE),
    ],
)
def test_inputs(action: Run, inputs: dict[str, str], status: int, scripts: dict[str, str]) -> None:
    done = action(inputs, **scripts)
    assert done.status == status, done.log
    assert ("::error title=ralph-bridge verify::" in done.log) == (status == 2)


def test_nothing_to_verify(action: Run) -> None:
    done = action(**{"README.md": "no drivers"})
    assert (done.status, done.outputs) == (2, {"sarif-file": "", "exit-code": ""})
    assert "name the scripts with 'paths'" in done.log


@pytest.mark.parametrize("name", list(ACTION["inputs"]))
def test_inputs_are_never_part_of_a_script(action: Run, tmp_path: Path, name: str) -> None:
    hostile = (
        f"$(touch {tmp_path}/ran) `touch {tmp_path}/ran`'; touch {tmp_path}/ran; '\"; touch {tmp_path}/ran; \""
    )
    done = action({name: hostile}, **{"drivers/good.sh": GOOD})
    assert not (tmp_path / "ran").exists()
    assert done.status == 2, done.log


def test_its_scripts_hold_no_expression() -> None:
    assert ["${{" in step["run"] for step in ACTION["runs"]["steps"]] == [False, False]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_from_its_installation_on(action: Run, tmp_path: Path) -> None:
    """With the libraries of the lock file, in an environment of its own; nothing of the workspace is imported."""
    traps = {f"{name}.py": "raise SystemExit('of the workspace')" for name in ("pip", "venv", "bridge")}
    done = action(install=True, **traps, **{"drivers/bad.sh": BAD})
    assert (done.status, annotated(done.log)) == (1, [("error", "drivers/bad.sh", "8", "RB110")]), done.log
    assert re.search(r"^ralph-bridge \d", done.log, re.MULTILINE)
    assert len(sarif_run(Path(done.outputs["sarif-file"]).read_text())["results"]) == 1


def test_without_a_python(action: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text("#!/bin/sh\nexit 1\n")  # an old one
    (tmp_path / "bin" / "python3").chmod(0o755)
    (tmp_path / "bin" / "bash").symlink_to("/bin/bash")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    done = action(install=True)
    assert (done.status, "actions/setup-python" in done.log) == (4, True), done.log
