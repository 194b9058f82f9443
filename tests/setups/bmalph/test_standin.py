"""``adopt``, ``eject``, and ``ralph_loop.sh`` in between, as `bmalph run` starts it."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from tests.setups.bmalph import readers

if TYPE_CHECKING:
    from tests.setups.bmalph.conftest import Project


@pytest.fixture
def adopted(installed: Project) -> Project:
    done = installed.run("adopt")
    assert done.returncode == 0, done.stderr
    return installed


def test_adopt_keeps_the_marker_and_eject_gives_every_byte_back(installed: Project) -> None:
    path = installed.path / ".ralph/ralph_loop.sh"
    before, mode, times = path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns
    assert installed.controller("a b").stdout == "original a b\n"
    assert installed.run("adopt").returncode == 0
    lines = path.read_text().split("\n")
    assert lines[1] == "# bmalph-version: 2.11.0"
    assert path.with_name("ralph_loop.sh.original").read_bytes() == before
    assert installed.controller("--help").stdout.startswith("Usage: ralph_loop.sh")
    assert "already" in installed.run("adopt").stdout
    assert installed.run("eject").returncode == 0
    assert (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) == (before, mode, times)
    assert not path.with_name("ralph_loop.sh.original").exists()
    assert "nothing to undo" in installed.run("eject").stdout


def test_an_upgrade_in_between_is_not_overwritten(adopted: Project) -> None:
    adopted.write(".ralph/ralph_loop.sh", "#!/bin/bash\n# bmalph-version: 2.12.0\necho new\n")
    done = adopted.run("eject")
    assert (done.returncode, "replaced since" in done.stderr) == (2, True)
    assert adopted.run("adopt").returncode == 0
    assert "# bmalph-version: 2.12.0" in adopted.read(".ralph/ralph_loop.sh").split("\n")[:2]
    assert adopted.run("eject").returncode == 0
    assert adopted.read(".ralph/ralph_loop.sh").endswith("echo new\n")


def test_without_a_marker_there_is_none(installed: Project) -> None:
    installed.write(".ralph/ralph_loop.sh", "#!/bin/bash\necho x\n", 0o755)
    installed.run("adopt")
    assert "bmalph-version" not in installed.read(".ralph/ralph_loop.sh")
    assert os.stat(installed.path / ".ralph/ralph_loop.sh").st_mode & stat.S_IXUSR


def test_adopting_where_there_is_no_controller(project: Project) -> None:
    done = project.run("adopt", "--setup", "bmalph")
    assert (done.returncode, "there is no" in done.stderr, "next: " in done.stderr) == (2, True, True)


def test_t26_help_creates_nothing(adopted: Project, tmp_path: object) -> None:
    before = adopted.files()
    for words in (["--help"], ["--status"], ["--calls"], ["--nonsense"], ["--timeout", "0"]):
        adopted.controller(*words)
    assert adopted.files() == before


@pytest.mark.parametrize("option", ["--help", "--status", "--circuit-status", "--reset-circuit", "--reset-session"])
def test_t26_without_the_folder_nothing_is_created(adopted: Project, option: str) -> None:
    elsewhere = adopted.path / "elsewhere"
    elsewhere.mkdir()
    script = adopted.path / ".ralph/ralph_loop.sh"
    done = adopted.program(["sh", "-c", 'cd elsewhere && exec bash "$@"', "sh", str(script), option])
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir(elsewhere) == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--calls"], 1, "--calls needs a value"),
        (["--timeout", "0"], 1, "1 to 120"),
        (["--nonsense"], 1, "Unknown option: --nonsense"),
        (["--calls", "x"], 1, "--calls is 'x' on the command line: expected a whole number ≥ 1"),
        (["--prompt", "none.md"], 1, "none.md (--prompt on the command line) is not there"),
    ],
)
def test_t26_errors_end_with_1_and_touch_no_state(adopted: Project, words: list[str], code: int, said: str) -> None:
    adopted.write(".ralph/status.json", '{"status": "running"}')
    before = adopted.files()
    done = adopted.controller(*words)
    assert (done.returncode, done.stdout, said in done.stderr) == (code, "", True), done.stderr
    assert adopted.read(".ralph/status.json") == '{"status": "running"}'
    assert adopted.files() == before


def test_settings_that_cannot_be_used_end_with_1_here(adopted: Project) -> None:
    adopted.write(".ralph/.ralphrc", "CB_COOLDOWN_MINUTES=x\nPERMISSION_DENIAL_MODE=stop\n")
    done = adopted.controller()
    assert done.returncode == 1
    assert "CB_COOLDOWN_MINUTES is 'x' in .ralph/.ralphrc line 1" in done.stderr
    assert "PERMISSION_DENIAL_MODE is 'stop' in .ralph/.ralphrc line 2" in done.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("rm -r .git", "is not a git repository"),
        ("rm -r .git && git init -q", "has no commit yet"),
        ("rm .ralph/PROMPT.md", "PROMPT.md"),
    ],
)
def test_what_is_missing_before_a_loop(adopted: Project, change: str, said: str) -> None:
    adopted.program(["sh", "-c", change])
    done = adopted.controller()
    assert (done.returncode, said in done.stderr) == (1, True), done.stderr


@pytest.mark.parametrize(
    ("words", "loops", "reason"),
    [
        (["--max-iterations", "2"], [2], "max_iterations"),
        (["--max-minutes", "0.0001"], [0, 1], "max_minutes"),
        (["--max-iterations", "1", "--live", "--max-minutes", "60"], [1], "max_iterations"),
    ],
)
def test_c7_it_ends_when_it_is_told_to(adopted: Project, words: list[str], loops: list[int], reason: str) -> None:
    adopted.cli("claude", """echo '{"type":"result","result":"going on","session_id":"s"}'""")
    done = adopted.controller(*words, RALPH_BRIDGE_PAUSE_SECONDS="0")
    status = json.loads(adopted.read(".ralph/status.json"))
    assert (done.returncode, status["exit_reason"]) == (0, reason), done.stderr
    assert status["loop_count"] in loops


def test_status(adopted: Project) -> None:
    assert "No status" in adopted.controller("--status").stdout
    adopted.write(".ralph/status.json", '{"loop_count":3,"status":"running"}')
    done = adopted.controller("-s")
    assert done.returncode == 0
    assert '\n{\n  "loop_count": 3,\n  "status": "running"\n}\n' in done.stdout


def test_the_breaker_shown_and_reset(adopted: Project) -> None:
    done = adopted.controller("--circuit-status")
    assert (done.returncode, "CLOSED" in done.stdout, "null" in done.stdout) == (0, True, False)
    assert json.loads(adopted.read(".ralph/.circuit_breaker_history")) == []
    folder = adopted.path / ".ralph"
    opened = readers.breaker(folder) | {
        "state": "OPEN",
        "consecutive_no_progress": 3,
        "reason": "why",
        "total_opens": 2,
    }
    adopted.write(".ralph/.circuit_breaker_state", json.dumps(opened))
    assert "why" in adopted.controller("--circuit-status").stdout
    adopted.write(".ralph/.claude_session_id", "abc\n")
    assert adopted.controller("--reset-circuit").returncode == 0
    closed = readers.breaker(folder)
    assert (closed["state"], closed["consecutive_no_progress"], closed["total_opens"]) == ("CLOSED", 0, 0)
    assert closed["reason"] == "Manual reset via command line"
    assert json.loads(adopted.read(".ralph/.circuit_breaker_history"))[-1]["from_state"] == "OPEN"
    assert readers.session(folder)["reset_reason"] == "manual_circuit_reset"
    assert not (folder / ".claude_session_id").exists()


def test_the_session_reset(adopted: Project) -> None:
    adopted.write(".ralph/.exit_signals", '{"done_signals":[1,2]}')
    assert adopted.controller("--reset-session").returncode == 0
    assert readers.session(adopted.path / ".ralph")["reset_reason"] == "manual_reset_flag"
    assert json.loads(adopted.read(".ralph/.exit_signals"))["done_signals"] == []


def test_ralph_dir_that_cannot_be_used(adopted: Project) -> None:
    done = adopted.controller("--status", RALPH_DIR="../x")
    assert (done.returncode, "RALPH_DIR is '../x'" in done.stderr) == (1, True)


def test_c3_log_status_of_the_driver_reaches_the_log(adopted: Project) -> None:
    path = adopted.path / ".ralph/drivers/claude-code.sh"
    path.write_text(
        path.read_text()
        + 'log_status INFO "loaded"\n'
        + 'driver_cli_binary() { log_status WARN "here today"; echo claude; }\n'
    )
    adopted.cli("claude", "sed -i 's/- \\[ \\]/- [x]/' .ralph/@fix_plan.md; echo done")
    dry = adopted.run("run", "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert not (adopted.path / ".ralph/logs").exists()
    assert adopted.run("doctor").returncode == 0
    assert not (adopted.path / ".ralph/logs").exists()
    done = adopted.controller()
    assert done.returncode == 0, done.stderr
    lines = adopted.read(".ralph/logs/ralph.log").splitlines()
    assert [line[22:] for line in lines if "loaded" in line or "today" in line][:2] == [
        "[INFO] loaded",
        "[WARN] here today",
    ]


def test_c10_a_sandbox_that_is_asked_for_ends_the_stand_in_before_its_loop(adopted: Project) -> None:
    done = adopted.controller(SANDBOX_PROVIDER="e2b")
    assert (done.returncode, "SANDBOX_PROVIDER=e2b in the environment" in done.stderr) == (1, True)
    assert adopted.controller("--status", SANDBOX_PROVIDER="e2b").returncode == 0
