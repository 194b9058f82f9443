"""What a Python caller gives that can't be right is an error of ours that names it, and nothing is run."""

from __future__ import annotations

import io
import pickle
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import pytest

import bridge
from bridge import (
    Adapter,
    BridgeError,
    Driver,
    HookError,
    HookFailed,
    HookNotFound,
    HookTimeout,
    Shell,
    ValueNotAccepted,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ODD: list[Any] = [3, None, b"bytes", ["list"], object()]


def calls(shell: Any, odd: Any) -> list[Callable[[], object]]:
    return [
        lambda: shell.call(odd),
        lambda: shell.call("mark", odd),
        lambda: shell.source(odd),
        lambda: shell.execute(odd),
        lambda: shell.start(odd),
        lambda: shell.start("mark", odd),
        lambda: shell.call_for_array("mark", array=odd),
        lambda: shell[odd],
        lambda: shell.update(odd),
        lambda: Driver.load(odd),
    ]


@pytest.mark.parametrize("odd", ODD, ids=[type(each).__name__ for each in ODD])
def test_a_value_of_another_type(shell: Shell, odd: Any) -> None:
    shell.execute("mark() { RAN=yes; }")
    for number, call in enumerate(calls(shell, odd)):
        with pytest.raises(BridgeError):
            pytest.fail(f"call {number} gave {call()!r}")
    assert shell.get("RAN") is None


def test_a_single_name_is_not_its_letters(shell: Shell) -> None:
    with pytest.raises(
        ValueNotAccepted, match=r"read is 'HOME' \(str\), expected a list of names: read=\['HOME'\]"
    ):
        shell.call("true", read="HOME")
    with pytest.raises(ValueNotAccepted, match=r"options=\['errexit'\]"):
        Shell(options="errexit")
    with pytest.raises(BridgeError):
        shell.call("true", read=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [{"env": {"A": 1}}, {"env": ["A"]}, {"cwd": 1}, {"bash": 3}, {"output_limit": "x"}, {"env_allow": "HOME"}],
)
def test_what_a_shell_is_begun_with(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(BridgeError, match=rf"Shell: {name} is "):
        Shell(**given)


@pytest.mark.parametrize("limit", ["5", -1, -3, float("nan"), True, timedelta(seconds=-1)])
def test_a_time_limit_that_is_none(shell: Shell, tmp_path: Path, limit: Any) -> None:
    (tmp_path / "a.sh").touch()
    takers: dict[str, Callable[[], object]] = {
        "call": lambda: shell.call("true", timeout=limit),
        "source": lambda: shell.source(tmp_path / "a.sh", timeout=limit),
        "execute": lambda: shell.execute("true", timeout=limit),
        "start": lambda: shell.start("true", grace=limit),
        "timeout": lambda: Shell(timeout=limit),
        "grace": lambda: Shell(grace=limit),
    }
    for take in takers.values():
        with pytest.raises(ValueNotAccepted, match=r" is .*, expected seconds \(0 or more\), a timedelta, or None"):
            take()


def test_a_time_limit_of_years() -> None:
    years = timedelta(days=3650)
    with Shell(grace=years, timeout=years) as shell:
        assert shell.call("sleep", "0.1").ok
        with shell.start("sleep", "60", grace=years) as job:
            pass
        assert job.status == 130
    with Adapter.load("bash").start(ready_timeout=years) as session:
        assert session.run("sleep 0.1; echo here", timeout=years).output == "here"


def test_a_time_limit_may_be_a_timedelta(shell: Shell) -> None:
    with pytest.raises(HookTimeout, match=r"within 0\.1 s"):
        shell.call("sleep", "30", timeout=timedelta(milliseconds=100))


def test_the_wait_for_another_threads_call_counts(shell: Shell, tmp_path: Path) -> None:
    begun, end = tmp_path / "begun", tmp_path / "end"
    shell.execute('slow() { : >"$1"; until [ -e "$2" ]; do sleep 0.02; done; }; mark() { RAN=yes; }')
    other = threading.Thread(target=shell.call, args=("slow", str(begun), str(end)))
    other.start()
    while not begun.exists():
        time.sleep(0.01)
    try:
        with pytest.raises(HookTimeout, match=r"mark was not begun within 0\.2 s: a call of another thread"):
            shell.call("mark", timeout=0.2)
    finally:
        end.touch()
        other.join()
    assert shell.get("RAN") is None  # and the shell is as good as before


def fails() -> None:
    with Shell() as shell:
        shell.call("false", check=True)


def test_an_error_reaches_the_parent_of_a_pool() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        with pytest.raises(HookFailed, match="false failed with status 1") as caught:
            pool.submit(fails).result(timeout=60)
        assert (caught.value.hook, caught.value.status) == ("false", 1)
        assert pool.submit(int, "3").result(timeout=60) == 3


def copied(value: Any) -> Any:
    """By pickle alone: a library that is imported by now may have registered ways of its own for exceptions."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer)
    pickler.dispatch_table = {}
    pickler.dump(value)
    return pickle.loads(buffer.getvalue())


def test_every_error_and_reply_pickles(shell: Shell) -> None:
    everything = vars(bridge.errors).values()
    kinds = [value for value in everything if isinstance(value, type) and issubclass(value, BridgeError)]
    for kind in kinds:
        error = kind("what", hook="h", stderr="why", status=3) if issubclass(kind, HookError) else kind("what")
        again = copied(error)
        assert (type(again), str(again), vars(again)) == (kind, str(error), vars(error)), kind
    with pytest.raises(HookNotFound) as caught:
        shell.call("nowhere")
    assert str(copied(caught.value)) == str(caught.value)
    for reply in (shell.call("true"), shell.call("true", read=["HOME", "NO"]), shell.call("true", changes=True)):
        assert pickle.loads(pickle.dumps(reply)) == reply
