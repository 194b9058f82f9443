"""Which part of a command line is the CLI's own, and what a script's text says about it."""

from __future__ import annotations

import pytest

from bridge.verify.drift.commands import commands_in_text, program_in
from bridge.verify.facts import facts_of

OWN = ["claude", "-p", "do it"]


@pytest.mark.parametrize(
    "before",
    [
        [],
        ["env", "A=1", "-u", "B", "--"],
        ["timeout", "600"],
        ["/usr/bin/timeout", "-k", "5", "--signal=TERM", "10m", "env", "A=-x"],
        ["nice", "-n", "5", "stdbuf", "-oL"],
        ["nohup"],
        ["npx", "-y"],
        ["bunx", "--package", "@anthropic-ai/claude-code"],
        ["./wrapper.sh", "--its-own"],
    ],
)
def test_what_starts_the_cli_is_none_of_it(before: list[str]) -> None:
    assert program_in([*before, *OWN], "/opt/bin/claude") == OWN


def test_npm_has_other_names() -> None:
    assert program_in(["npx", "@anthropic-ai/claude-code@2.1.197", "-p"], "claude") == ["claude", "-p"]
    assert program_in(["npx", "--no-install", "cline@latest", "-y"], "") == ["cline", "-y"]


@pytest.mark.parametrize("argv", [["codex", "exec"], ["bash", "-c", 'exec claude "$@"', "x"], ["timeout"], []])
def test_where_the_cli_is_not_to_be_seen(argv: list[str]) -> None:
    assert program_in(argv, "claude") is None


GLOBALS: dict[str, str | list[str]] = {
    "AGENT_CLI": "agent",
    "ARGS": "-x --json",
    "LIST": ["--model", "a b"],
    "MODEL": "big model",
}


@pytest.mark.parametrize(
    ("call", "argv"),
    [
        ('agent -p --json "$(cat "$1")"', ["agent", "-p", "--json", "x"]),
        ('cat "$1" | $AGENT_CLI $ARGS', ["agent", "-x", "--json"]),
        ('timeout 9 env A=1 "${AGENT_CLI}" "${LIST[@]}" -', ["agent", "--model", "a b", "-"]),
        ('agent --model "$MODEL" "--id=$2" -p', ["agent", "--model", "big model", "--id=x", "-p"]),
        ("agent -a $unknown --never-seen", ["agent", "-a"]),
        ('agent -a "$@" --never-seen', ["agent", "-a"]),
        ("agent -p 'say $HOME' -x", ["agent", "-p", "say $HOME", "-x"]),
    ],
)
def test_a_call_in_the_text_is_read_as_far_as_it_can_be_told(call: str, argv: list[str]) -> None:
    facts = facts_of(f"agent_invoke() {{\n    {call}\n}}\n".encode())
    assert commands_in_text(facts, "agent", GLOBALS.get) == {"agent_invoke, line 2": argv}


def test_what_only_names_the_cli_is_no_call() -> None:
    script = b'command -v agent >/dev/null\ntype agent\necho agent --nothing\nlog "agent --nothing"\n'
    assert commands_in_text(facts_of(script), "agent", GLOBALS.get) == {}
