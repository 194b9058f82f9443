"""The order in which tasks are begun."""

from __future__ import annotations

import random

import pytest

from bridge.errors import ConfigurationError
from bridge.loop.tasks.task import Task
from bridge.loop.tasks.task_order import loosened, ordered


def a_task(name: str, *needs: str, priority: float | None = None) -> Task:
    return Task(name, name, name, needs, priority=priority)


def names(tasks: list[Task]) -> str:
    return " ".join(each.id for each in tasks)


def test_needs_come_first_then_priority_then_the_order_of_the_file() -> None:
    tasks = [
        a_task("a"),
        a_task("b", priority=2),
        a_task("c", "e", priority=1),
        a_task("d", priority=1),
        a_task("e"),
    ]
    assert names(ordered(tasks)) == "e c d b a"


def test_an_order_that_holds_already_stays() -> None:
    tasks = [a_task("a"), a_task("b", "a"), a_task("c"), a_task("d", "b", "c")]
    assert ordered(tasks) == tasks


def test_every_task_comes_once_and_behind_what_it_needs() -> None:
    dice = random.Random(31)
    numbers = list(range(300))
    needs = {number: [f"t{each}" for each in numbers[:number] if dice.random() < 0.02] for number in numbers}
    tasks = [a_task(f"t{number}", *needs[number], priority=dice.choice((None, 0, 1))) for number in numbers]
    dice.shuffle(tasks)
    found = ordered(tasks)
    at = {each.id: number for number, each in enumerate(found)}
    assert sorted(at) == sorted(each.id for each in tasks)
    assert all(at[need] < at[each.id] for each in found for need in each.needs)


def test_a_long_chain_has_an_order() -> None:
    chain = [a_task(f"t{number}", f"t{number - 1}") for number in range(1500, 0, -1)]
    assert [each.id for each in ordered([*chain, a_task("t0")])] == [f"t{number}" for number in range(1501)]


def test_what_has_no_order_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="wait for each other: a → b → a"):
        ordered([a_task("a", "b"), a_task("b", "a")])
    with pytest.raises(ConfigurationError, match="a needs 'c', which is no task"):
        ordered([a_task("a", "c")])


def test_a_source_may_leave_such_needs_out_and_say_so() -> None:
    tasks, notes = loosened([a_task("a", "b", "x"), a_task("b", "c"), a_task("c", "b", "a"), a_task("d", "d")])
    assert names(ordered(tasks)) == "c b a d"
    assert notes == [
        "a needs x, which is none of these tasks: it isn't waited for",
        "these tasks wait for each other: b → c → b: c doesn't wait for b",
        "these tasks wait for each other: a → b → c → a: c doesn't wait for a",
        "these tasks wait for each other: d → d: d doesn't wait for d",
    ]
