"""A turn ends when its CLI has answered, or prints nothing for too long; whatever its process does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.examples import Project

STAYS = {
    "quietly": "work; exec sleep 300",
    "deaf": "work; trap '' INT TERM; while :; do sleep 300; done",
    "with a child that prints": "work; while :; do echo 'GET / 200'; sleep 0.05; done",
    "without a newline": 'touched; printf %s "$(say done)"; exec sleep 300',
    "with a second answer": "say 'Not yet.'; sleep 0.1; work; exec sleep 300",
}


@pytest.mark.parametrize("stays", STAYS)
def test_a_cli_that_has_answered_and_stays(night: Project, stays: str) -> None:
    night.turns(STAYS[stays], otherwise=STAYS[stays])
    loop = night.start("--timeout", "1", "--max-iterations", "2", RALPH_BRIDGE_ANSWERED_SECONDS="0.4")
    assert loop.finished() == night.example.used_up, loop.said
    assert night.begun() == 2
    assert [each["result"] for each in night.turn_records()] == ["success"] * 2
    assert night.alive() == []


def test_what_it_has_answered_counts(night: Project) -> None:
    done = f"touched; {night.example.done}; exec sleep 300"
    night.turns(done, done, otherwise=done)
    loop = night.start("--timeout", "1", "--max-iterations", "5", RALPH_BRIDGE_ANSWERED_SECONDS="0.4")
    assert loop.finished() == 0, loop.said
    assert night.begun() == (2 if night.example.twice else 1)


def test_an_error_that_it_has_answered_counts_as_one(night: Project) -> None:
    night.turns("say 'It broke.' true; exec sleep 300")
    loop = night.start(
        "--timeout", "1", "--max-iterations", "2", "--retry-delay", "0", RALPH_BRIDGE_ANSWERED_SECONDS="0.4"
    )
    loop.finished()
    assert [each["result"] for each in night.turn_records()][:2] == ["failed", "success"]


def test_what_it_says_when_its_time_is_up_is_no_answer(night: Project) -> None:
    """Kimi prints the half of an answer that it has at TERM, as the whole."""
    night.turns("trap 'say Half.; exit 0' INT TERM; while :; do sleep 0.05; done")
    loop = night.start("--timeout", "0.05", "--max-iterations", "2", "--retry-delay", "0")
    loop.finished()
    assert night.turn_records()[0]["result"] == "timeout", loop.said


def test_a_turn_that_prints_nothing(night: Project) -> None:
    night.turns("hang")
    # Longer than a turn takes to begin on a busy machine.
    loop = night.start("--max-silence", "0.05", "--max-iterations", "3", "--retry-delay", "0")
    assert loop.finished() == night.example.used_up, loop.said
    results = [each["result"] for each in night.turn_records()]
    assert results == ["timeout", *["success"] * (night.begun() - 1)]
    assert "it printed nothing for too long" in str(night.turn_records()[0])
    assert "ran for too long" not in loop.said + night.logged()
