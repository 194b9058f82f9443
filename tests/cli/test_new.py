"""`ralph-bridge new`: a script that meets its contract from the first minute."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from bridge.base import resources
from bridge.scripts.contract import driver_contract
from bridge.verify import scaffold

if TYPE_CHECKING:
    from tests.cli.conftest import Project

CLIS = {
    "driver": sorted(known.cli[0] for known in driver_contract().drivers.values()),
    "agent": ["amp", "claude", "cline", "codex"],
}
SHELLCHECK = Path(sys.executable).with_name("shellcheck")


def nothing_found(project: Project, *words: str, **env: str) -> None:
    done = project.run("verify", "--strict", *words, **env)
    assert (done.returncode, "0 errors, 0 warnings" in done.stdout) == (0, True), done.stdout + done.stderr
    bash = shutil.which("bash", path=project.env["PATH"])
    assert bash is not None
    # Some static builds crash without a variable SHELL, which a script that is judged doesn't get.
    starts = subprocess.run([bash, "-c", ":"], env={}, check=False).returncode == 0
    why = [line for line in done.stdout.splitlines() if "not judged:" in line and "nobody has recorded" not in line]
    assert not why or not starts, done.stdout


@pytest.mark.parametrize("kind", ["driver", pytest.param("agent", marks=pytest.mark.slow)])
def test_a_new_script_has_no_finding(project: Project, kind: str) -> None:
    done = project.run("new", kind, "my-tool", "--cli", "the-tool")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"wrote {kind}s/my-tool.sh\nwrote {kind}s/my-tool.feature\n")
    text = (project.folder / f"{kind}s/my-tool.sh").read_text()
    assert "the-tool" in text
    assert not any(word in text for word in ("my-platform", "My Platform", "my-agent", "My Agent"))
    nothing_found(project, "my-tool")
    checked = subprocess.run([SHELLCHECK, "--shell=bash", f"{kind}s/my-tool.sh"], cwd=project.folder, check=False)
    assert checked.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["driver", "agent"])
def test_nor_under_any_bash_and_in_the_features(project: Project, kind: str, bash: str) -> None:
    project.run("new", kind, "x")
    (project.folder / "bin").mkdir()
    (project.folder / "bin/bash").symlink_to(bash)
    nothing_found(project, "x")
    nothing_found(project, "--features", "x")


@pytest.mark.slow
def test_for_a_known_cli_it_is_a_copy_and_has_no_finding(project: Project) -> None:
    for kind, clis in CLIS.items():
        for cli in clis:
            assert "a copy of" in project.run("new", kind, f"my-{cli}", "--cli", cli).stdout
    nothing_found(project, "drivers", "agents")
    nothing_found(project, "--features", "my-codex", "agent:my-codex")


def test_the_copy_has_its_own_name_and_its_helpers(project: Project) -> None:
    project.run("new", "driver", "mine", "--cli", "cursor-agent")
    assert project.run("call", "mine", "driver_name").stdout == "mine\n"
    helper = "cursor-agent-wrapper.sh"
    shipped = resources.shipped("drivers") / helper
    assert (project.folder / "drivers" / helper).read_bytes() == shipped.read_bytes()


def test_where_it_goes(project: Project) -> None:
    project.write(".ralph/agents/other.sh", "agent_invoke() { :; }\n")
    (project.folder / "below").mkdir()
    assert project.run("new", "agent", "a").stdout.startswith("wrote .ralph/agents/a.sh\n")
    assert "next: ralph-bridge verify a.sh\n" in project.run("new", "agent", "a", "--here").stdout
    assert project.run("new", "driver", "b", "--output", "some/where").stdout.startswith("wrote some/where/b.sh\n")
    assert "next: ralph-bridge verify a\n" in project.run("new", "driver", "a").stdout
    assert "ralph-bridge verify agent:codex\n" in project.run("new", "agent", "codex").stdout


def test_the_next_steps_work(project: Project) -> None:
    told = project.run("new", "driver", "x", "--here").stdout
    steps = [line.removeprefix("next:").split() for line in told.partition("\nnext:")[2].splitlines()]
    assert len(steps) == 4
    for words in steps:
        if "--features" not in words:  # a slow test does
            assert project.run(*words[1:]).returncode == 0, words


@pytest.mark.parametrize(("words", "message"), [
    (("driver", "My Tool"), "next: call it my-tool"),
    (("driver", "tool.sh"), "without .sh"),
    (("agent", "../tool"), "not a name that loops find"),
    (("agent", ""), "not a name that loops find"),
    (("agent", "x", "--cli", "x --json"), "without arguments"),
    (("agent", "x", "--cli", "$(x)"), "without arguments"),
    (("driver", "x", "--here", "--output", "y"), "exclude each other"),
    (("driver",), "Missing argument"),
    (("shell", "x"), "No such command"),
])  # fmt: skip
def test_what_is_refused(project: Project, words: tuple[str, ...], message: str) -> None:
    assert message in project.refused("new", *words)
    assert not (project.folder / "drivers").exists()


def test_nothing_is_overwritten(project: Project) -> None:
    project.write("drivers/x.feature", "mine\n")
    assert "nothing was written: drivers/x.feature is there already" in project.refused("new", "driver", "x")
    assert os.listdir(project.folder / "drivers") == ["x.feature"]
    project.write("full", "")
    assert "can't be written" in project.refused("new", "driver", "x", "--output", "full/x", code=4)


@pytest.mark.slow
def test_a_scenario_of_its_own_that_fails_is_told_with_its_place(project: Project) -> None:
    project.run("new", "driver", "x")
    path = project.folder / "drivers/x.sh"
    path.write_text(path.read_text().replace('"--context"', '"--note"'))
    (project.folder / "drivers/y.sh").write_text(path.read_text().replace('echo "x" #', 'echo "y" #'))
    done = project.run("verify", "--features", "x", "y", "--format", "json")
    assert done.returncode == 1
    checks = [check for script in json.loads(done.stdout)["scripts"] for check in script["checks"]]
    findings = [finding for check in checks for finding in check["findings"]]
    assert [each["hint"] for each in findings] == ["read the scenario in drivers/x.feature, line 13"]
    assert "--note 'Loop #3.'" in findings[0]["message"]


def test_the_workflow_runs_what_it_says() -> None:
    steps = yaml.safe_load(scaffold.workflow("driver", "drivers/it's.sh"))["jobs"]["verify"]["steps"]
    assert [step["run"].split()[:2] for step in steps if "run" in step] == [
        ["pip", "install"], ["ralph-bridge", "verify"], ["ralph-bridge", "verify"]
    ]  # fmt: skip
    assert """drivers/it'"'"'s.sh""" in steps[-1]["run"]


def test_ci_installs_what_is_installed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    class Distribution:
        text: str | None = None

        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return self.text

    monkeypatch.setattr(metadata, "distribution", lambda _name: Distribution())
    assert scaffold.source() == '"$RALPH_BRIDGE"'
    origin = {"url": "https://example.org/rb", "vcs_info": {"vcs": "git", "commit_id": "abc"}}
    monkeypatch.setattr(Distribution, "text", json.dumps(origin))
    assert scaffold.source() == "git+https://example.org/rb@abc"
