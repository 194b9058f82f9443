"""Which calls of a CLI are turns, and where their prompt is."""

from __future__ import annotations

import pytest

from bridge.loop.setups.script.calls import form_of

HEADLESS = [
    ("claude -p|go on", "go on"),
    ("claude -p --model opus --dangerously-skip-permissions|go on", "go on"),
    ("claude --print --allowedTools|Bash(git *)|Edit|--output-format json|go on", "go on"),
    ("claude|go on|-p --verbose", "go on"),
    ("claude -cp|go on", "go on"),
    ("claude -p --|- [ ] a task", "- [ ] a task"),
    ("claude -p --resume 5f0c2a9e|go on", "go on"),
    ("codex exec --full-auto -m gpt-5|go on", "go on"),
    ("codex exec --json resume 01a2|go on", "go on"),
    ("codex e --json resume --last|go on", "go on"),
    ("codex --sandbox read-only exec|go on", "go on"),
    ("opencode run --model a/b|go on", "go on"),
    ("gemini -y -p|go on", "go on"),
    ("gemini --prompt=|go on", "go on"),
    ("qwen --prompt|- [ ] a task|-y", "- [ ] a task"),
    ("copilot --allow-all-tools -p|go on", "go on"),
    ("cursor-agent -p --force --output-format text|go on", "go on"),
    ("agent -p|go on", "go on"),
    ("droid exec --auto high|go on", "go on"),
    ("amp --dangerously-allow-all -x|go on", "go on"),
    ("kimi --print -p|go on", "go on"),
    ("pi --mode json -p|go on", "go on"),
    ("npx -y @anthropic-ai/claude-code@latest -p|go on", "go on"),
    ("npx --yes --package=x @openai/codex exec|go on", "go on"),
    ("bunx @anthropic-ai/claude-code -p|go on", "go on"),
    ("pnpm dlx opencode-ai run|go on", "go on"),
    ("docker sandbox run claude --permission-mode acceptEdits -p|go on", "go on"),
    ("docker sandbox run claude . -- --verbose --print|go on", "go on"),
    ("sbx run claude-mine . -p|go on", "go on"),
    ("claude -p", None),
    ("claude --dangerously-skip-permissions -p --output-format stream-json --verbose", None),
    ("codex exec --json -", None),
    ("codex exec", None),
    ("droid exec -f|PROMPT.md", None),
    ("amp -x", None),
]


def words(line: str) -> list[str]:
    first, *rest = line.split("|")
    argv = first.split()
    for each in rest:
        if argv[-1].endswith("="):
            argv[-1] += each
        elif each[:1] == "-" and not each.startswith("- "):
            argv += each.split()
        else:
            argv.append(each)
    return argv


@pytest.mark.parametrize(("line", "prompt"), HEADLESS)
def test_a_call_that_answers_and_ends_is_a_turn(line: str, prompt: str | None) -> None:
    argv = words(line)
    form = form_of(argv, terminal=True)
    assert form is not None
    found = None if form.prompt is None else argv[form.prompt][form.before :]
    assert found == prompt


@pytest.mark.parametrize(
    "line",
    [
        "claude", "claude --version", "claude -p --help", "claude mcp list", "claude doctor", "claude update",
        "claude|do it with me", "codex", "codex login status", "codex --version", "codex mcp add x",
        "opencode", "opencode models", "opencode serve", "gemini mcp list", "gemini -i|go on", "copilot",
        "cursor-agent login", "npx create-next-app", "npx -y some-mcp claude", "npm run build", "bun test",
        "make", "amp login", "droid", "pi",
    ],
)  # fmt: skip
def test_all_other_calls_are_not(line: str) -> None:
    assert form_of(words(line), terminal=True) is None


@pytest.mark.parametrize("line", ["claude|go on", "gemini|go on", "qwen", "cursor-agent|go on", "amp"])
def test_some_answer_and_end_where_their_stdout_is_no_terminal(line: str) -> None:
    argv = words(line)
    assert form_of(argv, terminal=False) is not None
    assert form_of(argv, terminal=True) is None
