"""`ralph-bridge doctor --fix`, the line that sends people to it, and doctor where there is nothing yet."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from bridge.base.git.ignore import ignore
from tests.cli.conftest import Project
from tests.machine import mostly_slow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SAMPLES = (".ralph/status.json", ".ralph/logs/ralph.log", ".ralph/.ralph_bridge.json")
ANSWER = """cat >/dev/null
printf '{"type":"result","subtype":"success","is_error":false,"result":"working","session_id":"s-1"}\\n'"""


def make(project: Project, setup: str) -> None:
    project.repository()
    if setup == "bmalph":
        project.write(".ralph/@fix_plan.md", "- [ ] one\n- [ ] two\n")
    if setup == "ralph-loop":
        (project.folder / ".ralph/PROMPT.md").unlink()
        project.write(".ralph/ralph", "#!/bin/bash\n", 0o755)
        project.write(".ralph/config", "AGENT=codex\n")
        project.write(".ralph/agents/codex.sh", "agent_invoke() { :; }\n")


def results(project: Project, *options: str) -> dict[str, dict[str, Any]]:
    done = project.run("doctor", "--json", *options)
    return {each["id"]: each for each in json.loads(done.stdout)["results"]}


def ignored(project: Project, *names: str) -> bool:
    asked = subprocess.run(["git", "check-ignore", *names], cwd=project.folder, capture_output=True, text=True)
    return asked.stdout.splitlines() == list(names)


@pytest.mark.parametrize("setup", mostly_slow(["bmalph", "plain", "ralph-loop"], 1))
def test_ignore_rules_are_added_once(project: Project, setup: str) -> None:
    make(project, setup)
    path = project.folder / ".gitignore"
    path.write_bytes(b"a\r\nb")
    before = results(project)
    assert (before["gitignore"]["status"], "fixed" in before["gitignore"]) == ("warning", False)
    assert path.read_bytes() == b"a\r\nb"
    fixed = results(project, "--fix")
    assert fixed["gitignore"]["status"] == "passed"
    assert fixed["gitignore"]["fixed"].startswith("added to .gitignore: .ralph/")
    text = path.read_bytes()
    assert text.startswith(b"a\r\nb\r\n.ralph/")
    assert ignored(project, *(SAMPLES if setup != "ralph-loop" else [".ralph/logs/session.log"]))
    assert results(project, "--fix")["gitignore"]["fixed"] is None
    assert path.read_bytes() == text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, b"x/\ny\n"),
        (b"", b"x/\ny\n"),
        (b"a\n", b"a\nx/\ny\n"),
        (b"a\r\nx/\r\n", b"a\r\nx/\r\ny\r\n"),
        (b"\xff\nb", b"\xff\nb\nx/\ny\n"),
        (b"y\nx/", b"y\nx/"),
    ],
)
def test_the_file_s_own_lines_stay(tmp_path: Path, old: bytes | None, new: bytes) -> None:
    path = tmp_path / ".gitignore"
    if old is not None:
        path.write_bytes(old)
    added = ignore(tmp_path, ["x/", "y", "x/"])
    assert path.read_bytes() == new
    assert all(line.encode() not in (old or b"").splitlines() for line in added)
    assert ignore(tmp_path, ["x/", "y"]) == []


def test_a_folder_called_logs_elsewhere_is_not_ignored(project: Project) -> None:
    """A ralph-loop setup at the project's root has its logs in ``logs/``."""
    make(project, "ralph-loop")
    for name in ("ralph", "config", "agents"):
        (project.folder / ".ralph" / name).rename(project.folder / name)
    (project.folder / ".ralph").rmdir()
    assert results(project, "--fix")["gitignore"]["fixed"] == "added to .gitignore: /logs/"
    assert ignored(project, "logs/session.log")
    assert not ignored(project, "src/logs/a.c")


def test_nothing_is_written_where_there_is_no_repository_or_no_way_to(project: Project) -> None:
    project.run("doctor", "--fix")
    assert not (project.folder / ".gitignore").exists()
    project.repository()
    (project.folder / ".gitignore").mkdir()
    found = results(project, "--fix")["gitignore"]
    assert (found["status"], found["fixed"]) == ("failed", None)
    assert "Is a directory" in found["detail"]


def test_text_for_people(project: Project) -> None:
    make(project, "plain")
    assert "`ralph-bridge doctor --fix` takes the safe steps: gitignore\n" in project.run("doctor").stdout
    done = project.run("doctor", "--fix")
    assert "✓ git ignores the loop's state\n    done: added to .gitignore: .ralph/logs/, " in done.stdout
    assert "takes the safe steps" not in project.run("doctor", "--fix").stdout


@pytest.mark.parametrize("setup", ["plain", "bmalph"])
def test_run_sees_to_it_itself_and_leaves_the_users_file_alone(project: Project, setup: str) -> None:
    make(project, setup)
    project.cli("claude", ANSWER)
    project.run("run", "--no-live", "--max-iterations", "1")
    assert ignored(project, *SAMPLES)
    assert not (project.folder / ".gitignore").exists()


def test_what_a_crash_has_left_is_cleared_and_the_folder_made(project: Project) -> None:
    make(project, "bmalph")
    given = {"test_only_loops": [], "done_signals": [1, 2], "completion_indicators": []}
    project.write(".ralph/.exit_signals", json.dumps(given))
    project.write(".ralph/progress.json", '{"status": "executing"}')
    assert results(project)["stale-state"]["status"] == "warning"
    found = results(project, "--fix")
    assert found["stale-state"]["status"] == "passed"
    assert found["stale-state"]["fixed"] == "what a crashed run had left is cleared: .exit_signals, progress.json"
    assert found["folder-writable"]["fixed"] == "made .ralph/logs/"
    assert json.loads((project.folder / ".ralph/.exit_signals").read_text())["done_signals"] == []
    assert all(each["fixed"] is None for each in results(project, "--fix").values())


@pytest.fixture
def orphan(project: Project) -> Iterator[subprocess.Popen[bytes]]:
    """A process that carries the mark of the project's loop, in a session of its own."""
    env = {**os.environ, "RALPH_BRIDGE_PROJECT": str(project.folder)}
    process = subprocess.Popen(["sleep", "600"], env=env, start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("setup", ["plain", "bmalph", "ralph-loop"])
def test_orphaned_agents_are_ended(project: Project, orphan: subprocess.Popen[bytes], setup: str) -> None:
    make(project, setup)
    (project.folder / ".ralph/logs").mkdir()
    assert results(project)["orphaned-agents"]["status"] == "failed"
    assert orphan.poll() is None
    found = results(project, "--fix")["orphaned-agents"]
    assert (found["status"], found["fixed"]) == ("passed", "ended agents without a loop: 1 process group")
    assert orphan.wait(10) < 0


def test_but_not_while_a_loop_is_at_work(project: Project, orphan: subprocess.Popen[bytes]) -> None:
    make(project, "plain")
    project.cli("claude", "(( $# > 2 )) || exit 0; cat >/dev/null; echo $$ >bin/pid; exec sleep 600")
    process = project.start("run", "--no-live")
    try:
        deadline = time.monotonic() + 30
        while not ((pid := project.folder / "bin/pid").exists() and pid.read_text()):
            assert time.monotonic() < deadline, "the agent never ran"
            time.sleep(0.01)
        found = results(project, "--fix")["orphaned-agents"]
        assert (found["status"], found["fixed"], found["detail"]) == ("passed", None, "a loop is at work")
        assert orphan.poll() is None
        assert psutil.pid_exists(int(pid.read_text()))
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def test_an_empty_folder_is_shown_the_shortest_way(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.cli("opencode", "echo 1.0")
    project.write("src/config/a.c", "")
    bare = f"{project.folder / 'bin'}:/usr/bin:/bin"
    done = project.run("doctor", PATH=bare)
    assert done.returncode == 1
    assert "next: echo 'What the agent shall do.' > PROMPT.md\n" in done.stdout
    assert "ralph-bridge run --driver opencode" in done.stdout
    assert "ralph-bridge demo" in done.stdout
    assert done.stdout.count("✗") == 1
    assert "bmalph" not in done.stdout
    project.write("PROMPT.md", "Do it.\n")
    project.repository()
    after = project.run("doctor", PATH=bare, PLATFORM_DRIVER="opencode")
    assert "✓ the project is ready for a loop (the plain loop" in after.stdout
