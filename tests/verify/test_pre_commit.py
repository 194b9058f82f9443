"""The hook for pre-commit: what it runs exists, and never executes a script."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from bridge.cli.app import COMMANDS, cli

ROOT = Path(__file__).parents[2]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
HOOK, ALL = HOOKS


def test_its_entry_is_a_command_of_ours() -> None:
    assert [hook["id"] for hook in HOOKS] == ["ralph-verify", "ralph-verify-all"]
    program, command, *options = shlex.split(HOOK["entry"])
    assert (program, options) == ("ralph-bridge", ["--static", "--skip-helpers"])
    assert shlex.split(ALL["entry"]) == [program, command, "--skip-helpers"]
    assert ALL["files"] == HOOK["files"]
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
        ("drivers/lib/common.sh", True),
        ("a/drivers/codex.sh", True),
        ("--report=json=a/drivers/codex.sh", False),
    ],
)
def test_it_takes_the_scripts_of_all_setups(path: str, wanted: bool) -> None:
    assert (re.search(HOOK["files"], path) is not None) is wanted


def test_its_entry_runs_and_executes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.cli.app import run_app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "drivers").mkdir()
    (tmp_path / "drivers" / "mine.sh").write_text("touch executed\ndriver_name() { echo mine; }\n")
    assert run_app([*shlex.split(HOOK["entry"])[1:], "drivers/mine.sh"]) == 1
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("hook", HOOKS, ids=[hook["id"] for hook in HOOKS])
def test_a_helper_is_no_driver(hook: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pre-commit names what has changed: a helper alone, or one in a folder of its own, beside no driver."""
    from bridge.cli.app import run_app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "drivers" / "lib").mkdir(parents=True)
    (tmp_path / "drivers" / "lib" / "common.sh").write_text("trimmed() { printf '%s' \"${1//[[:space:]]/}\"; }\n")
    (tmp_path / "drivers" / "broken.sh").write_text("if true; then\n")
    words = shlex.split(hook["entry"])[1:]
    assert run_app([*words, "drivers/lib/common.sh"]) == 0
    assert run_app([*words, "drivers/lib/common.sh", "drivers/broken.sh"]) == 1


def test_one_hook_runs_the_scripts_and_takes_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.cli.app import run_app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "drivers").mkdir()
    source = (ROOT / "features" / "data" / "my-platform.sh").read_text()
    (tmp_path / "drivers" / "my-platform.sh").write_text(source.replace('echo "My Platform"', "echo"))
    named = ["--select", "RB071", "drivers/my-platform.sh"]  # `args:` of the hook, then the files
    assert run_app([*shlex.split(ALL["entry"])[1:], *named]) == 1
    assert run_app([*shlex.split(HOOK["entry"])[1:], *named]) == 0
