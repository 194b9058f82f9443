"""14 D.1: what is named and can't be verified fails, and so does a run that verified nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bridge.base import resources
from bridge.cli.app import run_app
from bridge.verify.findings import RunFinished
from bridge.verify.gherkin import features
from tests.cli.conftest import _drop_right_to_read_everything

from .runs import TELLING

if TYPE_CHECKING:
    from collections.abc import Callable

DRIVERS = resources.shipped("drivers")
ROOT = Path(__file__).parents[2]


def _text(content: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(content)


NAMED: dict[str, tuple[Callable[[Path], object], str]] = {
    "syntax": (_text("if then\n"), "RB001"),
    "syntax-and-hooks": (_text("driver_name() { echo x; }\nif then\n"), "RB001"),
    "unclosed-quote": (_text("driver_name() { echo 'x; }\n"), "RB001"),
    "empty": (_text(""), "RB005"),
    "comment": (_text("# nothing yet\n"), "RB005"),
    "no-hook": (_text("helper() { :; }\n"), "RB005"),
    "other-language": (_text("#!/usr/bin/env python3\nprint(1)\n"), "RB002"),
    "binary": (lambda path: path.write_bytes(b"\x7fELF\2\0"), "RB001"),
    "dangling": (lambda path: path.symlink_to("nowhere.sh"), "RB001"),
    "loop": (lambda path: path.symlink_to(path.name), "RB001"),
    "pipe": (os.mkfifo, "RB001"),
    "folder": (lambda path: path.mkdir(), "RB001"),
}


def _status(*arguments: object) -> int:
    return run_app(["verify", "--no-progress", *map(str, arguments)])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drivers").mkdir()
    return tmp_path


@pytest.mark.parametrize("name", NAMED)
def test_d1_a_named_file_fails_in_every_format(
    here: Path, name: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    make, code = NAMED[name]
    make(here / "drivers" / "mine.sh")
    for kind in TELLING:
        assert _status("--static", "--format", kind, "drivers/mine.sh") == 1, kind
        out = capfdbinary.readouterr().out.decode()
        assert code in out, kind
        assert "drivers/mine.sh" in out, kind
        assert "nothing to verify:" not in out or name == "folder", kind


def test_the_folder_one_is_in_holds_nothing(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in (".", "./", "drivers", "drivers/.."):
        assert _status(name) == 1, name
        assert "nothing to verify: the folder holds no visible *.sh file" in capfd.readouterr().out, name


OPTIONS = [["--select", "RB110"], ["--ignore", "RB0"], ["--strict"], ["-q"], ["-j", "3"]]


@pytest.mark.parametrize("name", NAMED)
def test_d1_no_selection_hides_it(here: Path, name: str) -> None:
    NAMED[name][0](here / "mine.sh")
    (here / "good.sh").write_bytes((DRIVERS / "codex.sh").read_bytes().replace(b'"codex"\n', b'"good"\n', 1))
    for options in OPTIONS:
        assert _status("--static", *options, "good.sh", "mine.sh") == 1, options


@pytest.mark.parametrize(
    "name", [name for name in NAMED if name != "syntax-and-hooks" and name != "unclosed-quote"]
)
def test_d1_features_say_the_same(here: Path, name: str) -> None:
    make, code = NAMED[name]
    make(here / "mine.sh")
    *_, finished, last = features.run(["mine.sh"])
    assert isinstance(last, RunFinished)
    assert last.errors == 1
    assert [finding.code for finding in finished.findings] == [code]  # type: ignore[union-attr]


def test_d1_features_say_the_same_in_a_process_of_their_own(here: Path) -> None:
    NAMED["no-hook"][0](here / "mine.sh")
    command = [sys.executable, "-m", "bridge", "verify", "--features", "mine.sh"]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "RB005 error" in done.stdout


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("empty", "other-language", "binary")]


@pytest.mark.parametrize("name", ["syntax", "no-hook", *SLOW])
@pytest.mark.parametrize("kind", ["driver", "agent"])
def test_d1_the_pytest_plugin_says_the_same(here: Path, kind: str, name: str) -> None:
    NAMED[name][0](here / "mine.sh")
    command = [sys.executable, "-m", "pytest", "-p", "pytest_bdd.plugin", "-p", "ralph_bridge_pytest", "-q"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", f"--ralph-{kind}=mine.sh", "--ralph-only"],
        cwd=here, env=env | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{NAMED[name][1]}: " in done.stdout


@pytest.mark.parametrize("name", ["syntax", "syntax-and-hooks", "unclosed-quote", "binary", "dangling", "pipe"])
def test_d1_what_bash_cannot_source_is_not_passed_over_in_a_folder(here: Path, name: str) -> None:
    shutil.copy(DRIVERS / "codex.sh", here / "drivers")
    NAMED[name][0](here / "drivers" / "broken.sh")
    assert _status("--static", "drivers") == 1


@pytest.mark.parametrize("name", ["no-hook", "empty", "other-language"])
def test_d1_helpers_in_a_folder_are_passed_over(here: Path, name: str) -> None:
    shutil.copy(DRIVERS / "codex.sh", here / "drivers")
    NAMED[name][0](here / "drivers" / "helper.sh")
    assert _status("--static", "drivers") == 0


@pytest.mark.parametrize("arguments", [["drivers"], ["drivers", "--static"], ["drivers", "--features"]])
@pytest.mark.parametrize("inside", [[], ["helper.sh"], ["helper.sh", "other.sh"], ["README.md"]])
def test_d1_a_run_that_verified_nothing_fails(
    here: Path, arguments: list[str], inside: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    for name in inside:
        (here / "drivers" / name).write_text("helper() { :; }\n")
    assert _status(*arguments, "--report", "json=v.json") == 1
    document: dict[str, Any] = json.loads((here / "v.json").read_text())
    assert document["summary"]["errors"] == 1
    [finding] = [f for script in document["scripts"] for check in script["checks"] for f in check["findings"]]
    assert "nothing " in finding["message"]
    assert "1 error" in capfd.readouterr().out


def test_d1_a_selection_that_leaves_nothing_fails(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copy(DRIVERS / "codex.sh", here / "drivers")
    assert _status("--static", "drivers", "--select", "RB17") == 1  # checks of agents
    assert "nothing was verified" in capfd.readouterr().out


@pytest.mark.parametrize("program", ["/nowhere/bash", "true", "crashes"])
def test_d1_without_a_bash_that_runs_no_script_is_blamed(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], program: str
) -> None:
    shutil.copy(DRIVERS / "codex.sh", here / "drivers")
    if program == "crashes":
        program = str(here / "crashes")
        Path(program).write_text("#!/bin/sh\nkill -SEGV $$\n")
        Path(program).chmod(0o755)
    monkeypatch.setenv("RALPH_BRIDGE_BASH", program)
    assert _status("drivers") == 4
    assert _status("--static", "drivers", "--select", "RB110") == 4
    assert "RALPH_BRIDGE_BASH" in capfd.readouterr().err


def test_d1_a_path_that_is_not_there_is_a_usage_error(here: Path) -> None:
    assert _status("nowhere.sh") == 2
    assert _status("--features", "nowhere.sh") == 2


def test_d1_a_helper_is_known_by_the_driver_beside_it() -> None:
    cursor, wrapper, codex = (DRIVERS / name for name in ("cursor.sh", "cursor-agent-wrapper.sh", "codex.sh"))
    assert _status("--static", cursor, wrapper) == 0
    assert _status("--static", codex, wrapper) == 1
    assert _status("--static", wrapper) == 1


def test_d1_a_driver_may_source_its_hooks(here: Path) -> None:
    shutil.copy(DRIVERS / "codex.sh", here / "base.txt")
    (here / "drivers" / "codex.sh").write_text('source "${BASH_SOURCE[0]%/*}/../base.txt"\n')
    assert _status("drivers/codex.sh") == 0


def test_d1_what_may_not_be_read_fails(here: Path) -> None:
    shutil.copy(DRIVERS / "codex.sh", here / "drivers")
    (here / "drivers" / "codex.sh").chmod(0)
    for named in ("drivers/codex.sh", "drivers"):
        done = subprocess.run(
            [sys.executable, "-m", "bridge", "verify", named],
            cwd=here,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=_drop_right_to_read_everything,
        )
        assert (done.returncode, "RB001" in done.stdout) == (1, True), done.stdout + done.stderr
