"""`run` takes prompt, promise and limits from the files of other tools, and says what it took from where."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from bridge.loop.engine.events import Notice
from bridge.loop.loops import Loop
from tests import command

if TYPE_CHECKING:
    from pathlib import Path

_CLAUDE = """#!/bin/bash
[[ $1 == --version ]] && { echo "2.1.0 (Claude Code)"; exit; }
printf '%s\\0' "$@" > "$0.said.$(ls "$0".said.* 2>/dev/null | wc -l)"
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"<promise>ALL</promise>"}'
"""
_FRONT = '---\nactive: true\niteration: 3\nmax_iterations: 7\ncompletion_promise: "{}"\n---\nDo the first thing.\n'
_OPEN = {
    "active": True,
    "iteration": 2,
    "maxIterations": 5,
    "completionPromise": "ALL",
    "prompt": "Do it.\nAll of it.",
}
_YML = """\
cli:
  backend: "{}"
event_loop:
  prompt_file: "{}"
  completion_promise: "ALL"
  max_iterations: 9
  max_runtime_seconds: 7200
  max_cost_usd: 3
"""


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def dry(folder: Path, *options: str) -> tuple[int, str, str]:
    done = command.run(["run", "--dry-run", *options], cwd=folder, env=os.environ)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin/claude"
    write(tmp_path, "bin/claude", _CLAUDE)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program


CASES = {
    ".sisyphus/ralph-loop.local.md": (
        _FRONT.format("ALL"), "oh-my-opencode", "promise ALL, 7 iterations", "opencode",
    ),
    ".opencode/ralph-loop.local.md": (
        "\ufeff---\nactive: true\niteration: 0\nmaxIterations: 7\nsessionId: ses_1\n---\n\nDo the first thing.\n",
        "a plugin of opencode", "7 iterations", "opencode",
    ),
    ".claude/ralph-loop.local.md": (
        _FRONT.format("ALL"), "Claude Code's ralph plugin", "promise ALL, 7 iterations", "claude",
    ),
    ".claude/loop.md": ("Do the first thing.\n", "Claude Code's /loop", "", "claude"),
    ".ralph/ralph-loop.state.json": (
        json.dumps({**_OPEN, "prompt": "Do the first thing.", "agent": "codex"}),
        "open-ralph", "promise ALL, 5 iterations", "codex",
    ),
    "ralph.yml": (
        "event_loop:\n  prompt: Do the first thing.\n  completion_promise: ALL\ncli: {backend: gemini}\n",
        "ralph-orchestrator", "promise ALL, 100 iterations", "gemini",
    ),
}  # fmt: skip


@pytest.mark.parametrize("file", CASES)
def test_its_prompt_is_that_of_the_command_and_one_line_says_what_was_taken(tmp_path: Path, file: str) -> None:
    text, tool, limits, program = CASES[file]
    write(tmp_path, file, text)
    status, out, err = dry(tmp_path)
    assert status == 0, err
    assert out.startswith(f"{program} ")
    assert "Do the first thing." in out
    assert "max_iterations" not in out
    assert [line for line in err.splitlines() if f"from {file} ({tool}): prompt" in line and limits in line], err
    assert (tmp_path / file).read_text() == text
    assert {path.name for path in tmp_path.iterdir()} == {file.split("/")[0]}, "a dry run writes nothing"


def test_a_loop_of_its_own_words_ends_by_its_promise_and_changes_nothing_of_it(
    tmp_path: Path, claude: Path
) -> None:
    project = tmp_path / "project"
    text = json.dumps({**_OPEN, "agent": "claude-code"})
    write(project, ".ralph/ralph-loop.state.json", text)
    with Loop.open(project, max_idle=0) as loop:
        events = list(loop)
    assert loop.setup == "plain"
    assert loop.ended is not None
    assert (loop.ended.exit_code, loop.ended.iterations) == (0, 1)
    told = [each.text for each in events if isinstance(each, Notice)]
    assert any("from .ralph/ralph-loop.state.json (open-ralph)" in each for each in told)
    argv = claude.with_name("claude.said.0").read_text().split("\0")
    assert "Do it.\nAll of it." in argv
    assert any("<promise>ALL</promise>" in each for each in argv), "each turn is told how to end it"
    assert (project / ".ralph/ralph-loop.state.json").read_text() == text


def test_an_orchestrators_limits_hold_and_those_of_the_command_line_are_stronger(tmp_path: Path) -> None:
    write(tmp_path, "ralph.yml", _YML.format("claude", "GOAL.md") + "hats:\n  planner: {}\n  coder: {}\n")
    write(tmp_path, "GOAL.md", "Reach it.\n")
    write(tmp_path, "PROMPT.md", "Not this.\n")
    _, out, err = dry(tmp_path)
    assert "Reach it." in out
    took = "prompt GOAL.md, promise ALL, 9 iterations, 120 minutes, $3, driver claude-code"
    assert f"from ralph.yml (ralph-orchestrator): {took}; not taken: its 2 hats (planner, coder)" in err
    _, out, err = dry(tmp_path, "--driver", "codex", "--max-iterations", "2", "--max-cost", "1")
    assert out.startswith("codex ")
    assert "from ralph.yml (ralph-orchestrator): prompt GOAL.md, promise ALL, 120 minutes;" in err
    _, out, err = dry(tmp_path, "--prompt", "PROMPT.md")
    assert "Not this." in out
    assert "ralph.yml" not in err


def test_tasks_of_open_ralph_are_the_plan(tmp_path: Path) -> None:
    write(tmp_path, ".ralph/ralph-loop.state.json", json.dumps({**_OPEN, "tasksMode": True, "minIterations": 3}))
    write(tmp_path, ".ralph/ralph-tasks.md", "- [ ] the first\n- [x] another\n")
    _, out, err = dry(tmp_path)
    assert "The tasks are the boxes of .ralph/ralph-tasks.md" in out
    assert "the first" in out
    assert "tasks .ralph/ralph-tasks.md; not taken: its least number of iterations (3)" in err


def test_a_prompt_of_ones_own_counts_before_a_state_file_which_can_be_named(tmp_path: Path) -> None:
    write(tmp_path, ".sisyphus/ralph-loop.local.md", _FRONT.format("ALL"))
    write(tmp_path, "PROMPT.md", "My own.\n")
    assert "My own." in dry(tmp_path)[1]
    _, out, err = dry(tmp_path, "--prompt", ".sisyphus/ralph-loop.local.md")
    assert "Do the first thing." in out
    assert "max_iterations" not in out
    assert "promise ALL" in err


def test_two_of_them_are_a_question(tmp_path: Path) -> None:
    write(tmp_path, ".sisyphus/ralph-loop.local.md", _FRONT.format("ALL"))
    write(tmp_path, ".claude/loop.md", "Do.\n")
    status, _, err = dry(tmp_path)
    assert status == 2
    assert (
        "holds several loops of other tools: .sisyphus/ralph-loop.local.md (oh-my-opencode), .claude/loop.md" in err
    )
    assert dry(tmp_path, "--prompt", ".claude/loop.md")[0] == 0


def test_a_workflow_or_another_file_of_that_name_is_no_loop(tmp_path: Path) -> None:
    write(tmp_path, "ralph.yml", "name: Ralph\non: push\n")
    write(tmp_path, "PROMPT.md", "My own.\n")
    status, out, err = dry(tmp_path)
    assert (status, "My own." in out, "ralph.yml" in err) == (0, True, False)


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("ralph.yml", _YML.format("claude", "MISSING.md"), "ralph.yml line 4: prompt_file MISSING.md: there"),
        ("ralph.yml", _YML.format("claude", "/etc/passwd"), "line 4: prompt_file /etc/passwd: a file of the"),
        ("ralph.yml", _YML.format("claude", "../x"), "prompt_file ../x: a file of the project"),
        ("ralph.yml", "max_iterations: many\n", "ralph.yml line 1: max_iterations is 'many', expected a"),
        ("ralph.yml", "agent: x\nprompt: [1]\n", "ralph.yml line 2: prompt is [1], expected a text"),
        ("ralph.yml", "agent: 'x\n", "ralph.yml line 2: no YAML"),
        ("ralph.yml", "agent: x\nevent_loop: 3\n", "ralph.yml line 2: event_loop is 3, expected a section"),
        (".ralph/ralph-loop.state.json", '{\n"prompt": \n', ".ralph/ralph-loop.state.json line 3: no JSON"),
        (".ralph/ralph-loop.state.json", '{\n"prompt": " "}', "line 2: prompt is ' ', expected the prompt"),
        (
            ".ralph/ralph-loop.state.json", '{"prompt": "x",\n"maxIterations": -1}',
            "line 2: maxIterations is -1, expected a whole number from 0",
        ),
        (".ralph/ralph-loop.state.json", "[]", "an object is expected"),
        (".sisyphus/ralph-loop.local.md", "Do it.", "has no front matter between two lines of ---"),
        (".sisyphus/ralph-loop.local.md", "---\nactive: true\n---\n\n", "holds no prompt behind its front matter"),
        (
            ".opencode/ralph-loop.local.md", "---\nactive: true\nmaxIterations: all\n---\nDo",
            ".opencode/ralph-loop.local.md line 3: max_iterations is 'all', expected a whole number",
        ),
        (".claude/loop.md", " \n", "the prompt .claude/loop.md is empty"),
    ],
)  # fmt: skip
def test_what_cant_be_used_is_named_with_file_line_value_and_next_step(
    tmp_path: Path, file: str, text: str, words: str
) -> None:
    write(tmp_path, file, text)
    status, _, err = dry(tmp_path)
    assert status == 2
    assert words in err
    assert "next: " in err
    assert "Traceback" not in err
