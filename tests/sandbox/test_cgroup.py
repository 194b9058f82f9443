"""The control group around a turn of root's: of those boxes, nothing else bounds the number of processes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bridge.errors import BridgeError
from bridge.loop.sandbox import cgroup
from bridge.loop.sandbox.boxed import clear
from bridge.loop.sandbox.containers import name_of
from bridge.loop.sandbox.probes import probe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bridge.loop.sandbox.box_policy import Provider
    from tests.sandbox.boxes import Place

NO_GROUP = "no control group can be had here"


@pytest.fixture(params=["bwrap", "srt"])
def place(request: pytest.FixtureRequest, place_for: Callable[[Provider], Place]) -> Place:
    if os.geteuid() or not cgroup.place("x"):
        pytest.skip(NO_GROUP)
    return place_for(request.param)


def test_a_turn_of_root_cannot_fork_without_end_and_leaves_no_group(place: Place) -> None:
    name = name_of(str(place.project))
    ran = place.wants(processes=60).turn(
        "for each in $(find /sys/fs/cgroup -name 'ralph-bridge-*'); do echo max > $each/pids.max; done\n"
        "for each in $(find /sys/fs/cgroup -name cgroup.procs); do echo $$ > $each; done\n"
        "sh -c 'i=0; while [ $i -lt 300 ]; do sleep 9 & i=$((i + 1)); echo $i; done' 2> /dev/null"
    )
    assert int(ran.text.split()[-1]) < 60, ran.err  # a bash would try again for half a minute; sh gives up
    assert cgroup.left(name) == []


def test_what_a_killed_loop_has_left_is_removed_by_the_next(place: Place) -> None:
    name = name_of(str(place.project))
    os.mkdir(cgroup.place(f"{name}left"))
    clear(str(place.project), str(place.home))
    assert cgroup.left(name) == []


def _rows(tmp_path: Path, text: str) -> tuple[str, str]:
    (tmp_path / "own").write_text(text)
    return str(tmp_path), str(tmp_path / "own")


def test_in_version_1_it_lies_below_ours(tmp_path: Path) -> None:
    (tmp_path / "pids/a b").mkdir(parents=True)
    top, own = _rows(tmp_path, "4:memory:/other\n3:pids:/a b\n0::/\n")
    assert cgroup.place("n", top, own) == f"{tmp_path}/pids/a b/n"


@pytest.mark.parametrize(
    ("counting", "expected"),
    [(["", "s", "s/x"], "s/x/n"), (["", "s"], "s/n"), ([""], ""), ([], "")],
)
def test_in_version_2_it_lies_where_groups_count_processes(
    tmp_path: Path, counting: list[str], expected: str
) -> None:
    (tmp_path / "s/x").mkdir(parents=True)
    for each in counting:
        (tmp_path / each / "cgroup.subtree_control").write_text("memory pids\n")
    top, own = _rows(tmp_path, "0::/s/x\n")
    assert cgroup.place("n", top, own) == (f"{tmp_path}/{expected}" if expected else "")


def test_nothing_above_the_mounted_groups_is_taken(tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()
    (tmp_path / "cgroup.subtree_control").write_text("pids\n")
    _, own = _rows(tmp_path, "0::/\n")
    assert cgroup.place("n", str(tmp_path / "top"), own) == ""
    assert cgroup.place("n", str(tmp_path / "top"), str(tmp_path / "missing")) == ""


def test_a_folder_that_is_no_group_is_none(tmp_path: Path) -> None:
    with pytest.raises(BridgeError), cgroup.standing(str(tmp_path / "g"), 5):
        pass
    assert not (tmp_path / "g").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason=NO_GROUP)
def test_a_group_that_cannot_be_made_after_all_is_a_reason_with_a_next_step(
    place_for: Callable[[Provider], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_for("bwrap")
    monkeypatch.setattr(cgroup, "place", lambda _name: "/proc/none/group")
    told = probe(place.wanted, place.env)
    assert told is not None
    assert "control group /proc/none/group" in told
    assert "next: leave them unbound: memory_mb = 0 and processes = 0" in told
