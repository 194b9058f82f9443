"""The engine: order of events, broken and hanging scripts, selection."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from bridge.errors import ConfigurationError, HookTimeout, ScriptNotFound
from bridge.verify import judging, registry
from bridge.verify.engine import verify
from bridge.verify.findings import (
    CheckOutcome,
    Event,
    Harm,
    RunFinished,
    RunStarted,
    ScriptFinished,
    ScriptStarted,
)
from bridge.verify.intake import given_in
from bridge.verify.probe.driver import DriverProbe
from bridge.verify.registry import CannotTell, Check, NotApplicable, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.verify.subject import Subject

DRIVERS = Path(__file__).parents[2] / "drivers"


def run(*paths: Path | str, **options: object) -> list[Event]:
    return list(verify(paths, **({"static_only": True} | options)))  # type: ignore[arg-type]


def finished(events: list[Event]) -> list[ScriptFinished]:
    return [event for event in events if isinstance(event, ScriptFinished)]


def only(
    monkeypatch: pytest.MonkeyPatch,
    *functions: Callable[[Subject], Iterator[Problem]],
    phase: Literal["static", "behaviour"] = "static",
) -> None:
    """Let the engine have these checks alone: RB900, RB901, …"""
    codes = [f"RB{900 + number}" for number in range(len(functions))]
    checks = {
        code: Check(
            code=code,
            title="Title",
            applies=("driver", "agent"),
            phase=phase,
            harm=Harm.ENDS_THE_LOOP,
            judge=function,
        )
        for code, function in zip(codes, functions, strict=True)
    }
    for module in (judging, registry):
        monkeypatch.setattr(module, "load", lambda kind="": checks)


def test_shipped_drivers_have_no_finding() -> None:
    events = run(DRIVERS)
    assert isinstance(events[0], RunStarted)
    assert events[-1] == RunFinished(len([*DRIVERS.glob("*.sh")]), 0, 0, 0, events[-1].seconds)  # type: ignore[union-attr]
    kinds = {event.path.name: event.kind for event in finished(events)}
    assert kinds.pop("cursor-agent-wrapper.sh") == "out-of-scope"
    assert set(kinds.values()) == {"driver"}
    for event in finished(events):
        assert event.name == event.path.stem
        assert all(result.outcome is CheckOutcome.PASSED for result in event.results)
        assert bool(event.results) is (event.kind == "driver")
        assert event.kind == "driver" or "no hook" in event.reason


def test_matrix() -> None:
    (event,) = finished(run(DRIVERS / "copilot.sh"))
    assert event.matrix["driver_name"] == "own"
    assert event.matrix["driver_prepare_live_command"] == "absent"


def test_order_does_not_depend_on_jobs(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}.sh").write_text("driver_name() { echo x; }\n" * (1 + 50 * (number == 0)))
    orders = []
    for jobs in (1, 4, 40):
        events = run(tmp_path, jobs=jobs)
        orders.append(
            [(type(event), event.path) for event in events if isinstance(event, ScriptStarted | ScriptFinished)]
        )
    assert orders[0] == orders[1] == orders[2]
    assert [path.name for _, path in orders[0][::2]] == [f"{number:02}.sh" for number in range(20)]


def test_broken_scripts_do_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("driver_name() {\n    if\n}\n")
    (tmp_path / "b.sh").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "c.sh").symlink_to(tmp_path / "nowhere")
    (tmp_path / "d.sh").write_text("#!/usr/bin/env python3\nprint('hi')\n")
    (tmp_path / "e.sh").write_text("")
    (tmp_path / "f.sh").write_bytes((DRIVERS / "codex.sh").read_bytes())
    events = finished(run(tmp_path))
    told = {event.path.name: event for event in events}
    assert [event.kind for event in events] == ["driver", *["out-of-scope"] * 4, "driver"]
    assert [finding.code for finding in told["a.sh"].findings] == ["RB001"]
    assert told["a.sh"].findings[0].line == 3
    assert {result.outcome for result in told["a.sh"].results} == {CheckOutcome.FAILED, CheckOutcome.UNKNOWN}
    assert "binary" in told["b.sh"].reason
    assert [finding.code for finding in told["b.sh"].findings] == ["RB001"]
    assert [finding.code for finding in told["c.sh"].findings] == ["RB001"]
    assert "another interpreter" in told["d.sh"].reason
    assert "no hook" in told["e.sh"].reason
    assert not told["f.sh"].findings


def test_an_error_of_ours_makes_the_check_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(subject: Subject) -> Iterator[Problem]:
        yield from ()
        raise ZeroDivisionError("ours")

    def sound(subject: Subject) -> Iterator[Problem]:
        yield Problem("seen", hook="driver_name")

    only(monkeypatch, broken, sound)
    events = run(DRIVERS / "codex.sh")
    results = finished(events)[0].results
    assert [result.outcome for result in results] == [CheckOutcome.UNKNOWN, CheckOutcome.FAILED]
    assert results[0].reason == "ZeroDivisionError: ours"
    assert results[1].findings[0].line == 8
    assert events[-1][1:4] + events[-1][5:] == (1, 0, 0, 1, 0)


def test_checks_may_say_that_they_cannot_tell_or_do_not_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(subject: Subject) -> Iterator[Problem]:
        yield from ()
        raise CannotTell("eval")

    def not_applicable(subject: Subject) -> Iterator[Problem]:
        yield from ()
        raise NotApplicable("no sessions")

    def both(subject: Subject) -> Iterator[Problem]:
        yield Problem("one")
        raise CannotTell("the rest")

    only(monkeypatch, cannot, not_applicable, both)
    results = finished(run(DRIVERS / "codex.sh"))[0].results
    assert [(result.outcome, result.reason) for result in results] == [
        (CheckOutcome.UNKNOWN, "eval"),
        (CheckOutcome.SKIPPED, "no sessions"),
        (CheckOutcome.FAILED, "the rest"),
    ]


def test_a_script_that_hangs_ends_by_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(subject: Subject) -> Iterator[Problem]:
        yield from ()
        time.sleep(subject.budget.remaining)
        raise HookTimeout("driver_name did not end", hook="driver_name")

    def later(subject: Subject) -> Iterator[Problem]:
        yield Problem("never asked")

    only(monkeypatch, hangs, later, phase="behaviour")
    began = time.monotonic()
    results = finished(run(DRIVERS / "codex.sh", static_only=False, timeout=0.2))[0].results
    assert time.monotonic() - began < 2
    assert [result.outcome for result in results] == [CheckOutcome.FAILED, CheckOutcome.UNKNOWN]
    assert results[0].findings[0].message == "driver_name did not end"
    assert "0.2 s" in results[1].reason


@pytest.mark.parametrize("broken", [False, True])
def test_the_probe_of_every_script_is_closed(monkeypatch: pytest.MonkeyPatch, broken: bool) -> None:
    closed = []
    monkeypatch.setattr(DriverProbe, "close", lambda probe: closed.append(Path(probe.script).stem))

    def asks(subject: Subject) -> Iterator[Problem]:
        assert subject.probe is subject.driver
        yield Problem(Path(subject.probe.script).stem)
        if broken:
            raise SystemError("ours")

    only(monkeypatch, asks, phase="behaviour")
    events = run(DRIVERS, static_only=False, jobs=2)
    names = [event.name for event in finished(events) if event.kind == "driver"]
    assert sorted(closed) == names
    assert [event.findings[0].message for event in finished(events) if event.results] == names


def test_static_only_runs_nothing(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    script = tmp_path / "x.sh"
    script.write_text(f"driver_name() {{ echo x; }}\ntouch {touched}\n$(touch {touched})\n")
    run(script)
    assert not touched.exists()


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({"select": ["RB001", "rb002"]}, ["RB001", "RB002"]),
        (
            {"select": ["RB00"], "ignore": ["RB003", "RB004"]},
            ["RB001", "RB002", "RB005", "RB006", "RB007", "RB008", "RB009"],
        ),
        ({"select": ["RB02"], "ignore": ["RB"]}, ["RB001"]),  # nothing was verified
    ],
)
def test_selection(options: dict[str, list[str]], codes: list[str]) -> None:
    assert [result.code for result in finished(run(DRIVERS / "codex.sh", **options))[0].results] == codes


def test_agents_checks_are_for_agents() -> None:
    codes = {result.code for result in finished(run(DRIVERS / "codex.sh", static_only=False))[0].results}
    assert "RB100" in codes
    assert "RB041" not in codes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"select": ["RB0012"]}, "Did you mean RB0"),
        ({"ignore": ["E501"]}, "explain` lists all checks"),
        ({"select": [""]}, "there is no such check"),
    ],
)
def test_unknown_codes(options: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        verify([DRIVERS], **options)  # type: ignore[arg-type]


def scripts_in(paths: list[Path | str]) -> tuple[Path, ...]:
    return tuple(given.path for given in given_in(paths))


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b.sh", "a.sh", "sub/c.sh", ".git/d.sh", "e.txt", ".f.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "z").symlink_to("/usr")
    monkeypatch.chdir(tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in scripts_in([tmp_path])] == ["a.sh", "b.sh", "sub/c.sh"]
    assert [str(path) for path in scripts_in(["b.sh", ".", "e.txt"])] == ["b.sh", "a.sh", "sub/c.sh", "e.txt"]
    with pytest.raises(ScriptNotFound, match=r"gone\.sh"):
        scripts_in(["gone.sh"])
    (tmp_path / "empty").mkdir()
    assert scripts_in(["empty"]) == (Path("empty"),)  # so that its emptiness is a finding
    with pytest.raises(ConfigurationError, match="nothing to verify"):
        scripts_in([])


def test_what_is_no_regular_file_is_told_and_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.sh")
    os.symlink("loop.sh", tmp_path / "loop.sh")
    (tmp_path / "good.sh").write_bytes((DRIVERS / "codex.sh").read_bytes())
    told = {event.path.name: event.reason for event in finished(run(tmp_path, select=["RB001"]))}
    assert told["pipe.sh"] == "not a regular file"
    assert told["good.sh"] == ""
    assert "loop.sh" in told


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="only where processes can be told by their environment")
def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_what_a_hook_starts_in_a_session_of_its_own_is_ended(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    text = (
        (DRIVERS / "codex.sh")
        .read_text()
        .replace(
            'echo "0.1.0"',
            f"setsid sh -c 'echo $$ >\"{noted}\"; exec sleep 60' >/dev/null 2>&1 & "
            f'until [ -s "{noted}" ]; do :; done; echo "0.1.0"',
        )
    )
    (tmp_path / "codex.sh").write_text(text)
    run(tmp_path / "codex.sh", select=["RB074"], static_only=False)
    pid = int(noted.read_text())
    end = time.monotonic() + 5
    while lives(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not lives(pid)


_IMPORTED = "import sys; from bridge.verify.engine import verify; list(verify(sys.argv[1:])); print(*sys.modules)"


@pytest.mark.parametrize(("script", "others"), [
    ("drivers/codex.sh", ("checks.agent", "probe.agent")),
    ("agents/amp.sh", ("checks.driver_answers", "probe.driver")),
])  # fmt: skip
def test_what_no_check_of_this_kind_asks_is_not_imported(script: str, others: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", _IMPORTED, str(DRIVERS.parent / script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    assert "bridge.verify.checks.sourcing" in done.stdout
    unwanted = ("bridge.verify.rehearsal", *(f"bridge.verify.{each}" for each in (*others, "mends", "coverage")))
    assert [name for name in done.stdout.split() if name.startswith(unwanted)] == []
