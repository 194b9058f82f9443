"""B1: one loop in a project, whatever its kind; a lock whose holder has died is taken over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge import timestamps
from tests.night import kinds

if TYPE_CHECKING:
    from pathlib import Path

    from tests.night.kinds import Night

_BY_NAME = {kind.name: kind for kind in kinds.KINDS}
_RUNS = ("plain", "bmalph", "frankbria", "ralph-loop")


def test_a_second_loop_is_refused(night: Night) -> None:
    night.turns("hang")
    first = night.hanging()
    _refused(night, night.kind, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [(each, "wiggum-driver") for each in _RUNS] + [("wiggum-driver", each) for each in _RUNS],
)
def test_one_of_another_kind_too(tmp_path: Path, first: str, second: str) -> None:
    with kinds.night(_BY_NAME[first], tmp_path) as night:
        night.install(_BY_NAME[second])
        night.turns("hang")
        _refused(night, _BY_NAME[second], night.hanging())


def _refused(night: Night, kind: kinds.Kind, first: kinds.Loop) -> None:
    second = night.start(kind=kind)
    assert second.finished() == kind.busy, second.said
    assert f"process {first.pid}" in second.said
    since = timestamps.parse_iso(night.record()["since"])
    assert since
    assert timestamps.local(since) in second.said
    assert night.begun() == 1
    assert first.process.poll() is None
    assert night.record()["pid"] == first.pid


def test_a_lock_whose_holder_was_killed_is_taken_over(night: Night) -> None:
    night.turns("hang")
    first = night.hanging()
    first.kill()
    second = night.start("--max-iterations", "2")
    assert second.finished() == night.kind.used_up, second.said
    assert f"the lock of process {first.pid}" in second.said
    assert "is taken over" in second.said
    assert night.record()["pid"] == second.pid


def test_the_lock_goes_with_the_loop(night: Night) -> None:
    for _ in range(2):
        loop = night.start("--max-iterations", "1")
        assert loop.finished() == night.kind.used_up, loop.said
        assert "taken over" not in loop.said
