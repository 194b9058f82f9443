"""B4: a turn, or a hook, that hangs is ended, and the loop goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.examples import Project


@pytest.mark.parametrize(
    "ignores", ["", pytest.param("trap '' INT TERM; ", marks=pytest.mark.slow)], ids=["hangs", "ignores-signals"]
)
def test_a_turn_that_hangs(night: Project, ignores: str) -> None:
    night.turns(f"{ignores}leave; hang")
    loop = night.start("--timeout", "0.01", "--max-iterations", "3", "--retry-delay", "0")
    assert loop.finished() == night.example.used_up, loop.said
    assert night.begun() >= 3
    results = [each["result"] for each in night.turn_records()]
    assert results == ["timeout", *["success"] * (night.begun() - 1)]
    assert night.alive() == []


@pytest.mark.parametrize(
    "hook", [pytest.param("agent_pre_iteration", marks=pytest.mark.slow), "agent_post_iteration"]
)
def test_a_hook_that_hangs(agents_night: Project, hook: str) -> None:
    night = agents_night
    night.agent(f'{hook}() {{ [ -e "$HOOKED" ] || {{ touch "$HOOKED"; sleep 300; }}; }}\n')
    hooked = night.kept / "hooked"
    loop = night.start("--max-iterations", "3", HOOKED=str(hooked), RALPH_BRIDGE_HOOK_SECONDS="2")
    loop.until(lambda: f"{hook} has been running for 1 s" in night.logged(), "the hook is named")
    assert loop.finished() == night.example.used_up, loop.said
    assert f"{hook} was ended: it took longer than 2 s" in loop.said
    assert night.begun() == 3
    assert [each["result"] for each in night.turn_records()] == ["success"] * 3
