"""Scripts whose helpers are slow: judged, or said to be not judged; never a false alarm."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from bridge.base.process import table
from bridge.verify import engine
from bridge.verify.budget import Budget
from bridge.verify.findings import ScriptFinished
from tests.skeletons import minimal_driver


class Clock:
    """Time that passes when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("bridge.verify.budget.time", SimpleNamespace(monotonic=lambda: self.now))

    def call(self, spent: Budget, hook: str, seconds: float) -> None:
        self.now += seconds
        spent.came_back(hook, seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_nothing_runs_before_the_first_use(clock: Clock) -> None:
    spent = Budget(30)
    clock.now += 100
    assert spent.remaining == 30
    spent.start()
    clock.now += 10
    spent.start()
    assert spent.remaining == 20


def test_calls_that_come_back_cost_nothing_until_they_are_too_many(clock: Clock) -> None:
    spent = Budget(30, 120)
    spent.start()
    for _ in range(50):
        clock.call(spent, "driver_build_command", 1.0)
    assert spent.remaining == 30
    for _ in range(69):
        clock.call(spent, "driver_build_command", 1.0)
    assert spent.remaining == 1
    clock.call(spent, "driver_build_command", 1.5)
    assert spent.remaining == 0
    assert spent.used_up == (
        "running the script took longer than 120 s: driver_build_command takes 1.5 s; --timeout gives it more"
    )


def test_what_hangs_is_not_given_back(clock: Clock) -> None:
    spent = Budget(30, 120)
    spent.start()
    clock.call(spent, "driver_name", 0.01)
    clock.now += 30.01
    assert spent.remaining == 0
    spent.was_cut("driver_check_available")
    assert "30 s: driver_check_available was still running" in spent.used_up


def test_a_limit_that_somebody_set_is_one(clock: Clock) -> None:
    spent = Budget(5, 5)
    spent.start()
    clock.call(spent, "driver_name", 4.0)
    assert spent.remaining == 1


def test_stopped_is_stopped(clock: Clock) -> None:
    spent = Budget(30, 120)
    spent.start()
    spent.stop()
    spent.came_back("driver_name", 5)
    assert spent.remaining == 0


@pytest.mark.skipif(not table._has_proc(), reason="where it can be seen what a process waits for")
def test_who_lets_time_pass_is_not_at_rest() -> None:
    with subprocess.Popen([str(shutil.which("sleep")), "60"]) as sleeps:
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as waits:
            while not table.resting([waits.pid]):
                pass
            while "nanosleep" not in (Path(f"/proc/{sleeps.pid}/wchan").read_text() or "nanosleep"):
                pass
            assert not table.resting([waits.pid, sleeps.pid])
        sleeps.kill()


def finished(path: Path, **options: object) -> ScriptFinished:
    events = engine.verify([path], **options)  # type: ignore[arg-type]
    return next(event for event in events if isinstance(event, ScriptFinished))


SLOW_DRIVER = minimal_driver().replace(
    "driver_build_command() {\n", "driver_build_command() {\n    python3 -c 'import time; time.sleep(1)'\n", 1
)

SLOW_AGENT = """#!/usr/bin/env bash
AGENT_CLI=slowly
agent_invoke() { sleep 1; python3 -c 'import time; time.sleep(1)'; "$AGENT_CLI" --print < "$1"; }
agent_extract_response() { cat "$1"; }
agent_format_display() { sleep 1; cat; }
"""


@pytest.mark.slow
def test_a_driver_that_is_too_slow_is_not_judged_and_not_blamed(tmp_path: Path) -> None:
    path = tmp_path / "my-platform.sh"
    path.write_text(SLOW_DRIVER)
    assert "time.sleep" in SLOW_DRIVER
    done = finished(path, timeout=3.5)
    assert done.findings == ()
    [reason] = {result.reason for result in done.results if result.unjudged}
    assert "took longer than 3.5 s: driver_build_command takes 1." in reason


@pytest.mark.slow
def test_an_agent_that_takes_its_time_does_not_withhold_anything(tmp_path: Path) -> None:
    path = tmp_path / "slowly.sh"
    path.write_text(SLOW_AGENT)
    done = finished(path, select=("RB171", "RB172", "RB175", "RB181", "RB182"))
    assert done.findings == ()
    for_want_of_a_recording = {"RB181", "RB182"}
    assert {result.code for result in done.results if result.unjudged} <= for_want_of_a_recording
