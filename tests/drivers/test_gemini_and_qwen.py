"""gemini.sh and qwen.sh: argv and what is shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.drivers.conftest import Drivers

RECORDINGS = Path(__file__).parents[1] / "data" / "recordings"
GEMINI = [b"gemini", b"--output-format", b"stream-json", b"--approval-mode", b"yolo", b"--skip-trust"]
QWEN = [b"qwen", b"--output-format", b"json", b"--approval-mode", b"yolo"]
BOTH = pytest.mark.parametrize(("driver", "usual"), [("gemini", GEMINI), ("qwen", QWEN)])


@BOTH
def test_the_command(drivers: Drivers, driver: str, usual: list[bytes]) -> None:
    assert drivers.command(driver, b"P\n") == [*usual, b"--prompt", b"P"]
    assert drivers.command(driver, b"P\n", "C", "S") == [*usual, b"--resume", b"S", b"--prompt", b"C\n\nP"]


@BOTH
def test_on_stdin_the_prompt_is_there_alone(drivers: Drivers, driver: str, usual: list[bytes]) -> None:
    """With the option as well both would arrive, one behind the other."""
    assert drivers.command(driver, b"- P\n", "C", PROMPT_ON_STDIN="true") == usual
    snippet = 'driver_build_command "$@"; printf %s "$CLAUDE_CMD_STDIN"'
    done = drivers.run(driver, snippet, drivers.prompt(b"- P\n"), "C", settings={"PROMPT_ON_STDIN": "true"})
    assert done.stdout == b"C\n\n- P"


def test_a_long_prompt_is_not_repeated_in_geminis_output(drivers: Drivers) -> None:
    """What a pipe doesn't take at once of such a line is lost, and so is the answer (gemini 0.61)."""
    command = drivers.command("gemini", b"x" * 16_001)
    assert command[1:3] == [b"--output-format", b"json"]
    assert drivers.live("gemini", *command) == command


def test_geminis_live_command_is_the_same(drivers: Drivers) -> None:
    assert drivers.live("gemini", "gemini", "a b", "", "*") == [b"gemini", b"a b", b"", b"*"]


def test_qwens_live_command_asks_for_events(drivers: Drivers) -> None:
    words = ("qwen", "--output-format", "json", "--resume", "--output-format", "--prompt", "json")
    live = (b"stream-json", b"--include-partial-messages", b"--resume", b"--output-format", b"--prompt", b"json")
    assert drivers.live("qwen", *words) == [b"qwen", b"--output-format", *live]


@pytest.mark.parametrize(("driver", "recording"), [("gemini", "gemini-live"), ("qwen", "qwen-live-partial")])
def test_what_is_shown(drivers: Drivers, driver: str, recording: str) -> None:
    """Each text once, the tool's name, and not the prompt, which gemini repeats, nor thoughts."""
    shown = drivers.shown(driver, (RECORDINGS / f"{recording}.out").read_bytes())
    first, _, second = shown.partition("\u26a1 [write_file]\n")
    assert first.strip() == "I will write the file."
    assert second.lstrip().startswith("I implemented the greeting and all tests pass.\n\n---RALPH_STATUS---\n")
    assert second.endswith("<promise>COMPLETE</promise>\n\n")
    assert shown.count("I implemented") == 1
    assert "think" not in shown
