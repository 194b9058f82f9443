"""`doctor` names loops of other tools, and loops in folders below; a folder that is called ralph is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bridge.loop.setups.foreign import FOREIGN, below
from tests import command

if TYPE_CHECKING:
    from pathlib import Path


def doctor(folder: Path) -> str:
    return command.run(["doctor"], cwd=folder, env=os.environ).stdout


THERE = {
    "ralph-tui": (
        {".ralph-tui/config.toml": 'tracker = "json"', "tasks/prd.json": "{}"},
        "ralph-bridge run --from prd:tasks/prd.json",
    ),
    "ralphex": (
        {".ralphex/config": "", "docs/plans/a.md": "# A"},
        "ralph-bridge run --from ralphex:docs/plans/a.md",
    ),
    "sandcastle": (
        {".sandcastle/prompt.md": "Do {{IT}}"},
        "which only sandcastle fills in: write a PROMPT.md of it",
    ),
    "oh-my-codex": ({".omx/state/ralph-state.json": "{}"}, "put its task_description into PROMPT.md"),
    "ralph-wiggum-cursor": ({"RALPH_TASK.md": "Do"}, "ralph-bridge run --driver cursor --prompt RALPH_TASK.md"),
    "chief": (
        {".chief/config.yaml": "", ".chief/prds/main/prd.md": "# P"},
        "ralph-bridge run --prompt .chief/prds/main/prd.md",
    ),
    "a PowerShell script": ({"ralph.ps1": "", "prompt.md": "Do"}, "ralph-bridge run --prompt prompt.md"),
    "ralph-orchestrator": ({"ralph.yml": "agent: claude", "PROMPT.md": "Do"}, "plain loop: ralph-bridge run"),
    "oh-my-opencode": ({".sisyphus/ralph-loop.local.md": "---\n---\nDo"}, "plain loop: ralph-bridge run"),
    "a plugin of opencode": ({".opencode/ralph-loop.local.md": "---\n---\n"}, "it can't run here: .opencode/ralph"),
    "open-ralph": ({".ralph/ralph-loop.state.json": '{"prompt": "Do"}'}, "plain loop: ralph-bridge run"),
    "Claude Code's ralph plugin": (
        {".claude/ralph-loop.local.md": "---\nactive: true\n---\nDo"},
        "its prompt, promise and limits run here as the plain loop: ralph-bridge run",
    ),
    "Claude Code's /loop": ({".claude/loop.md": "Do"}, "its prompt runs here as the plain loop: ralph-bridge run"),
}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize("name", [each.name for each in FOREIGN])
def test_a_loop_of_another_tool_is_named_with_what_runs_here(tmp_path: Path, name: str) -> None:
    files, words = THERE[name]
    write(tmp_path, files)
    said = doctor(tmp_path)
    assert f"no loop of another tool lies here ({name} (" in said
    assert words in said
    assert "bmalph" not in said


def test_what_only_has_the_name_or_no_word_is_no_loop(tmp_path: Path) -> None:
    write(tmp_path, {".claude/loop.md": " \n", ".sandcastle/prompt.md/x": "", ".ralph-tui": "a file"})
    said = doctor(tmp_path)
    assert "/loop: it can't run here: the prompt .claude/loop.md is empty" in said
    assert "sandcastle" not in said
    assert "ralph-tui" not in said


def test_run_says_the_same_where_there_is_nothing_of_ours(tmp_path: Path) -> None:
    write(tmp_path, THERE["ralphex"][0])
    done = command.run(["run"], cwd=tmp_path, env=os.environ)
    assert done.returncode == 2
    assert "no prompt file" in done.stderr
    assert f"next: ralphex: its plans run here: {THERE['ralphex'][1]}" in done.stderr


def test_each_of_several_is_named_with_its_command(tmp_path: Path) -> None:
    write(tmp_path, {".sisyphus/ralph-loop.local.md": "---\n---\nDo", ".claude/loop.md": "Do"})
    said = doctor(tmp_path)
    for file in (".sisyphus/ralph-loop.local.md", ".claude/loop.md"):
        assert f"as the plain loop: ralph-bridge run --prompt {file}\n" in said


def test_a_script_that_lacks_a_part_is_named_with_the_reason(tmp_path: Path) -> None:
    script = tmp_path / "scripts/ralph/ralph.sh"
    write(tmp_path, {"scripts/ralph/ralph.sh": "#!/bin/bash\necho nothing is called\n"})
    said = doctor(tmp_path)
    assert "! no loop lacks a part (scripts/ralph/ralph.sh is there, and shows no call of a coding CLI: " in said
    assert "ralph-bridge run --script PATH" in said
    script.write_text('#!/bin/bash\nfor i in 1 2; do claude -p < "$(dirname "$0")/prompt.md"; done\n')
    said = doctor(tmp_path)
    assert "scripts/ralph/ralph.sh is there, its prompt file scripts/ralph/prompt.md isn't" in said
    write(tmp_path, {"scripts/ralph/prompt.md": "Do"})
    assert "lacks a part" not in doctor(tmp_path)


def test_an_empty_folder_of_state_is_no_setup_of_bmalph(tmp_path: Path) -> None:
    (tmp_path / ".ralph/logs").mkdir(parents=True)
    assert "bmalph" not in doctor(tmp_path)


def test_what_the_projects_own_file_says_is_examined(tmp_path: Path) -> None:
    write(tmp_path, {"PROMPT.md": "Do", "ralph-bridge.toml": "# mine\nmax-iteration = 3\n"})
    said = doctor(tmp_path)
    assert "(ralph-bridge.toml line 2: max-iteration: there is no such option" in said
    write(tmp_path, {"ralph-bridge.toml": 'driver = "codex"\n'})
    said = doctor(tmp_path)
    assert "✓ what the project's file says can be used (driver: codex)" in said
    assert "✓ the driver loads (OpenAI Codex" in said


def test_a_loop_of_one_package_is_named_with_the_command(tmp_path: Path) -> None:
    script = tmp_path / "apps/web/ralph.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/bash\nwhile :; do claude -p < PROMPT.md; done\n")
    (tmp_path / "apps/node_modules/x/.ralph").mkdir(parents=True)
    assert below(tmp_path) == [("apps/web", "script")]
    assert "next: cd apps/web && ralph-bridge run (or --project apps/web)" in doctor(tmp_path)


def test_a_folder_that_is_called_ralph_is_no_setup(tmp_path: Path) -> None:
    (tmp_path / "ralph").mkdir()
    said = doctor(tmp_path)
    assert "bmalph" not in said
    assert "there is no prompt and no setup in this folder yet" in said
