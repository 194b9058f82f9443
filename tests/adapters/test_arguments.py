"""What a Python caller gives is refused by name before anything is typed, and the session goes on."""

from __future__ import annotations

import math
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from bridge import Adapter
from bridge.errors import BridgeError, ConfigurationError, SessionBusy
from tests.examples import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.adapters.conftest import Start


@pytest.mark.parametrize("name", [3, None, b"bash"])
def test_a_name_that_is_no_text_is_refused(name: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"Adapter\.load: name is .*, expected a text or a path"):
        Adapter.load(name)


@pytest.mark.parametrize(
    "given",
    [
        {"columns": "80"},
        {"columns": 0},
        {"rows": 70_000},
        {"cwd": 3},
        {"env": {"A": 3}},
        {"env": 3},
        {"ready_timeout": "30"},
        {"idle_timeout": -1},
        {"output_limit": 1.5},
        {"probe": "no"},
    ],
)
def test_an_argument_of_start_is_named_with_what_is_expected(given: dict[str, Any]) -> None:
    with pytest.raises(BridgeError, match=rf"{next(iter(given))} is .*, expected"):
        Adapter.load("bash").start(**given)


def test_wrong_arguments_leave_the_session_as_it_was(start: Start) -> None:
    session: Any = start("bash")
    calls: tuple[Callable[[], object], ...] = (
        lambda: session.run(None),
        lambda: session.run("\ud800"),
        lambda: session.run("echo 1", timeout="3"),
        lambda: session.run("echo 1", timeout=-1),
        lambda: session.send(3),
        lambda: session.send("\ud800"),
        lambda: session.cd(3),
        lambda: session.interrupt(timeout="2"),
        lambda: session.suspend(timeout=-1),
        lambda: session.collect("1"),
    )
    for refused in calls:
        with pytest.raises(BridgeError, match=r"expected|half of a character"):
            refused()
        assert session.run("echo it goes on").output == "it goes on"


def test_a_time_may_be_a_timedelta_and_without_limit(start: Start) -> None:
    session = start("bash", ready_timeout=timedelta(seconds=20), idle_timeout=timedelta(hours=1))
    assert session.run("echo 1", timeout=timedelta(seconds=20)).output == "1"
    assert session.interrupt(timeout=timedelta(seconds=20))
    assert session.collect(timedelta(milliseconds=1)) == ""
    for unlimited in (None, math.inf):
        assert start("bash", ready_timeout=unlimited).run("echo 2", timeout=unlimited).output == "2"


def test_a_second_thread_is_told_that_the_first_waits(start: Start, tmp_path: Path) -> None:
    session = start("bash", cwd=tmp_path)
    found: list[str] = []
    first = threading.Thread(target=lambda: found.append(session.run(": > runs; read -r word; echo $word").output))
    first.start()
    until((tmp_path / "runs").exists)
    for second in (lambda: session.run("echo b"), session.interrupt, session.wait):
        with pytest.raises(SessionBusy, match="another thread waits for bash"):
            second()
    session.send("one\n")
    first.join(10)
    assert [each.splitlines()[-1] for each in found] == ["one"]
    assert session.run("echo two").output == "two"
