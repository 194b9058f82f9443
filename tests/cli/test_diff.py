"""diff on the command line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Project

VERSIONS = Path(__file__).parents[1] / "data" / "verify" / "versions"
OLD, NEW = (str(VERSIONS / version / "codex.sh") for version in ("2.9.0", "2.11.0"))


def test_the_same_is_status_0(project: Project) -> None:
    done = project.run("diff", OLD, OLD)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("no difference in behaviour (")


def test_different_is_status_1(project: Project) -> None:
    done = project.run("diff", OLD, NEW)
    assert (done.returncode, done.stderr) == (1, "")
    assert "    - `--resume <session>` after `exec` is gone\n" in done.stdout


def test_for_programs(project: Project) -> None:
    done = project.run("diff", OLD, NEW, "--format", "json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert (document["schema"], document["same"], document["kind"]) == (1, False, "driver")
    [change] = document["changes"]
    assert change["hunks"][1]["added"] == ["resume", "<session>"]
    assert change["where"]["CLAUDE_USE_CONTINUE"] == ["true"]


def test_for_a_pull_request(project: Project) -> None:
    done = project.run("diff", OLD, NEW, "--format", "markdown")
    assert "| hook | what | how |\n| --- | --- | --- |\n| driver\\_build\\_command | " in done.stdout


@pytest.mark.parametrize(("name", "text", "message"), [
    ("none.sh", None, "does not exist"),
    ("helper.sh", "helper() { :; }\n", "neither a driver nor an agent"),
    ("broken.sh", "driver_name() {\n", "is not valid bash"),
    ("agent.sh", "AGENT_CLI=amp\nagent_invoke() { :; }\n", "a driver can't be compared with an agent"),
])  # fmt: skip
def test_bad_input_is_status_2(project: Project, name: str, text: str | None, message: str) -> None:
    project.write("driver.sh", "driver_cli_binary() { echo mine; }\n")
    if text is not None:
        project.write(name, text)
    done = project.run("diff", "driver.sh", name)
    assert done.returncode == 2
    assert message in done.stderr


DRIVER = """
driver_name() { echo mine; }
driver_cli_binary() { echo mine; }
driver_build_command() { source "${BASH_SOURCE[0]%/*}/lib/words.sh"; CLAUDE_CMD_ARGS=(mine "$WORD" "$1"); }
"""


def test_versions_in_git(project: Project) -> None:
    """From anywhere in the repository, with what the script had beside it then."""
    project.repository()
    project.write("drivers/mine.sh", DRIVER)
    project.write("drivers/lib/words.sh", "WORD=old\n")
    for words in (["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "two"]):
        subprocess.run(["git", *words], cwd=project.folder, check=True)
    project.write("drivers/lib/words.sh", "WORD=new\n")
    done = project.run("diff", "HEAD:drivers/mine.sh", "drivers/mine.sh", "--format", "json")
    assert (done.returncode, done.stderr) == (1, "")
    document = json.loads(done.stdout)
    assert (document["old"], document["new"]) == ("HEAD:drivers/mine.sh", "drivers/mine.sh")
    [change] = document["changes"]
    assert (change["hunks"][0]["removed"], change["hunks"][0]["added"]) == (["old"], ["new"])
    below = project.run("diff", "HEAD:mine.sh", "HEAD:mine.sh")
    assert (below.returncode, "git has no HEAD:mine.sh" in below.stderr) == (2, True)
    assert "no_such" in project.run("diff", "no_such:drivers/mine.sh", OLD).stderr


def test_process_substitutions(project: Project) -> None:
    done = project.shell(f'exec "$@" diff <(cat {OLD}) <(sed "s/--resume/--resume/" {OLD})', shell="bash")
    assert (done.returncode, done.stderr) == (0, "")
    done = project.shell(f'exec "$@" diff {OLD} <(true)', shell="bash")
    assert done.returncode == 2
    assert "is empty" in done.stderr


def test_no_repository_no_version(project: Project) -> None:
    done = project.run("diff", "HEAD:drivers/mine.sh", OLD)
    assert (done.returncode, "no git repository" in done.stderr) == (2, True)
