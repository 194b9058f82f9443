"""claude-code.sh: argv, the allowlist and the live variant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.scripts.driver import Driver

if TYPE_CHECKING:
    from pathlib import Path

    from tests.drivers.conftest import Drivers

LIVE = (b"--verbose", b"--include-partial-messages")


def test_whole_command(drivers: Drivers) -> None:
    command = drivers.command(
        "claude-code", b"P\n", "C", "S", CLAUDE_ALLOWED_TOOLS="Write,Read", CLAUDE_PERMISSION_MODE="plan"
    )
    assert b" ".join(command) == (
        b"claude --output-format json --permission-mode plan --allowedTools Write Read"
        b" --resume S --append-system-prompt C -p P"
    )


def test_defaults(drivers: Drivers) -> None:
    command = drivers.command("claude-code", b"P", CLAUDE_OUTPUT_FORMAT="text")
    assert command == [b"claude", b"--permission-mode", b"bypassPermissions", b"-p", b"P"]


@pytest.mark.parametrize(
    ("setting", "tools"),
    [
        ("Read", ["Read"]),
        (" Read ,\tWrite\n, ,,Bash(npm *),", ["Read", "Write", "Bash(npm *)"]),
        (" , ", []),
        ("Bash(git add, git commit),Read", ["Bash(git add, git commit)", "Read"]),
        ("Bash(f(a,b), c), *", ["Bash(f(a,b), c)", "*"]),
        ("Bash(git add, Read", ["Bash(git add", "Read"]),
        ("a),b(,c", ["a)", "b(", "c"]),
        ("$(id),`id`,$HOME,~", ["$(id)", "`id`", "$HOME", "~"]),
        ("mcp__x__y,Bash(é *)", ["mcp__x__y", "Bash(é *)"]),
    ],
)
def test_allowlist(drivers: Drivers, setting: str, tools: list[str]) -> None:
    for name in ("a", "Read", "Bash(npm x)"):
        (drivers.folder / name).touch()
    command = drivers.command("claude-code", CLAUDE_ALLOWED_TOOLS=setting)
    given = command[5 : command.index(b"-p")]
    assert given == ([b"--allowedTools", *(tool.encode() for tool in tools)] if tools else [])


def test_live_transform(drivers: Drivers) -> None:
    live = drivers.live("claude-code", "claude", "--output-format", "json", "--permission-mode", "plan", "-p", "P")
    assert live == [
        b"claude",
        b"--output-format",
        b"stream-json",
        b"--permission-mode",
        b"plan",
        b"-p",
        b"P",
        *LIVE,
    ]


@pytest.mark.parametrize("words", ["json", "--output-format", "--resume"])
def test_live_transform_leaves_texts_alone(drivers: Drivers, words: str) -> None:
    command = [
        "claude",
        "--output-format",
        "json",
        "--resume",
        words,
        "--append-system-prompt",
        words,
        "-p",
        "json",
    ]
    live = drivers.live("claude-code", *command)
    assert live == [
        b"claude",
        b"--output-format",
        b"stream-json",
        *(word.encode() for word in command[3:]),
        *LIVE,
    ]


def test_d16_live_works_with_text_format(drivers: Drivers) -> None:
    live = drivers.live("claude-code", "claude", "--permission-mode", "plan", "-p", "P")
    assert live == [
        b"claude",
        b"--permission-mode",
        b"plan",
        b"-p",
        b"P",
        b"--output-format",
        b"stream-json",
        *LIVE,
    ]
    live = drivers.live("claude-code", "claude", "--output-format", "text", "-p", "P")
    assert live == [b"claude", b"--output-format", b"stream-json", b"-p", b"P", *LIVE]


def test_d15_live_options_go_before_the_two_dashes(drivers: Drivers) -> None:
    command = drivers.command("claude-code", b"--output-format", "--", CLAUDE_PERMISSION_MODE="plan")
    assert drivers.live("claude-code", *command) == [
        *(b"claude", b"--output-format", b"stream-json", b"--permission-mode", b"plan"),
        *(b"--append-system-prompt", b"--", b"-p", *LIVE, b"--", b"--output-format"),
    ]


@pytest.mark.parametrize(
    ("offer", "session", "context", "stdin"),
    [
        ("auto", "S", "it's $(new)\n\u00e9", "it's $(new)\n\u00e9"),
        ("true", "S", "C", "- P\n\nC"),
        ("true", "S", "", "- P"),
        ("auto", "S", "", ""),
        ("auto", "", "C", ""),
        ("", "S", "C", ""),
    ],
)
def test_g_d20_a_session_that_is_resumed_reads_its_new_context_on_stdin(
    tmp_path: Path, offer: str, session: str, context: str, stdin: str
) -> None:
    """claude 2.1.330 drops a system prompt that isn't the session's first; the arguments stay what they were."""
    path = tmp_path / "PROMPT.md"
    path.write_text("- P\n")
    with Driver.load("claude-code") as driver:
        driver.set("CLAUDE_USE_CONTINUE", "true")
        usual = driver.build_command(str(path), context, session)
        if offer:
            driver.offer_stdin(offer)
        argv = driver.build_command(str(path), context, session)
        assert driver.command_stdin() == stdin
    assert argv == (usual if offer != "true" else usual[: usual.index("-p") + 1])


def test_t8_what_the_original_loop_appends_stays_at_the_end(drivers: Drivers) -> None:
    live = drivers.live(
        "claude-code", "claude", "--output-format", "json", "-p", "P", "--append-system-prompt", "json"
    )
    assert live[3:] == [b"-p", b"P", b"--append-system-prompt", b"json", *LIVE]


def test_filter_shows_everything_once(drivers: Drivers, events: Path) -> None:
    shown = drivers.shown("claude-code", (events / "claude-code.jsonl").read_bytes())
    assert shown == "Reading it.\n\n⚡ [Read]\n\n"
