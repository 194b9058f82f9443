"""What the user's configuration says of a tool that stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.errors import ConfigurationError
from bridge.loop.setups.further_tools import ToolSettings, parse_tool, tool_settings
from tests import examples
from tests.night.test_fallback import LIMITED, install

if TYPE_CHECKING:
    from pathlib import Path


def said(home: Path, tool: str, text: str) -> ToolSettings:
    path = home / ".config/ralph-bridge/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return tool_settings({"HOME": str(home)}, parse_tool(tool, "--fallback"))


def test_a_tool_with_its_model_has_its_own_settings_before_those_of_the_tool(tmp_path: Path) -> None:
    text = (
        '[tools."driver:codex"]\nprice_in = 1\nprice_out = 2.5\n'
        '[tools."driver:codex@mini"]\nallowed_tools = "Read"\n'
    )
    assert said(tmp_path, "codex", text).prices == (1, 2.5)
    assert said(tmp_path, "driver:codex@large", text).prices == (1, 2.5)
    mini = said(tmp_path, "codex@mini", text)
    assert (mini.prices, mini.globals["CLAUDE_ALLOWED_TOOLS"]) == (None, "Read")
    assert said(tmp_path, "agent:codex", text) == ToolSettings()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("price_in = 1", "one price without the other"),
        ("price_in = -1\nprice_out = 1", "expected a number from 0"),
        ("price = 1", "there is no such setting"),
        ("allowed_tools = 3", "expected a text"),
        ('set = {"no name" = "x"}', "expected names with texts"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(ConfigurationError, match=wrong) as caught:
        said(tmp_path, "codex", f'[tools."driver:codex"]\n{text}\n')
    assert "config.toml" in str(caught.value)


def test_a_stand_in_goes_by_its_own_settings_and_prices(tmp_path: Path) -> None:
    config = tmp_path / "config/ralph-bridge/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        '[tools."driver:codex"]\nprice_in = 100000\nprice_out = 0\n'
        '[tools."driver:claude-code@haiku"]\npermission_mode = "plan"\nallowed_tools = "Read"\n'
    )
    with examples.project(examples.EXAMPLES["plain"], tmp_path / "own") as night:
        install(night, LIMITED)
        night.turns("limited 600", 'printf "%s\\n" "$@" > "$kept/turn.$turn/arguments"; work')
        words = ("--max-iterations", "2", "--fallback", "codex,claude-code@haiku", "--max-cost", "0.9")
        shown = night.start(*words, "--dry-run", XDG_CONFIG_HOME=str(tmp_path / "config"))
        assert shown.finished() == 0, shown.said
        assert "further tools: at a limit driver codex, driver claude-code@haiku" in shown.said
        loop = night.start(*words, XDG_CONFIG_HOME=str(tmp_path / "config"))
        assert loop.finished() == 1, loop.said
        given = night.of_turn(2, "arguments").splitlines()
        assert {"plan", "haiku"} <= {*given}, loop.said
        assert "Read" in given
    with examples.project(examples.EXAMPLES["plain"], tmp_path / "priced") as night:
        install(night)
        night.turns("limited 600")
        loop = night.start("--fallback", "codex", "--max-cost", "0.7", XDG_CONFIG_HOME=str(tmp_path / "config"))
        assert loop.finished() == 1, loop.said
        assert [each["cost_usd"] for each in night.turn_records()] == [0.25, 0.5]  # five tokens in
        assert "max_cost" in loop.said


CAPPED = '[tools."driver:codex"]\nmax_tokens = 10\nprompt = "PROMPT.codex.md"\n'


def test_a_stand_in_has_its_own_cap_and_prompt(tmp_path: Path) -> None:
    """Behind its cap the loop waits for its own tool, and a run that was cut off goes on counting."""
    config = tmp_path / "config/ralph-bridge/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(CAPPED)
    with examples.project(examples.EXAMPLES["plain"], tmp_path / "own") as night:
        install(night)
        night.turns("limited 600")
        words = ("--fallback", "codex", "--max-iterations", "4")
        loop = night.start(*words, XDG_CONFIG_HOME=str(tmp_path / "config"))
        assert loop.finished() == 2, loop.said
        assert "the prompt of driver codex: there is no file PROMPT.codex.md" in loop.said
        night.write("PROMPT.codex.md", "Of codex alone.\n")
        for _ in range(2):
            loop = night.start(*words, XDG_CONFIG_HOME=str(tmp_path / "config"))
            seen = night.status_when(lambda seen: seen["state"] == "waiting")
            assert "driver codex has used 11 of its 10 tokens" in seen["waiting"]["detail"], seen
            loop.kill()
            loop.finished()
            assert [each["tool"] for each in night.turn_records()].count("driver codex") == 1
        assert "Of codex alone." in (night.kept / "codex.1/arguments").read_text()


def test_a_cap_that_nobody_can_hold_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "config/ralph-bridge/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[tools."driver:codex"]\nmax_cost = 1\n')
    with examples.project(examples.EXAMPLES["plain"], tmp_path / "own") as night:
        install(night)
        loop = night.start("--fallback", "codex", XDG_CONFIG_HOME=str(tmp_path / "config"))
        assert loop.finished() == 2, loop.said
        assert "codex never tells what it costs" in loop.said
