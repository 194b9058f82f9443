"""Every kind of setup names what its loop or its user runs or believes, and its turns run in a box."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.probes import probe
from bridge.loop.setups import kinds
from tests.cli.conftest import Project
from tests.machine import NO_BOX

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(probe(Wishes(provider="bwrap"), os.environ) is not None, reason=NO_BOX)

SETUPS = {
    "plain": {"PROMPT.md": "Do it.\n"},
    "frankbria": {
        ".ralph/PROMPT.md": "Do it.\n",
        ".ralph/fix_plan.md": "- [ ] one\n",
        ".ralph/AGENT.md": "x\n",
        ".ralphrc": "\n",
    },
    "bmalph": {
        ".ralph/PROMPT.md": "Do it.\n",
        ".ralph/@fix_plan.md": "- [ ] one\n",
        ".ralph/.ralphrc": 'TEST_COMMAND="echo gate > .ralph/.ralphrc; ls ~/.claude; exit 1"\n',
    },
}
_CLI = """
[[ $1 == --version ]] && { echo 2.1.0; exit; }
echo planted > .git/hooks/pre-commit
for each in PROMPT.md .ralph/PROMPT.md .ralph/status.json .ralphrc .ralph/.ralphrc; do
    [[ -e $each ]] && (echo planted >> "$each") 2>&- && echo "$each"
done > got-in
[[ -e .ralph/fix_plan.md ]] && echo '- [x] one' > .ralph/fix_plan.md
echo done
"""


def test_every_kind_names_what_nothing_in_a_box_may_write_to(tmp_path: Path) -> None:
    for name, kind in kinds().items():
        found = kind.protected(tmp_path, tmp_path / "home")
        assert found, name
        assert not any(each.startswith("/") for each in found)
        assert not set(found) & {".ralph/@fix_plan.md", ".ralph/fix_plan.md", "prd.json", "home/prd.json"}


@pytest.mark.parametrize("setup", SETUPS)
def test_a_turn_of_each_kind_is_in_the_box(tmp_path: Path, setup: str) -> None:
    project = Project(tmp_path / "project")
    project.cli("claude", _CLI)
    for name, text in SETUPS[setup].items():
        project.write(name, text)
    project.repository()
    done = project.run("run", "--sandbox", "bwrap", "--max-iterations", "1")
    assert (project.folder / "got-in").exists(), (done.stdout, done.stderr)
    assert (project.folder / "got-in").read_text() == "", done.stderr
    assert not (project.folder / ".git/hooks/pre-commit").exists()
    for name, text in SETUPS[setup].items():
        expected = "- [x] one\n" if name == ".ralph/fix_plan.md" else text
        assert (project.folder / name).read_text() == expected
    if setup == "bmalph":
        gate = json.loads((project.folder / ".ralph/.quality_gate_results").read_text())["test_gate"]
        assert gate["status"] == "fail"
        assert "Read-only file system" in gate["output"]
        assert "'" in gate["output"].partition("ls: cannot access")[2]


@pytest.mark.parametrize("how", ["--sandbox", "environment", "configuration"])
def test_frankbrias_none_doesnt_switch_off_the_users_box(tmp_path: Path, how: str) -> None:
    """Its own loop knows no such provider, and doesn't begin; which is no reason not to run in the user's."""
    project = Project(tmp_path / "project")
    project.cli("claude", _CLI)
    for name, text in {**SETUPS["frankbria"], ".ralphrc": "SANDBOX_PROVIDER=none\n"}.items():
        project.write(name, text)
    project.repository()
    (tmp_path / "config/ralph-bridge").mkdir(parents=True)
    env = {"RALPH_BRIDGE_SANDBOX": "", "XDG_CONFIG_HOME": str(tmp_path / "config")}
    refused = project.run("run", "--max-iterations", "1", **env)
    assert (refused.returncode, "SANDBOX_PROVIDER=none" in refused.stderr) == (1, True)
    assert not (project.folder / "got-in").exists()
    words = ["--sandbox", "bwrap"] if how == "--sandbox" else []
    if how == "environment":
        env["RALPH_BRIDGE_SANDBOX"] = "bwrap"
    elif how == "configuration":
        (tmp_path / "config/ralph-bridge/config.toml").write_text('[sandbox]\nprovider = "bwrap"\n')
    done = project.run("run", "--max-iterations", "1", *words, **env)
    told = "SANDBOX_PROVIDER=none in .ralphrc line 1 is passed over: turns run in bwrap" in done.stderr
    assert told == (how != "--sandbox")  # which is that very setting, as an option
    assert (project.folder / "got-in").read_text() == "", done.stderr
    status = json.loads((project.folder / ".ralph/status.json").read_text())
    assert status["sandbox"] == {"provider": "bwrap"}


def test_frankbrias_dry_run_says_when_the_box_cannot_be_made(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.cli("claude", _CLI)
    for name, text in {**SETUPS["frankbria"], ".ralphrc": "SANDBOX_PROVIDER=srt\n"}.items():
        project.write(name, text)
    done = project.run("run", "--dry-run", PATH=f"{project.folder}/bin:/usr/bin:/bin")
    assert (done.returncode, "--sandbox srt: " in done.stderr) == (4, True), done.stderr
    assert not (project.folder / "got-in").exists()


@pytest.mark.parametrize("words", [("--sandbox-write", "gone"), ()])
def test_what_no_box_can_be_made_of_is_refused_before_the_loop_begins(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    project = Project(tmp_path / "project")
    project.cli("claude", _CLI)
    project.write("PROMPT.md", "Do it.\n")
    project.repository()
    home = {} if words else {"HOME": str(project.folder)}
    done = project.run("run", "--sandbox", "bwrap", *words, **home)
    assert done.returncode == 2, done.stderr
    assert "isn't there" in done.stderr if words else "holds your home folder" in done.stderr
    assert not (project.folder / ".ralph/logs").exists()
