"""B1: one loop in a project, whatever its kind; a lock whose holder has died is taken over."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from bridge.base import timestamps
from tests import examples

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Project

_RUNS = [each for each in examples.SETUPS.values() if not each.counts_on]
_OTHERS = [each for each in examples.SETUPS.values() if each.counts_on]


def test_a_second_loop_is_refused(night: Project) -> None:
    night.turns("hang")
    first = night.hanging()
    _refused(night, night.example, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [each for run, other in product(_RUNS, _OTHERS) for each in ((run, other), (other, run))],
    ids=lambda example: example.name,
)
def test_one_of_another_kind_too(tmp_path: Path, first: examples.Example, second: examples.Example) -> None:
    with examples.project(first, tmp_path) as night:
        night.install(second)
        night.turns("hang")
        _refused(night, second, night.hanging())


def _refused(night: Project, example: examples.Example, first: examples.Loop) -> None:
    second = night.start(example=example)
    assert second.finished() == example.busy, second.said
    assert f"process {first.pid}" in second.said
    since = timestamps.parse_iso(night.record()["since"])
    assert since
    assert timestamps.local(since) in second.said
    assert night.begun() == 1
    assert first.process.poll() is None
    assert night.record()["pid"] == first.pid


def test_a_lock_whose_holder_was_killed_is_taken_over(night: Project) -> None:
    night.turns("hang")
    first = night.hanging()
    first.kill()
    second = night.start("--max-iterations", "2")
    assert second.finished() == night.example.used_up, second.said
    assert f"the lock of process {first.pid}" in second.said
    assert "is taken over" in second.said
    assert night.record()["pid"] == second.pid


def test_the_lock_goes_with_the_loop(night: Project) -> None:
    for _ in range(2):
        loop = night.start("--max-iterations", "1")
        assert loop.finished() == night.example.used_up, loop.said
        assert "taken over" not in loop.said
