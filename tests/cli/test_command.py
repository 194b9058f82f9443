"""`ralph-bridge command`, as a process."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge import resources
from bridge.contract import driver_contract

if TYPE_CHECKING:
    from tests.cli.conftest import Project

PROMPT = ".ralph/PROMPT.md"
NAMES = [driver.name for driver in driver_contract().drivers.values()]
ODD = [b" a  b ", b"$(id) `id` $HOME", b"*", b"'\"\\", b"a\nb\n", b"\xff\xe9\x01", "⚡é".encode(), b"-n", b"--live"]


def of_bash(project: Project, name: str, *arguments: bytes) -> bytes:
    code = """
        CLAUDE_USE_CONTINUE=true; source "$1"; shift
        driver_build_command "$@" && printf '%s\\0' "${CLAUDE_CMD_ARGS[@]}"
    """
    script = resources.shipped("drivers") / f"{name}.sh"
    done = subprocess.run(
        ["bash", "-c", code, "bash", script, *arguments],
        cwd=project.folder,
        env=project.env,
        capture_output=True,
        timeout=60,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_nul_is_exactly_the_argv_for_any_bytes(project: Project, name: str) -> None:
    for odd in ODD:
        (project.folder / PROMPT).write_bytes(odd)
        done = project.raw("command", name, PROMPT, "--context", odd, "--session", odd, "--format", "nul")
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout == of_bash(project, name, PROMPT.encode(), odd, odd)


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
def test_nul_is_exact_in_any_locale(project: Project, locale: str) -> None:
    name = b"prompt \xff.md"
    path = bytes(project.folder) + b"/" + name
    with open(path, "wb") as file:
        file.write(b"say \xe9\n")
    done = project.raw("command", "codex", name, "--context", b"\xff", "--format", "nul", LC_ALL=locale)
    assert done.stdout.endswith(b"\0\xff\n\nsay \xe9\0")


def test_a_shell_reads_the_line_back(project: Project) -> None:
    done = project.run("command", "codex", PROMPT, "--context", "it's $HOME", "--session", "sid")
    assert done.stdout.startswith("codex exec --json --sandbox workspace-write resume sid ")
    again = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {done.stdout}"], capture_output=True, timeout=60, check=True
    )
    assert again.stdout.split(b"\0")[-2] == b"it's $HOME\n\nDo the next task."


def test_json(project: Project) -> None:
    document = json.loads(project.run("command", "opencode", PROMPT, "--format", "json").stdout)
    assert document == {
        "schema": 1,
        "driver": str(resources.shipped("drivers") / "opencode.sh"),
        "live": False,
        "argv": ["opencode", "run", "--agent", "build", "--format", "json", "Do the next task."],
    }


def test_live(project: Project) -> None:
    arguments = ("command", "claude-code", PROMPT, "--set", "CLAUDE_OUTPUT_FORMAT=json")
    assert "stream-json" not in project.run(*arguments).stdout
    assert "--output-format stream-json" in project.run(*arguments, "--live").stdout


def test_live_of_a_driver_without_the_hook_is_a_copy(project: Project) -> None:
    plain = project.run("command", "copilot", PROMPT)
    assert project.run("command", "copilot", PROMPT, "--live").stdout == plain.stdout


def test_a_session_turns_continuing_on_unless_it_is_set_otherwise(project: Project) -> None:
    assert " resume sid " in project.run("command", "codex", PROMPT, "--session", "sid").stdout
    off = project.run("command", "codex", PROMPT, "--session", "sid", "--set", "CLAUDE_USE_CONTINUE=false")
    assert "sid" not in off.stdout


def test_settings_reach_the_hook(project: Project) -> None:
    done = project.run("command", "claude-code", PROMPT, "--set", "CLAUDE_ALLOWED_TOOLS=Read, Bash(git *)")
    words = shlex.split(done.stdout)
    assert words[words.index("--allowedTools") + 1 :][:2] == ["Read", "Bash(git *)"]


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_prompt_is_one_error_with_the_hooks_words(project: Project, name: str) -> None:
    done = project.raw("command", name, "nowhere.md")
    told = done.stderr.decode()
    assert (done.returncode, done.stdout) == (1, b"")
    assert told.startswith("ralph-bridge: error: driver_build_command failed with status 1\n")
    assert "Prompt file not found: nowhere.md" in told


def test_missing_required_hooks_are_named_all_at_once(project: Project) -> None:
    project.write("mine.sh", "driver_name() { echo mine; }\ndriver_build_comand() { :; }\n")
    told = project.refused("command", "./mine.sh", PROMPT)
    for hook in ("driver_display_name", "driver_cli_binary", "driver_valid_tools", "driver_build_command"):
        assert hook in told
    assert "there is driver_build_comand" in told


def test_an_unknown_format(project: Project) -> None:
    assert "'yaml' is not one of" in project.refused("command", "codex", PROMPT, "--format", "yaml")
