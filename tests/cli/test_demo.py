"""`ralph-bridge demo` for every driver, and the stand-ins against what the real CLIs accept."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bridge.base.clis import shipped_drivers
from bridge.loop.demo.project import make_project, stand_ins
from tests.machine import mostly_slow

if TYPE_CHECKING:
    from tests.cli.conftest import Project

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="the demo needs git")


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("driver", mostly_slow(shipped_drivers(), 2))
def test_a_whole_loop(project: Project, driver: str) -> None:
    done = project.run("demo", "--driver", driver, "--dir", "demo")
    assert done.returncode == 0, done.stderr
    folder = project.folder / "demo/project"
    assert "- [ ]" not in (folder / ".ralph/@fix_plan.md").read_text()
    assert git(folder, "status", "--porcelain") == ""
    assert len(git(folder, "log", "--format=%s").splitlines()) == 5
    assert subprocess.run(["bash", "test.sh"], cwd=folder, check=False).returncode == 0
    rows = re.findall(r"^(\d) +(.+?)  +(\S+(?: new| resumed)?) +[\d.]+$", done.stdout, re.MULTILINE)
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    kinds = [row[2].rpartition(" ")[2] for row in rows]
    assert kinds == (["none"] * 4 if driver in ("copilot", "kiro") else ["new", "resumed", "resumed", "resumed"])
    assert f"project   {folder}" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert len(list((folder / ".ralph/logs").glob("driver_output_*.log"))) == 4


def test_its_table_has_80_columns(project: Project) -> None:
    done = project.run("demo", "--iterations", "2", "--dir", "demo")
    table = done.stdout[done.stdout.index("\niteration ") : done.stdout.index("\nproject ")].splitlines()
    assert max(map(len, table)) <= 80
    assert "given nobody" in " ".join(done.stdout.split())


def test_a_whole_swarm(project: Project) -> None:
    done = project.run("demo", "--swarm", "--dir", "demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" merged  ") == 4
    assert "conflicts in NAMES.txt" in done.stdout
    assert "check failed: `for script in" in done.stdout
    assert "--retry conflict" in done.stdout
    assert "next: git merge ralph/swarm/" in done.stdout


@pytest.mark.slow
def test_nothing_is_kept_when_told_so(project: Project) -> None:
    done = project.run("demo", "--no-keep", TMPDIR=str(project.folder))
    assert done.returncode == 0
    assert os.listdir(project.folder) == [".ralph"]


@pytest.mark.slow
def test_as_many_iterations_as_asked_for(project: Project) -> None:
    done = project.run("demo", "--iterations", "6", "--no-keep", "--dir", "demo")
    assert done.returncode == 0
    assert "6 of 6 tasks" in done.stdout
    assert not (project.folder / "demo").exists()
    (project.folder / "empty").mkdir()
    assert project.run("demo", "--no-keep", "--dir", "empty").returncode == 0
    assert os.listdir(project.folder / "empty") == []


def test_colour_is_a_choice(project: Project) -> None:
    done = project.run("demo", "--no-keep", FORCE_COLOR="1")
    assert "\x1b[" in done.stdout
    assert "\x1b[" not in project.run("demo", "--no-keep", FORCE_COLOR="1", NO_COLOR="1").stdout


@pytest.mark.slow
def test_the_callers_git_environment_is_left_alone(project: Project) -> None:
    git(project.folder, "init", "--quiet")
    env = {"GIT_DIR": str(project.folder / ".git"), "GIT_WORK_TREE": str(project.folder)}
    assert project.run("demo", "--dir", "demo", **env).returncode == 0
    assert "demo" not in git(project.folder, "log", "--all", "--format=%an")


def test_without_git(project: Project) -> None:
    tools = project.folder / "tools"
    tools.mkdir()
    for name in ("bash", "env", "cat"):
        (tools / name).symlink_to(shutil.which(name) or "")
    done = project.run("demo", "--dir", "demo", PATH=str(tools))
    assert done.returncode == 4
    assert "git was not found" in done.stderr
    assert not (project.folder / "demo").exists()


def test_a_folder_that_holds_something(project: Project) -> None:
    done = project.run("demo", "--dir", ".", "--no-keep")
    assert done.returncode == 2
    assert "not an empty folder" in done.stderr
    assert (project.folder / ".ralph/PROMPT.md").exists()


def test_each_driver_that_ships_has_a_stand_in() -> None:
    assert {driver.cli[0] for driver in shipped_drivers().values()} == set(stand_ins()["clis"])


@pytest.fixture
def stand_in(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, dict[str, str], str]:
    made = make_project(tmp_path / "demo", request.param, iterations=3)
    return made.folder, dict(made.env), made.cli


def call(stand_in: tuple[Path, dict[str, str], str], *arguments: str) -> subprocess.CompletedProcess[str]:
    folder, env, name = stand_in
    program = shutil.which(name, path=env["PATH"])
    assert program is not None
    return subprocess.run([program, *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("stand_in", mostly_slow(shipped_drivers(), 2), indirect=True)
def test_an_unknown_option_is_refused(stand_in: tuple[Path, dict[str, str], str]) -> None:
    about = stand_ins()["clis"][stand_in[2]]
    command = [about["command"]] if "command" in about else []
    done = call(stand_in, *command, "--no-such-option", "prompt")
    assert done.returncode == about.get("refused", 1)
    assert "--no-such-option" in done.stderr
    assert done.stdout == ""
    assert "- [x]" not in (stand_in[0] / ".ralph/@fix_plan.md").read_text()


@pytest.mark.parametrize("stand_in", mostly_slow(["claude-code", "codex", "opencode", "cursor"], 2), indirect=True)
def test_an_unknown_session_is_refused(stand_in: tuple[Path, dict[str, str], str]) -> None:
    arguments = {
        "claude": ["--output-format", "json", "--resume", "gone", "-p", "x"],
        "codex": ["exec", "--json", "--sandbox", "workspace-write", "resume", "gone", "x"],
        "opencode": ["run", "--format", "json", "--continue", "--session", "gone", "x"],
        "cursor-agent": ["-p", "--force", "--output-format", "json", "--resume", "gone", "x"],
    }[stand_in[2]]
    done = call(stand_in, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip()


@pytest.mark.parametrize("stand_in", ["claude-code"], indirect=True)
@pytest.mark.parametrize(
    "arguments",
    [
        ["--output-format", "stream-json", "-p", "x"],
        ["--output-format", "json", "--include-partial-messages", "-p", "x"],
        ["--output-format", "json", "-p", "- [ ] starts with a dash"],
        ["--output-format", "json", "-p"],
    ],
)
def test_what_claude_refuses(stand_in: tuple[Path, dict[str, str], str], arguments: list[str]) -> None:
    assert call(stand_in, *arguments).returncode == 1


def test_the_stand_in_needs_the_standard_library_only(tmp_path: Path) -> None:
    source = tmp_path / "standin.py"
    from bridge.loop.demo import standin

    shutil.copy(standin.__file__, source)
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(source), "claude", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "stand-in" in done.stdout


@pytest.mark.parametrize(
    "stand_in",
    mostly_slow(["claude-code", "codex", "opencode", "copilot", "gemini", "qwen", "pi", "droid", "kilo"], 2),
    indirect=True,
)
def test_a_stand_in_reads_its_prompt_from_stdin_as_its_model_does(
    stand_in: tuple[Path, dict[str, str], str],
) -> None:
    folder, env, name = stand_in
    words = {
        "claude": ["--permission-mode", "default", "-p"],
        "codex": ["exec", "--json", "--sandbox", "workspace-write", "-"],
        "opencode": ["run", "--format", "json"],
        "copilot": ["-s"],
        "gemini": ["--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"],
        "qwen": ["--output-format", "json", "--approval-mode", "yolo"],
        "pi": ["--mode", "json", "-p"],
        "droid": ["exec", "--output-format", "stream-json", "--auto", "high"],
        "kilo": ["run", "--auto", "--format", "json"],
    }[name]
    program = shutil.which(name, path=env["PATH"])
    assert program is not None
    asked = [program, *words]
    done = subprocess.run(asked, cwd=folder, env=env, input="Do it.\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert subprocess.run(asked, cwd=folder, env=env, input="", capture_output=True, check=False).returncode == 1


@pytest.mark.slow  # at a terminal the stand-in takes its time
def test_on_a_narrow_terminal_no_row_of_its_summary_is_wider(project: Project, tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (50, 60))
    program = [sys.executable, "-c", "from bridge.cli import main; main()", "demo", "--no-keep"]
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root), "HOME": str(tmp_path), "NO_COLOR": "1"} | {"TERM": "xterm"}
    env.pop("COLUMNS", None)
    process = subprocess.Popen(program, stdout=terminal, stderr=subprocess.DEVNULL, cwd=project.folder, env=env)
    os.close(terminal)
    shown = b""
    with suppress(OSError):  # the end of a terminal whose program is gone
        while data := os.read(controller, 4096):
            shown += data
    os.close(controller)
    assert process.wait(60) == 0
    lines = shown.decode().replace("\r", "").splitlines()
    (at,) = (number for number, line in enumerate(lines) if line.startswith("iteration  task"))
    assert max(map(len, lines[at:])) <= 60, lines[at:]
    assert lines[at].endswith("seconds")
