"""verify on the command line, with an engine that gives the events it is told to."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.cli.app import run_app
from bridge.errors import ShellStartFailed
from bridge.verify.findings import RunFinished
from tests.cli.engine import engine
from tests.verify.runs import RUN, events

if TYPE_CHECKING:
    from tests.cli.engine import Engine

__all__ = ["engine"]


WARNED = [RUN[0]._replace(results=RUN[0].results[2:3])]


def test_errors_are_status_1_and_shown(engine: Engine, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run_app(["verify", "drivers"]) == 1
    out, err = capfdbinary.readouterr()
    assert b"drivers/bad.sh:58: RB012 error: " in out
    assert b"\x1b[" not in out
    assert err == b""
    assert engine.calls == [([Path("drivers")], {"select": (), "ignore": (), "static_only": False})]
    assert engine.closed


@pytest.mark.parametrize(("flags", "status"), [([], 0), (["--strict"], 1)])
def test_warnings_fail_when_strict(engine: Engine, flags: list[str], status: int) -> None:
    engine.scripts = WARNED
    assert run_app(["verify", "drivers", *flags]) == status


def test_options_reach_the_engine(engine: Engine) -> None:
    run_app(
        ["verify", "drivers", "--select", "RB01,RB030", "--ignore=rb014", "--static", "-j3", "--timeout=2.5", "-q"]
    )
    [(_, options)] = engine.calls
    assert options == {
        "select": ("RB012", "RB014", "RB030"), "ignore": ("RB014",), "jobs": 3, "static_only": True, "timeout": 2.5,
    }  # fmt: skip


def test_several_reports_in_one_run(
    engine: Engine, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    reports = ["--report", "junit=v.xml", "--report=sarif=v.sarif", "--report", "markdown=v.md"]
    assert run_app(["verify", "drivers", "--format=ndjson", *reports]) == 1
    lines = capfdbinary.readouterr().out.splitlines()
    assert json.loads(lines[-1])["event"] == "run-finished"
    assert (tmp_path / "v.xml").read_text().startswith("<?xml")
    assert json.loads((tmp_path / "v.sarif").read_text())["version"] == "2.1.0"
    assert "# ralph-bridge verify: contract violated" in (tmp_path / "v.md").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["drivers", "v.md", "v.sarif", "v.xml"]


def test_a_report_to_something_that_is_no_file(engine: Engine, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_app(["verify", "drivers", "-q", "--report", "junit=/dev/null"]) == 1
    assert not Path("/dev/null").is_file()
    assert "error" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "does not exist"),
        (["drivers", "--report", "junit"], "expected KIND=FILE"),
        (["drivers", "--report", "junti=a"], "Did you mean junit?"),
        (["drivers", "--report", "junit=no/such/a.xml"], "there is no folder no/such"),
        (["drivers", "--report", "junit=drivers"], "is a folder"),
        (["drivers", "--select", "RB12"], "there is no such check. Did you mean RB012?"),
        (["drivers", "--features", "--static", "-j2"], "--static, --jobs can't be combined with --features"),
        (["drivers", "--format", "xml"], "Invalid value for '--format'"),
        (["drivers", "--format", "tap"], "'tap' is not one of 'text', 'json', 'ndjson', 'github'"),
        (["drivers", "--report", "tap=a"], "'tap' is not a format. There are: text, json, ndjson, github"),
        ([], "Missing argument"),
    ],
)
def test_usage_is_status_2(
    engine: Engine, arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["verify", *arguments]) == 2
    assert message in capfd.readouterr().err


def test_an_environment_that_is_not_ready_is_status_4(engine: Engine, tmp_path: Path) -> None:
    engine.error = ShellStartFailed("there is no bash")
    assert run_app(["verify", "drivers", "--report", "json=v.json"]) == 4
    assert not (tmp_path / "v.json").exists()


def test_verbose_tells_of_each_script_on_stderr(engine: Engine, capfd: pytest.CaptureFixture[str]) -> None:
    run_app(["verify", "drivers", "-v"])
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "[1/3] drivers/bad.sh: 1 error in 0.2 s"
    assert lines[-1] == "3 scripts in 0.5 s"


def test_quiet_says_nothing_of_what_is_fine(engine: Engine, capfd: pytest.CaptureFixture[str]) -> None:
    engine.scripts = RUN[2:]
    assert run_app(["verify", "drivers", "-q"]) == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("flags", "shown"), [([], True), (["--no-progress"], False), (["-q"], False)])
def test_progress_on_a_terminal_only(engine: Engine, monkeypatch: pytest.MonkeyPatch, flags: list[str], shown: bool,
                                     capfd: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    run_app(["verify", "drivers", *flags])
    err = capfd.readouterr().err
    assert ("] 1/3 drivers/helper.sh" in err) is shown
    assert err.endswith("\r\x1b[K") or not shown


def test_it_ends_with_the_engines_sum(engine: Engine) -> None:
    last = events(RUN)[-1]
    assert isinstance(last, RunFinished)
    assert (last.errors, last.warnings) == (1, 1)
