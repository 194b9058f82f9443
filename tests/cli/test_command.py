"""`ralph-bridge command`, as a process."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from bridge.base import resources
from bridge.scripts.contract import driver_contract

if TYPE_CHECKING:
    from tests.cli.conftest import Project

PROMPT = ".ralph/PROMPT.md"
NAMES = [driver.name for driver in driver_contract().drivers.values()]
ODD = [b" a  b ", b"$(id) `id` $HOME", b"*", b"'\"\\", b"a\nb\n", b"\xff\xe9\x01", "⚡é".encode(), b"-n", b"--live"]


def of_bash(project: Project, name: str, *arguments: bytes) -> bytes:
    code = """
        CLAUDE_USE_CONTINUE=true CLAUDE_OUTPUT_FORMAT=json CLAUDE_PERMISSION_MODE=bypassPermissions
        source "$1"; shift
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


C6_DRIVER = """
driver_name() { echo mine; }
driver_display_name() { echo Mine; }
driver_cli_binary() { echo mine; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Read); }
WHILE_LOADED="$CLAUDE_OUTPUT_FORMAT"
driver_build_command() {
    CLAUDE_CMD_ARGS=("$WHILE_LOADED" "$CLAUDE_OUTPUT_FORMAT" "$CLAUDE_PERMISSION_MODE" "$CLAUDE_ALLOWED_TOOLS"
        "$CLAUDE_USE_CONTINUE" "$RALPHRC_FILE")
}
"""
C6_ASKED = {
    "command": ("command", "./mine.sh", PROMPT, "--format", "json"),
    "call": ("call", "./mine.sh", "driver_build_command", PROMPT, "", "", "--json"),
}


@pytest.mark.parametrize("asked", C6_ASKED)
@pytest.mark.parametrize(
    ("top", "env", "options", "expected"),
    [
        ("", {}, (), ["json", "json", "bypassPermissions", "", "true", ".ralphrc"]),
        ("", {"CLAUDE_OUTPUT_FORMAT": "", "CLAUDE_USE_CONTINUE": "", "RALPHRC_FILE": ""}, (),
         ["json", "json", "bypassPermissions", "", "true", ".ralphrc"]),
        ("", {"CLAUDE_OUTPUT_FORMAT": "text", "CLAUDE_ALLOWED_TOOLS": "Read"}, (),
         ["text", "text", "bypassPermissions", "Read", "true", ".ralphrc"]),
        ("CLAUDE_PERMISSION_MODE=plan; RALPHRC_FILE=''", {"CLAUDE_PERMISSION_MODE": "auto"}, (),
         ["json", "json", "plan", "", "true", ""]),
        ("CLAUDE_PERMISSION_MODE=plan", {"CLAUDE_PERMISSION_MODE": "auto"},
         ("CLAUDE_PERMISSION_MODE=default", "CLAUDE_USE_CONTINUE=", "RALPHRC_FILE=it's"),
         ["json", "json", "default", "", "", "it's"]),
    ],
    ids=["nothing", "empty", "environment", "script", "set"],
)  # fmt: skip
def test_c6_globals_have_the_contracts_defaults(
    project: Project, asked: str, top: str, env: dict[str, str], options: tuple[str, ...], expected: list[str]
) -> None:
    project.write("mine.sh", C6_DRIVER + top + "\n")
    done = project.run(*C6_ASKED[asked], *(word for option in options for word in ("--set", option)), **env)
    document = json.loads(done.stdout)
    assert (document["globals"]["CLAUDE_CMD_ARGS"] if asked == "call" else document["argv"]) == expected


COMMANDS_WITH_A_NAME = {
    "command": (PROMPT,),
    "call": ("driver_name",),
    "inspect": (),
    "session-id": ("output.log",),
    "run": ("--dry-run", "--driver"),
}


def _named(command: str, name: str) -> tuple[str, ...]:
    words = COMMANDS_WITH_A_NAME[command]
    return (command, *words, name) if command == "run" else (command, name, *words)


@pytest.mark.parametrize("command", COMMANDS_WITH_A_NAME)
def test_c6_a_name_means_the_projects_own_driver_and_the_contracts_path_comes_second(
    project: Project, command: str
) -> None:
    project.write("output.log", '{"session_id": "sid-1"}\n')
    project.write("ralph/drivers/own.sh", C6_DRIVER)
    assert project.run(*_named(command, "own")).returncode == 0
    project.write("ralph/drivers/codex.sh", C6_DRIVER.replace("echo mine", "echo second"))
    assert project.run("call", "codex", "driver_name").stdout == "second\n"
    project.write(".ralph/drivers/codex.sh", C6_DRIVER.replace("echo mine", "echo first"))
    assert project.run("call", "codex", "driver_name").stdout == "first\n"


@pytest.mark.parametrize("command", COMMANDS_WITH_A_NAME)
def test_c6_an_unknown_name_comes_with_the_places_and_the_likely_one(project: Project, command: str) -> None:
    project.write("output.log", "{}\n")
    project.write("ralph/drivers/mine-own.sh", C6_DRIVER)
    told = project.refused(*_named(command, "mine_own"))
    words = [
        "Did you mean mine-own?", f"{project.folder}/.ralph/drivers", f"{project.folder}/ralph/drivers",
        str(resources.shipped("drivers")),
    ]  # fmt: skip
    assert [word for word in words if word not in told] == []


def test_c6_so_does_a_driver_that_the_settings_name(project: Project) -> None:
    project.write("ralph/drivers/mine-own.sh", C6_DRIVER)
    project.write(".ralph/.ralphrc", "PLATFORM_DRIVER=mine_own\n")
    project.repository()
    told = project.refused("run", "--dry-run")
    words = ["searched: .ralph/drivers, ralph/drivers", "expected one of: mine-own. Did you mean mine-own?"]
    assert [word for word in words if word not in told] == []


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
