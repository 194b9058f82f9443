"""B5: nothing that a turn has started outlives its loop, whatever ends that; sessions of their own included."""

from __future__ import annotations

from signal import SIGHUP, SIGINT, SIGTERM
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge.base.process import guardian
from tests.examples import until

if TYPE_CHECKING:
    from signal import Signals

    from tests.examples import Project


def test_after_a_normal_end(night: Project) -> None:
    night.turns("leave; work")
    loop = night.start("--max-iterations", "2")
    assert loop.finished() == night.example.used_up, loop.said
    assert set(night.left()) == {"child", "session", "daemon"}
    assert night.alive() == []


def test_what_a_turn_leaves_running_ends_with_the_turn(night: Project) -> None:
    nohup = '(nohup bash -c "$(keeps nohup)" > /dev/null 2>&1 &)'
    there = 'until [ -s "$kept/left.nohup" ]; do sleep 0.01; done'
    looks = 'for each in "$kept"/left.*; do lives "$(cat "$each")" && touch "$kept/survived.${each##*.}"; done'
    night.turns(f"leave; {nohup}; {there}; work", f"{looks}; work")
    loop = night.start("--max-iterations", "2")
    assert loop.finished() == night.example.used_up, loop.said
    assert set(night.left()) == {"child", "session", "daemon", "nohup"}
    assert [*night.kept.glob("survived.*")] == []
    assert "left running was ended" in loop.said + night.logged()


def test_what_is_started_without_the_mark_stays(night: Project) -> None:
    stays = 'env -u RALPH_BRIDGE_PROJECT setsid bash -c "$(keeps server)" > /dev/null 2>&1 &'
    night.turns(f'{stays} until [ -s "$kept/left.server" ]; do sleep 0.01; done; work')
    loop = night.start("--max-iterations", "2")
    assert loop.finished() == night.example.used_up, loop.said
    assert night.alive() == ["server"]


@pytest.mark.parametrize(
    ("number", "status"), [(SIGINT, 130), (SIGTERM, 143), pytest.param(SIGHUP, 129, marks=pytest.mark.slow)]
)
def test_after_a_signal(night: Project, number: Signals, status: int) -> None:
    night.turns("leave; hang")
    loop = night.hanging()
    loop.process.send_signal(number)
    if number is SIGHUP and night.example.controllers:  # a closed terminal ends none of these, as in the original
        status = 143
        loop.process.send_signal(SIGTERM)
    assert loop.finished() == status, loop.said
    assert set(night.left()) == {"child", "session", "daemon"}
    assert night.alive() == []


def test_after_kill_9_nothing_is_left_before_anything_else_runs(night: Project) -> None:
    night.turns("leave; hang")
    night.hanging().kill()
    assert set(night.left()) == {"child", "session", "daemon"}
    until(lambda: night.alive() == [], "the guardian ends what the turn has started")
    loop = night.start("--max-iterations", "2")
    assert loop.finished() == night.example.used_up, loop.said
    assert night.begun() >= 2
    assert "had left behind was ended" not in loop.said + night.logged()


def test_when_its_guardian_is_killed_too_the_next_run_ends_it(night: Project) -> None:
    survived = (
        'for each in session daemon; do lives "$(cat "$kept/left.$each")" && touch "$kept/survived"; done; work'
    )
    night.turns("leave; hang", otherwise=survived)
    host = night.hanging()
    guardians = [each for each in psutil.Process(host.pid).children() if guardian._SCRIPT in each.cmdline()]
    assert len(guardians) == 1
    guardians[0].kill()
    host.kill()
    loop = night.start("--max-iterations", "2")
    assert loop.finished() == night.example.used_up, loop.said
    assert night.begun() >= 2
    assert not (night.kept / "survived").exists()
    assert night.alive() == []
    here = [each.info for each in psutil.process_iter(["cwd", "cmdline"]) if each.info["cwd"] == str(night.path)]
    assert here == []
    assert "had left behind was ended" in loop.said + night.logged()
