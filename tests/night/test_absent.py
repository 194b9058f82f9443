"""A CLI that is away for a moment in the middle of a night, as when it updates itself, costs no turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.night.conftest import each_loop

if TYPE_CHECKING:
    from tests.examples import Loop, Project

_AWAY = "it was there before, and is looked for again for up to"
_TAKEN = "mv bin/claude bin/claude.new; work"


def _told(loop: Loop) -> None:
    loop.until(lambda: _AWAY in loop.said, "it is looked for again")


def _put_back(night: Project, name: str = "claude") -> None:
    (night.path / f"bin/{name}.new").rename(night.path / f"bin/{name}")


def _all_went_well(night: Project, loop: Loop) -> None:
    assert loop.finished() == night.example.used_up, loop.said
    assert [each["result"] for each in night.turn_records()] == ["success"] * 3, loop.said
    assert "claude could be started again, " in loop.said


def test_it_is_replaced(night: Project) -> None:
    night.turns(_TAKEN)
    loop = night.start("--max-iterations", "3", RALPH_BRIDGE_ABSENT_SECONDS="20")
    _told(loop)
    assert night.begun() == 1
    _put_back(night)
    _all_went_well(night, loop)


def test_it_never_comes_back(night: Project) -> None:
    night.turns(_TAKEN)
    words = ("--max-iterations", "30", "--retry-delay", "0")
    loop = night.start(*words, RALPH_BRIDGE_ABSENT_SECONDS="0.2")
    assert loop.finished() == night.example.refused, loop.said
    assert "turns in a row failed in the same way" in " ".join(loop.said.splitlines()[-1:])
    assert loop.said.count(_AWAY) == 1, loop.said


@each_loop
def test_one_that_was_never_there_is_not_waited_for(night: Project) -> None:
    night.write("bin/claude", "#!/usr/bin/env no-such-node\n")
    loop = night.start("--max-iterations", "12", "--retry-delay", "0", RALPH_BRIDGE_ABSENT_SECONDS="600")
    assert loop.finished() == night.example.refused, loop.said
    assert _AWAY not in loop.said


@each_loop
def test_what_it_is_run_by_is_away(night: Project) -> None:
    if night.example.agent:  # the hooks around it have run then: that is a failure as any other
        return
    night.write("bin/bash-of-it", '#!/bin/sh\nexec bash "$@"\n')
    cli = night.path / "bin/claude"
    cli.write_text(cli.read_text().replace("env bash", "env bash-of-it", 1))
    night.turns("mv bin/bash-of-it bin/bash-of-it.new; work")
    loop = night.start("--max-iterations", "3", RALPH_BRIDGE_ABSENT_SECONDS="20")
    _told(loop)
    _put_back(night, "bash-of-it")
    _all_went_well(night, loop)


@each_loop
def test_it_is_being_written(night: Project) -> None:
    if night.example.agent:  # bash says 126 then, as of what may not be executed
        return
    night.turns("until [ -e $kept/open ]; do sleep 0.01; done; work")
    loop = night.start("--max-iterations", "3", RALPH_BRIDGE_ABSENT_SECONDS="20")
    loop.until(lambda: night.of_turn(1, "began"))
    with (night.path / "bin/claude").open("r+b"):
        (night.kept / "open").touch()
        _told(loop)
    _all_went_well(night, loop)


@pytest.mark.parametrize("how", ["TERM", "minutes"])
@each_loop
def test_the_wait_can_be_ended(night: Project, how: str) -> None:
    night.turns(_TAKEN)
    minutes = ("--max-minutes", "0.03") if how == "minutes" else ()
    loop = night.start(*minutes, "--retry-delay", "0", RALPH_BRIDGE_ABSENT_SECONDS="600")
    _told(loop)
    if how == "TERM":
        loop.process.terminate()
    assert loop.finished() == (143 if how == "TERM" else night.example.used_up), loop.said
