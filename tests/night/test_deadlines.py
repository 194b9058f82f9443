"""B4: a turn, or a hook, that hangs is ended, and the loop goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.night.kinds import Night


@pytest.mark.parametrize("ignores", ["", "trap '' INT TERM; "], ids=["", "ignores-signals"])
def test_a_turn_that_hangs(night: Night, ignores: str) -> None:
    night.turns(f"{ignores}leave; hang")
    loop = night.start("--timeout", "0.01", "--max-iterations", "3", "--retry-delay", "0")
    assert loop.finished() == night.kind.used_up, loop.said
    assert night.begun() >= 3
    results = [each["result"] for each in night.turn_records()]
    assert results == ["timeout", *["success"] * (night.begun() - 1)]
    assert night.alive() == []


def test_a_hook_that_hangs(agents_night: Night) -> None:
    night = agents_night
    hook = 'agent_post_iteration() { [ -e "$HOOKED" ] || { echo $BASHPID > "$HOOKED"; sleep 300; }; }\n'
    night.agent(hook)
    hooked = night.kept / "hooked"
    loop = night.start("--max-iterations", "3", HOOKED=str(hooked), RALPH_BRIDGE_HOOK_SECONDS="2")
    loop.until(lambda: "agent_post_iteration has been running for" in night.logged(), "the hook is named")
    assert loop.finished() == night.kind.used_up, loop.said
    assert "agent_post_iteration was ended: it took longer than 2 s" in loop.said
    assert night.begun() == 3
    assert [each["result"] for each in night.turn_records()] == ["success"] * 3


def test_a_hook_that_hangs_before_the_turn(agents_night: Night) -> None:
    night = agents_night
    night.agent('agent_pre_iteration() { [ -e "$HOOKED" ] || { touch "$HOOKED"; sleep 300; }; }\n')
    loop = night.start("--max-iterations", "2", HOOKED=str(night.kept / "hooked"), RALPH_BRIDGE_HOOK_SECONDS="0.5")
    assert loop.finished() == night.kind.used_up, loop.said
    assert "agent_pre_iteration was ended: it took longer than 0.5 s" in loop.said
    assert night.begun() == 2
