"""The hook for pre-commit: what it runs exists, and never executes a script."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from bridge.cli.app import COMMANDS, cli

ROOT = Path(__file__).parents[2]
[HOOK] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


def test_its_entry_is_a_command_of_ours() -> None:
    program, command, *options = shlex.split(HOOK["entry"])
    assert (HOOK["id"], program, options) == ("ralph-verify", "ralph-bridge", ["--static"])
    assert command in COMMANDS
    import click

    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    names = {name for parameter in found.params for name in parameter.opts}
    assert set(options) <= names


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("drivers/codex.sh", True),
        (".ralph/drivers/codex.sh", True),
        ("scripts/ralph/agents/amp.sh", True),
        ("mydrivers/codex.sh", False),
        ("drivers/README.md", False),
        ("lib/util.sh", False),
        ("drivers/cursor-agent-wrapper.sh", False),
    ],
)
def test_it_takes_the_scripts_of_all_setups(path: str, wanted: bool) -> None:
    taken = re.search(HOOK["files"], path) is not None and re.search(HOOK["exclude"], path) is None
    assert taken is wanted


def test_its_entry_runs_and_executes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.cli.app import run_app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "drivers").mkdir()
    (tmp_path / "drivers" / "mine.sh").write_text("touch executed\ndriver_name() { echo mine; }\n")
    assert run_app([*shlex.split(HOOK["entry"])[1:], "drivers/mine.sh"]) == 1
    assert not (tmp_path / "executed").exists()
