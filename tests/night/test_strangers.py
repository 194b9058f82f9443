"""What a turn, a terminal and a second start may do to a loop of any kind, and what becomes of it."""

from __future__ import annotations

import os
import select
from signal import SIG_IGN, SIGHUP, SIGTERM, signal
from typing import TYPE_CHECKING

import pytest

from bridge.loop.engine.lock import standing
from tests.cli.conftest import _drop_right_to_read_everything
from tests.examples import lives, until
from tests.night.conftest import each_loop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.examples import Loop, Project

_LONG = "say \"$(printf 'word %.0s' {1..60000})\""
"""More than a pipe holds: who prints it waits for a reader."""


@pytest.fixture
def pipe() -> Iterator[list[int]]:
    ends = list(os.pipe())
    yield ends
    for end in ends:
        os.close(end)


def _blocked(night: Project, pipe: list[int]) -> Loop:
    """Start a loop that waits in the middle of what it prints."""
    night.turns(_LONG)
    loop = night.start("--max-iterations", "2", stdout=pipe[1])
    poller = select.poll()
    poller.register(pipe[1], select.POLLOUT)
    loop.until(lambda: not poller.poll(0), "the pipe is full")
    os.close(pipe.pop())
    return loop


def test_a_signal_while_it_prints_is_why_it_ended(waiting_night: Project, pipe: list[int]) -> None:
    loop = _blocked(waiting_night, pipe)
    loop.process.send_signal(SIGTERM)
    while os.read(pipe[0], 65536):
        pass
    assert loop.finished() == 143, loop.said
    assert "SIGTERM" in waiting_night.record()["end"]
    assert standing(waiting_night.state).word == "ended"


def test_a_reader_who_leaves_ends_it_as_a_signal_does(waiting_night: Project, pipe: list[int]) -> None:
    loop = _blocked(waiting_night, pipe)
    os.close(pipe.pop())
    assert loop.finished() == 141, loop.said
    assert "SIGPIPE" in waiting_night.record()["end"]
    assert waiting_night.alive() == []


def test_a_terminal_that_goes_away_is_no_end(night: Project) -> None:
    ours, theirs = os.openpty()
    night.turns("work; read -r < $kept/gate; work")
    os.mkfifo(night.kept / "gate")
    loop = night.start("--max-iterations", "2", stdout=theirs, before=lambda: signal(SIGHUP, SIG_IGN))
    os.close(theirs)
    loop.until(lambda: night.of_turn(1, "began"))
    os.close(ours)
    (night.kept / "gate").write_text("\n")
    assert loop.finished() == night.example.used_up, loop.said
    assert night.begun() == 2
    assert [each["result"] for each in night.turn_records()] == ["success"] * 2


@pytest.mark.parametrize("gone", [".ralph_bridge.lock", ".ralph_bridge.*"], ids=["lock", "lock-and-record"])
def test_a_turn_that_deletes_the_lock_lets_no_second_loop_in(night: Project, gone: str) -> None:
    night.turns(f"rm -f {night.state}/{gone}; hang")
    first = night.hanging()
    second = night.start("--max-iterations", "1")
    assert second.finished() == night.example.busy, second.said
    assert f"process {first.pid}" in second.said
    assert lives(night.pid(1))
    assert night.begun() == 1


def test_of_several_that_start_at_once_one_runs(night: Project) -> None:
    night.turns("until [ -e $kept/enough ]; do sleep 0.01; done; work")
    loops = [night.start("--max-iterations", "1") for _ in range(4)]
    until(lambda: sum(each.process.poll() is not None for each in loops) == 3, "three are refused")
    (night.kept / "enough").touch()
    assert sorted(each.finished() for each in loops) == sorted([night.example.used_up, *[night.example.busy] * 3])
    assert night.begun() == 1


@pytest.mark.parametrize(
    "tidies",
    ["git clean -fdxq -e bin", "git stash -uq", "git checkout -q --orphan other", "git reset -q --hard"],
    ids=["clean", "stash", "branch", "reset"],
)
def test_a_turn_that_tidies_up_is_a_turn_like_any_other(night: Project, tidies: str) -> None:
    night.turns(f"work; {tidies}")
    loop = night.start("--max-iterations", "3")
    assert loop.finished() == night.example.used_up, loop.said
    assert [each["result"] for each in night.turn_records()][-3:] == ["success"] * 3
    assert night.begun() == 3
    assert standing(night.state).word == "ended"


def test_a_state_folder_that_is_read_only_starts_nothing(night: Project) -> None:
    night.state.mkdir(parents=True, exist_ok=True)
    night.state.chmod(0o555)
    loop = night.start("--max-iterations", "1", before=_drop_right_to_read_everything)
    assert loop.finished() == night.example.busy, loop.said
    assert "Permission denied" in loop.said
    assert night.begun() == 0


@each_loop
def test_a_project_that_a_turn_moves_away_is_named(night: Project) -> None:
    night.turns("work", 'p=$PWD; cd /; mv "$p" "$p.away"; say moved')
    loop = night.start("--max-iterations", "4")
    assert loop.finished() != 0, loop.said
    (night.path.parent / f"{night.path.name}.away").rename(night.path)
    assert f"{night.path} isn't there any more" in loop.said
    assert night.begun() == 2
