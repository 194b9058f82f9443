"""The workflow that ``new workflow`` writes: of the form that GitHub reads, with the least rights."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from bridge.base.clis import known_clis
from bridge.errors import ConfigurationError
from bridge.verify.scaffold import loop_workflow
from tests import command
from tests.command import ROOT
from tests.machine import mostly_slow
from tests.ship.runner import RUN
from tests.ship.test_workflows import lint

if TYPE_CHECKING:
    from pathlib import Path

FILE = ".github/workflows/ralph-bridge.yml"
WITH_KEY = [name for name, cli in known_clis().items() if cli.key and cli.driver]


def steps(document: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document["jobs"]["loop"]["steps"]
    return found


@pytest.mark.parametrize("name", mostly_slow(sorted(WITH_KEY, key=lambda name: name != "claude"), 1))
def test_a_workflow_for_each_cli(tmp_path: Path, name: str) -> None:
    cli = known_clis()[name]
    text = loop_workflow(cli, tool=True)
    path = tmp_path / "ralph-bridge.yml"
    path.write_text(text)
    lint("check-jsonschema", "--builtin-schema", "vendor.github-workflows", str(path))
    lint("zizmor", "--offline", "--quiet", "--min-severity", "medium", str(path))
    document = yaml.safe_load(text)
    assert document["permissions"] == {}
    job = document["jobs"]["loop"]
    assert job["permissions"] == {"contents": "write", "pull-requests": "write"}
    assert document["concurrency"] == {"group": "ralph-bridge-loop", "cancel-in-progress": False}
    for each in steps(document):
        assert "${{" not in each.get("run", ""), "text of others in a script"
        used = each.get("uses", "./")
        assert used.startswith("./") or re.fullmatch(r"actions/[\w/-]+@[0-9a-f]{40}", used)
    for script in (each["run"] for each in steps(document) if "run" in each):
        lint("shellcheck", "--shell=bash", "-", stdin=script)
    own = steps(document)[-1]
    assert own["uses"] == "./.ralph-bridge/run"
    assert set(own["with"]) <= set(RUN["inputs"])
    assert own["with"]["key-name"] == cli.key
    assert own["with"]["key"] == f"${{{{ secrets.{cli.key} }}}}"
    assert ("max-cost" in own["with"]) is cli.reports_cost
    assert own["with"]["options"].split() == ["--tool", cli.driver.name if cli.driver else ""]
    checkout = steps(document)[0]["with"]
    assert checkout == {"fetch-depth": 0, "persist-credentials": False}


def test_it_is_written_once(tmp_path: Path) -> None:
    def new(*words: str) -> Any:
        return command.run(["new", "workflow", *words], cwd=tmp_path, env=os.environ)

    done = new()
    assert (done.returncode, done.stderr) == (0, "")
    assert "add the secret ANTHROPIC_API_KEY" in done.stdout
    text = (tmp_path / FILE).read_text()
    assert "options" not in steps(yaml.safe_load(text))[-1]["with"], "the loop's own CLI is used"
    done = new("--cli", "codex")
    assert done.returncode == 2
    assert f"nothing was written: {FILE} is there already" in done.stderr
    assert (tmp_path / FILE).read_text() == text
    done = new("--cli", "codex", "--key", "MY_KEY", "--output", "other.yml")
    assert done.returncode == 0, done.stderr
    assert "secrets.MY_KEY" in (tmp_path / "other.yml").read_text()


def test_what_can_not_be_known_is_asked_for() -> None:
    clis = known_clis()
    with pytest.raises(ConfigurationError, match="takes the keys of several providers"):
        loop_workflow(clis["opencode"])
    with pytest.raises(ConfigurationError, match="is no name of a variable"):
        loop_workflow(clis["claude"], "a }} ${{ b")
    with pytest.raises(ConfigurationError, match="no driver ships"):
        loop_workflow(clis["amp"], tool=True)


def test_the_action_names_what_it_uses_by_hash() -> None:
    used = [each["uses"] for each in RUN["runs"]["steps"] if "uses" in each]
    assert used
    assert all(re.fullmatch(r"actions/[\w/-]+@[0-9a-f]{40}", each) for each in used)
    assert set(re.findall(r"\b([A-Z][A-Z_]+):", (ROOT / "run/action.yml").read_text())) <= {
        *(name.upper().replace("-", "_") for name in RUN["inputs"]),
        "GH_TOKEN",
    }
