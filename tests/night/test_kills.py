"""B7: killed with -9 at any moment, its state is readable, its agent gone, and the next run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.loop.engine.lock import standing
from tests.examples import lives, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.examples import Project


def _in_the_first_turn(night: Project) -> bool:
    return bool(night.of_turn(1, "began"))


def _between_turns(night: Project) -> bool:
    return bool(night.of_turn(1, "ended"))


def _in_a_later_turn(night: Project) -> bool:
    return bool(night.of_turn(3, "began"))


def _when_a_turn_is_recorded(night: Project) -> bool:
    return bool((night.state / "logs/turns.jsonl").exists() or (night.state / "turns.jsonl").exists())


def _at_the_start(night: Project) -> bool:
    return (night.state / ".ralph_bridge.json").exists()


def _in_a_pause(night: Project) -> bool:
    return standing(night.state).word == "waiting"


@pytest.mark.parametrize(
    "moment",  # in every run of the tests two of them: each costs seconds
    [
        pytest.param(_at_the_start, marks=pytest.mark.slow),
        _in_the_first_turn,
        pytest.param(_between_turns, marks=pytest.mark.slow),
        pytest.param(_when_a_turn_is_recorded, marks=pytest.mark.slow),
        pytest.param(_in_a_later_turn, marks=pytest.mark.slow),
        _in_a_pause,
    ],
)
def test_killed(night: Project, moment: Callable[[Project], bool]) -> None:
    if moment is _in_a_pause:
        night.turns("work", "fail")
    else:
        night.turns("sleep 0.05; work", "sleep 0.05; work", "work; hang")
    first = night.start("--max-iterations", "5", "--retry-delay", "1000")
    first.until(lambda: moment(night), moment.__name__)
    first.kill()
    until(lambda: not any(lives(night.pid(each)) for each in range(1, night.begun() + 1)), "the agent ends")
    night.readable()
    # A git that was being started at that moment has the lock's descriptor until it is one.
    until(lambda: standing(night.state).word != "starting", "the lock is free")
    where = standing(night.state)
    assert (where.word, where.run and where.run.pid) == ("killed", first.pid)
    before = night.turn_records()

    (night.kept / "steps" / "else").write_text("work\n")
    for number in range(1, 9):
        (night.kept / "steps" / str(number)).unlink(missing_ok=True)
    second = night.start("--max-iterations", "5", "--retry-delay", "0")
    assert second.finished() == night.example.used_up, second.said
    night.readable()
    records = night.turn_records()
    assert records[: len(before)] == before
    after = [each["turn"] for each in records[len(before) :]]
    # Of wiggum's task, iterations count on, a killed one among them; elsewhere each run has its own.
    assert after[-1] == 5
    assert after == list(range(after[0], 6))
    assert (after[0] > len(before)) if night.example.counts_on else (after[0] == 1)
    assert standing(night.state).word == "ended"
    assert night.alive() == []
