"""Prompts that are no ordinary arguments, with the real CLIs (D7 and D15)."""

from __future__ import annotations

import pytest

from bridge.verify.rehearsal.scenario import ModelTurn
from tests.real.conftest import QUICK, Stage, asked, says, told

pytestmark = pytest.mark.real
driver = pytest.mark.parametrize("driver", QUICK)
LARGE = '- [ ] "a large prompt"\n' + "A line of a very large prompt: é, $HOME, `x`.\n" * 6000 + "THE END"
ODD = '---\ntitle: "it\'s"\n---\n\n- [ ] back\\slash, $HOME, `ticks`, 100 %, é\n\tand a tab'


@pytest.mark.parametrize("driver", [name for name in QUICK if name != "kimi"])
def test_a_prompt_of_more_than_128_kib_arrives_whole_on_stdin_d15(stage: Stage, driver: str) -> None:
    stage.write("PROMPT.md", LARGE)
    done = stage.loop(driver, turns=[says("Read.", signal=True)])
    assert done.status == 0, told(done)
    assert LARGE in asked(done)[0]


def test_a_prompt_of_more_than_128_kib_is_none_for_kimi_d15(stage: Stage) -> None:
    stage.write("PROMPT.md", LARGE)
    done = stage.loop("kimi")
    assert (done.status, list(done.requests)) == (2, [])
    assert "Kimi Code takes a prompt as an argument only" in told(done)


def test_a_large_prompt_goes_into_a_session_that_is_resumed_d15(stage: Stage) -> None:
    stage.write("PROMPT.md", LARGE)
    done = stage.loop("codex", turns=[says("Read."), says("Again.", signal=True)])
    assert done.status == 0, told(done)
    assert asked(done)[1].count("THE END") == 2


@driver
def test_a_prompt_that_begins_with_a_dash_arrives_as_it_is_d7_d15(stage: Stage, driver: str) -> None:
    stage.write("PROMPT.md", ODD)
    # Without a context before it, as in the first run of a loop without a plan.
    (stage.project / "@fix_plan.md").unlink()
    done = stage.loop(driver, "--no-continue", turns=[says("Read.", signal=True)])
    assert done.status == 0, told(done)
    assert ODD in asked(done)[0]


@driver
def test_an_empty_prompt_is_refused_before_the_start_d15(stage: Stage, driver: str) -> None:
    stage.write("PROMPT.md", "\n  \n")
    done = stage.loop(driver)
    assert (done.status, list(done.requests)) == (2, [])
    assert "the prompt PROMPT.md is empty" in told(done)


def test_a_foreign_driver_is_told_why_a_large_prompt_can_not_be_d15(stage: Stage) -> None:
    stage.write("PROMPT.md", LARGE)
    script = stage.write("foreign.sh", FOREIGN)
    done = stage.loop(str(script), turns=[ModelTurn(text="never")])
    assert (done.status, list(done.requests)) == (2, [])
    assert "128 KiB" in told(done)


FOREIGN = """\
driver_name() { echo foreign; }
driver_display_name() { echo Foreign; }
driver_cli_binary() { echo codex; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(); }
driver_build_command() { CLAUDE_CMD_ARGS=(codex exec --json "$(cat "$1")"); }
"""
