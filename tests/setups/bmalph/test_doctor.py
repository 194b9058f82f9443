"""``ralph-bridge doctor`` and ``status``, as processes, in good and broken projects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from bridge.base import resources
from bridge.base.process.leftovers import MARK
from bridge.base.process.table import running_in
from bridge.loop.setups.bmalph.doctor import CHECKS
from bridge.loop.setups.diagnosis import DoctorCheck, Examined, examine, passed
from bridge.loop.setups.dot_ralph.doctor import DriverCase
from bridge.loop.setups.dot_ralph.exits import ExitSignals, write_signals
from tests.setups.bmalph import writing

if TYPE_CHECKING:
    from tests.setups.bmalph.conftest import Project


def doctor(project: Project, **env: str) -> tuple[int, dict[str, dict[str, Any]], dict[str, int]]:
    done = project.run("doctor", "--json", **env)
    document = json.loads(done.stdout)
    assert document["schema"] == 1
    return done.returncode, {each["id"]: each for each in document["results"]}, document["summary"]


def some(project: Project, *names: str) -> dict[str, tuple[str, str, str]]:
    """Only these checks, in this process."""
    case = DriverCase(project.folder, project.environment())
    found = examine(case, {name: CHECKS[name] for name in names})
    return {each.id: (each.status, each.detail, each.hint) for each in found}


def test_a_good_project(installed: Project) -> None:
    subprocess.run(["git", "config", "user.name", "t"], cwd=installed.path, check=True)
    subprocess.run(["git", "config", "user.email", "t@example.org"], cwd=installed.path, check=True)
    before = installed.files()
    code, results, summary = doctor(installed)
    assert [each for each in results.values() if each["status"] != "passed"] == []
    assert code == 0
    assert summary == {"passed": len(CHECKS), "failed": 0, "total": len(CHECKS), "warnings": 0}
    assert list(results) == list(CHECKS)
    assert results["cli-version"]["detail"] == "2.1.9 (at least 2.0.76)"
    assert set(results["prompt"]) == {"id", "label", "status", "passed", "detail", "hint"}
    assert installed.files() == before


def test_a_project_where_nothing_is_right(project: Project) -> None:
    project.write(".ralph/.ralphrc", "CB_COOLDOWN_MINUTES=x\n")
    project.write(".ralph/status.json", "{")
    project.write(".ralph/.circuit_breaker_state", "{")
    (project.path / ".ralph/PROMPT.md").unlink()
    code, results, summary = doctor(project, PATH="/usr/bin:/bin")
    assert code == 1
    failed = {name for name, each in results.items() if each["status"] == "failed"}
    assert failed == {"git-repo", "ralphrc", "status-file", "circuit-breaker"}
    assert all(results[name]["hint"] for name in failed)
    assert "line 1" in results["ralphrc"]["detail"]
    assert "not looked at" in results["prompt"]["detail"]
    assert summary["failed"] == len(failed)


def test_text_for_people(project: Project) -> None:
    project.write(".ralph/.ralphrc", "")
    done = project.run("doctor", PATH="/usr/bin:/bin")
    assert done.returncode == 1
    assert "✗ git repository with commits (not a git repository)\n    next: git init" in done.stdout
    assert done.stdout.rstrip().endswith("failed")
    assert "\x1b" not in done.stdout
    assert project.run("doctor", "--project", "nowhere").returncode == 2
    assert "x git repository" in project.run("doctor", PYTHONIOENCODING="ascii").stdout


def test_one_check_never_costs_another_its_turn(project: Project) -> None:
    def broken(_case: DriverCase) -> Examined:
        raise RuntimeError("bang")

    def endless(_case: DriverCase) -> Examined:
        os.read(reader, 1)
        return passed()

    reader, writer = os.pipe()
    checks = {
        "broken": DoctorCheck("a", broken),
        "endless": DoctorCheck("b", endless, timeout=0.05),
        "fine": DoctorCheck("c", lambda _case: passed("here")),
    }
    found = list(examine(DriverCase(project.folder, {}), checks))
    os.close(writer)
    assert [(each.id, each.status) for each in found] == [
        ("broken", "failed"),
        ("endless", "failed"),
        ("fine", "passed"),
    ]
    assert "bang" in found[0].detail
    assert "longer than 0.05 s" in found[1].detail


@pytest.mark.parametrize(
    ("code", "status_", "said"),
    [
        ("echo 1.9.9", "failed", "1.9.9, older than 2.0.76"),
        ("echo nothing", "warning", "says 'nothing'"),
        ("echo 3.0; exit 3", "warning", "status 3"),
        ("echo v10.0.0-beta >&2", "passed", "10.0.0"),
    ],
)
def test_the_clis_version(installed: Project, code: str, status_: str, said: str) -> None:
    installed.cli("claude", code)
    found = some(installed, "cli-version")["cli-version"]
    assert (found[0], said in found[1]) == (status_, True), found


@pytest.mark.parametrize(("answer", "status_"), [("return 1", "failed"), ("return 0", "passed"), (None, "passed")])
def test_the_driver_is_asked_whether_its_cli_can_be_used(
    installed: Project, answer: str | None, status_: str
) -> None:
    text = (resources.shipped("drivers") / "claude-code.sh").read_text()
    hook = "" if answer is None else f"driver_check_available() {{ {answer}; }}\n"
    installed.write(".ralph/drivers/claude-code.sh", f"{text}\nunset -f driver_check_available\n{hook}")
    installed.cli("claude", "echo 9.9.9")
    found = some(installed, "cli-available")["cli-available"]
    assert found[0] == status_, found
    if status_ == "failed":
        assert found[1].endswith("/claude, and driver_check_available says that it can't be used")
        assert found[2] == "ralph-bridge call .ralph/drivers/claude-code.sh driver_check_available"


def test_a_driver_of_the_project_that_is_broken(installed: Project) -> None:
    installed.write(".ralph/drivers/claude-code.sh", "driver_name() { echo x; }\n")
    found = some(installed, "driver", "driver-contract", "cli-available", "prompt")
    assert found["driver"][0] == "failed"
    assert "driver_build_command" in found["driver"][1]
    assert found["driver-contract"][0] == "failed"
    assert found["driver-contract"][2].startswith("ralph-bridge verify .ralph/drivers/claude-code.sh")
    assert found["prompt"][0] == "passed"


def test_t06_tracked_state_and_what_to_ignore(installed: Project) -> None:
    installed.write(".gitignore", "bin/\n")
    installed.write(".ralph/status.json", "{}")
    installed.git("add", "-A")
    found = some(installed, "gitignore", "tracked-state")
    assert found["tracked-state"][0] == "warning"
    assert "1 state files: .ralph/status.json" in found["tracked-state"][1]
    assert "git rm" in found["tracked-state"][2]
    subprocess.run(["sh", "-c", found["gitignore"][2]], cwd=installed.path, check=True)
    assert some(installed, "gitignore")["gitignore"][0] == "passed"
    assert installed.git("check-ignore", ".ralph/PROMPT.md", ".ralph/.call_count") == ".ralph/.call_count\n"


def test_t07_stale_state(installed: Project) -> None:
    installed.write(".ralph/.exit_signals", write_signals(ExitSignals(done_signals=(1, 2))))
    found = some(installed, "stale-state")["stale-state"]
    assert (found[0], ".exit_signals" in found[1]) == ("warning", True)


def test_the_breaker(installed: Project) -> None:
    record = {"state": "OPEN", "consecutive_no_progress": 3, "reason": "No progress", "total_opens": 1}
    for minutes, verdict in ((1, "failed"), (31, "warning")):
        opened = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time() - minutes * 60))
        installed.write(".ralph/.circuit_breaker_state", json.dumps(record | {"opened_at": opened}))
        found = some(installed, "circuit-breaker")["circuit-breaker"]
        assert (found[0], found[1].startswith("OPEN - No progress")) == (verdict, True)


def test_t02_agents_without_a_loop_are_found(installed: Project) -> None:
    env = os.environ | {MARK: str(installed.path)}
    with subprocess.Popen(["sleep", "60"], env=env) as agent:
        found = some(installed, "orphaned-agents")["orphaned-agents"]
        agent.kill()
    assert (found[0], found[2]) == ("failed", f"end them: kill {agent.pid}")


def test_t16_the_original_loop_beside_us_is_found(installed: Project) -> None:
    script = installed.write(".ralph/ralph_loop.sh", "read -r _ < go\n")
    os.mkfifo(installed.path / "go")
    with subprocess.Popen(["bash", str(script)], cwd=installed.path) as loop:
        while not running_in(installed.path, "ralph_loop.sh"):
            assert loop.poll() is None
        found = some(installed, "second-loop")["second-loop"]
        seen = json.loads(installed.run("status", "--json").stdout)
        loop.kill()
    assert (found[0], str(loop.pid) in found[1]) == ("failed", True)
    assert (seen["running"], seen["holder"]["pid"]) == (True, loop.pid)


def test_status_of_a_loop(installed: Project) -> None:
    assert json.loads(installed.run("status", "--json").stdout)["loop"] is None
    assert "none has run here yet" in installed.run("status").stdout
    now = time.time()
    for event in (writing.prepared(), writing.started(4), writing.progress("building\x1b[31m", 1, 12)):
        writing.record(installed.folder, event, now)
    installed.write(".ralph/.call_count", "7\n")
    installed.write(".ralph/.claude_session_id", "agent-1\n")
    seen = json.loads(installed.run("status", "--json").stdout)
    assert (seen["schema"], seen["loop"], seen["status"], seen["running"], seen["stale"]) == (
        1,
        4,
        "running",
        False,
        True,
    )
    assert (seen["calls"]["made"], seen["calls"]["limit"]) == (7, 100)
    assert seen["session"]["agent"] == "agent-1"
    installed.write(".ralph/.claude_session_id", "no id at all\n")
    assert json.loads(installed.run("status", "--json").stdout)["session"]["agent"] is None
    assert seen["plan"] == {"done": 1, "total": 2, "next": "Story 1.2: two"}
    holder = (
        "import sys, time\nfrom bridge.loop.engine import lock, run_record\n"
        "from bridge.loop.setups.dot_ralph.folder import locate\nfolder = locate('.', {})\n"
        "with lock.one_loop(folder.path, folder.project):\n"
        "    run_record.begin_run(folder.path, command=['x'], now=time.time())\n"
        "    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder],
        cwd=installed.path,
        env=installed.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as loop:
        assert loop.stdout is not None
        loop.stdout.readline()
        seen = json.loads(installed.run("status", "--json").stdout)
        text = installed.run("status").stdout
        loop.communicate("")
    assert (seen["running"], seen["stale"], seen["holder"]["pid"]) == (True, False, loop.pid)
    assert f"{loop.pid}, for " in text
    assert "1 of 2 done" in text
    assert "\x1b" not in text
