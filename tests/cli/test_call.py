"""`ralph-bridge call`, as a process."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Project

SCRIPT = r"""
driver_name() { echo mine; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Read "Bash(git *)"); }
both() { printf 'out\xff'; printf 'err\n' >&2; return "${1:-0}"; }
args() { printf '<%s>' "$@"; }
settings() { args "$X0" "$X1" "$X2" "$X3" "$X4" "$X5" "$X6" "$X7" "$X8"; }
stdin() { cat; }
globals() { NEW=new; CHANGED=after; ARRAY=(a "b c"); unset GONE; }
CHANGED=before GONE=here
stop() { exit 7; }
hang() { while :; do :; done; }
"""
# Every odd command line in the same words: the command, and what comes behind SCRIPT.
COMMANDS = {
    "call": ("driver_name",),
    "command": (".ralph/PROMPT.md",),
    "inspect": (),
    "session-id": ("output.log",),
}


@pytest.fixture
def script(project: Project) -> str:
    project.write("mine.sh", SCRIPT)
    project.write("output.log", "{}\n")
    return "./mine.sh"


# -- what it prints ------------------------------------------------------------------------------------------


def test_outputs_go_to_their_own_streams_byte_for_byte(project: Project, script: str) -> None:
    done = project.raw("call", script, "both")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"out\xff", b"err\n")


@pytest.mark.parametrize(("status", "code"), [("0", 0), ("1", 1), ("3", 1), ("255", 1)])
def test_exit_code_tells_whether_the_hook_succeeded(project: Project, script: str, status: str, code: int) -> None:
    assert project.raw("call", script, "both", status).returncode == code
    document = json.loads(project.run("call", script, "both", status, "--json").stdout)
    assert document["status"] == int(status)


def test_globals_that_a_hook_answers_in_are_printed_as_bash_would_read_them(project: Project) -> None:
    done = project.run("call", "codex", "driver_build_command", ".ralph/PROMPT.md", "it's", "sid", "--json")
    argv = json.loads(done.stdout)["globals"]["CLAUDE_CMD_ARGS"]
    done = project.run("call", "codex", "driver_build_command", ".ralph/PROMPT.md", "it's", "sid")
    name, _, value = done.stdout.partition("=")
    assert name == "CLAUDE_CMD_ARGS"
    assert shlex.split(value.strip().removeprefix("(").removesuffix(")")) == argv


def test_json_has_schema_and_everything_about_the_call(project: Project, script: str) -> None:
    done = project.run("call", script, "globals", "--json", "--read", "ARRAY", "--read", "NOT_SET")
    document = json.loads(done.stdout)
    assert document == {
        "schema": 1,
        "script": str(project.folder / "mine.sh"),
        "hook": "globals",
        "arguments": [],
        "status": 0,
        "stdout": "",
        "stderr": "",
        "globals": {"NEW": "new", "CHANGED": "after", "ARRAY": ["a", "b c"], "GONE": None, "NOT_SET": None},
        "changed": ["ARRAY", "CHANGED", "GONE", "NEW"],
    }


def test_the_example_of_the_documentation(project: Project) -> None:
    arguments = ("driver_build_command", ".ralph/PROMPT.md", "ctx", "sid", "--set", "CLAUDE_USE_CONTINUE=true")
    document = json.loads(project.run("call", "codex", *arguments, "--json").stdout)
    command = ["codex", "exec", "--json", "--sandbox", "workspace-write", "resume", "sid"]
    assert document["globals"] == {"CLAUDE_CMD_ARGS": [*command, "ctx\n\nDo the next task."]}


def test_bytes_in_json_are_lone_surrogates(project: Project, script: str) -> None:
    done = project.raw("call", script, "args", b"a\xff\xe9", "--json")
    document = json.loads(done.stdout)
    assert document["stdout"].encode("utf-8", "surrogateescape") == b"<a\xff\xe9>"
    assert document["arguments"] == ["a\udcff\udce9"]


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "POSIX"])
def test_arguments_and_settings_arrive_byte_for_byte_in_any_locale(
    project: Project, script: str, locale: str
) -> None:
    odd = [b"", b" a  b ", b"$(id)", b"`id`", b"*", b"'\"\\", b"a\nb\n", b"\xff\xe9\x01", "⚡é".encode()]
    done = project.raw("call", script, "args", "--", *odd, LC_ALL=locale)
    assert done.stdout == b"".join(b"<" + each + b">" for each in odd)
    pairs = [word for n, each in enumerate(odd) for word in ("--set", b"X%d=" % n + each)]
    done = project.raw("call", script, "settings", *pairs, LC_ALL=locale)
    assert done.stdout == b"".join(b"<" + each + b">" for each in odd)


def test_arguments_that_look_like_options_follow_two_dashes(project: Project, script: str) -> None:
    done = project.run("call", script, "args", "--", "--json", "-n", "--set", "--")
    assert done.stdout == "<--json><-n><--set><-->"


def test_stdin_of_the_hook_is_a_file_or_nothing(project: Project, script: str) -> None:
    project.write("input", "line\n")
    assert project.raw("call", script, "stdin", stdin=b"of the terminal").stdout == b""
    assert project.run("call", script, "stdin", "--stdin", "input").stdout == "line\n"


def test_an_isolated_call_shows_its_globals_too(project: Project, script: str) -> None:
    done = project.run("call", script, "globals", "--isolated", "--read", "NEW", "--read", "GONE")
    assert done.stdout == "NEW=new\nunset GONE\n"


def test_a_value_may_hold_equals_signs(project: Project, script: str) -> None:
    done = project.run("call", script, "driver_name", "--set", "A=b=c", "--set", "E=", "--read", "A", "--read", "E")
    assert done.stdout == "mine\nA=b=c\nE=''\n"


# -- how calls end otherwise ---------------------------------------------------------------------------------


def test_an_exit_in_the_hook_is_an_error_of_the_call(project: Project, script: str) -> None:
    assert "stop called exit 7" in project.refused("call", script, "stop", code=1)


def test_a_hook_that_never_ends(project: Project, script: str) -> None:
    assert "hang did not end within 0.3 s" in project.refused("call", script, "hang", "--timeout", "0.3", code=1)


# -- bad input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
class TestBadScripts:
    def test_missing(self, project: Project, script: str, command: str) -> None:
        told = project.refused(command, "./nowhere.sh", *COMMANDS[command])
        assert "nowhere.sh does not exist" in told

    def test_directory(self, project: Project, script: str, command: str) -> None:
        assert "is a directory" in project.refused(command, "./.ralph", *COMMANDS[command])

    def test_another_language(self, project: Project, script: str, command: str) -> None:
        project.write("a.sh", "#!/usr/bin/env python3\nprint('hello')\n")
        assert "asks for another interpreter" in project.refused(command, "./a.sh", *COMMANDS[command])

    def test_binary(self, project: Project, script: str, command: str) -> None:
        project.write("a.sh", "\x7fELF\0\1")
        assert "is a binary file" in project.refused(command, "./a.sh", *COMMANDS[command])

    def test_no_valid_bash(self, project: Project, script: str, command: str) -> None:
        project.write("a.sh", SCRIPT + "if then\n")
        told = project.refused(command, "./a.sh", *COMMANDS[command])
        assert f"a.sh: line {SCRIPT.count(chr(10)) + 1}: syntax error" in told

    def test_unreadable(self, project: Project, script: str, command: str) -> None:
        project.write("a.sh", SCRIPT, 0o000)
        told = project.refused(command, "./a.sh", *COMMANDS[command], code=4, limited=True)
        assert "a.sh may not be read" in told

    def test_unknown_name(self, project: Project, script: str, command: str) -> None:
        told = project.refused(command, "claude-cod", *COMMANDS[command])
        assert "Did you mean claude-code?" in told

    def test_empty_name(self, project: Project, script: str, command: str) -> None:
        assert "is not a driver name" in project.refused(command, "", *COMMANDS[command])

    def test_a_fifo_is_not_waited_for(self, project: Project, script: str, command: str) -> None:
        os.mkfifo(project.folder / "a.sh")
        assert "is not a regular file" in project.refused(command, "./a.sh", *COMMANDS[command])

    def test_a_script_that_exits(self, project: Project, script: str, command: str) -> None:
        project.write("a.sh", SCRIPT + "echo no license >&2; exit 5\n")
        told = project.refused(command, "./a.sh", *COMMANDS[command], code=1)
        assert "called exit 5" in told
        assert "no license" in told


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ("driver_nmae", ["has no function 'driver_nmae'", "Did you mean driver_name?", "driver_valid_tools"]),
        ("driver_build_command", ["does not define driver_build_command", "required hook", "no command to run"]),
        ("driver_check_available", ["does not define driver_check_available", "metadata hook", "on PATH"]),
        ("", ["has no function ''"]),
        ("rm", ["has no function 'rm'"]),
        ("two words", ["has no function 'two words'"]),
    ],
)
def test_a_missing_hook(project: Project, script: str, hook: str, words: list[str]) -> None:
    told = project.refused("call", script, hook)
    assert [word for word in words if word not in told] == []


@pytest.mark.parametrize(
    ("hook", "status", "stdout"),
    [
        ("driver_supports_tool_allowlist", 1, ""),
        ("driver_supports_sessions", 0, ""),
        ("driver_supports_live_output", 0, ""),
        ("driver_prepare_live_command", 0, "LIVE_CMD_ARGS=(mine 'a  b' '')\n"),
        ("driver_stream_filter", 0, "empty\n"),
        ("driver_extract_session_id_from_output", 0, ""),
        ("driver_fallback_session_id", 0, ""),
        ("driver_min_version", 0, ""),
    ],
)
@pytest.mark.parametrize("options", ["", "nounset", "isolated"])
def test_c6_a_hook_that_may_be_omitted_answers_as_the_contract_says(
    project: Project, script: str, hook: str, status: int, stdout: str, options: str
) -> None:
    with open(project.folder / script, "a") as file:
        file.write("CLAUDE_CMD_ARGS=(mine 'a  b' '')\n" + ("set -u\n" if options == "nounset" else ""))
    flags = ["--isolated"] if options == "isolated" else []
    done = project.run("call", script, hook, *flags)
    assert (done.returncode, done.stdout, done.stderr) == (status, stdout, "")
    document = json.loads(project.run("call", script, hook, *flags, "--json").stdout)
    assert (document["status"], document["stdout"]) == (status, "" if "LIVE" in stdout else stdout)


def test_c6_so_does_an_optional_hook_of_an_agent(project: Project) -> None:
    document = json.loads(project.run("call", "claude", "agent_pre_iteration", "--json").stdout)
    assert (document["status"], document["stdout"], document["changed"]) == (0, "", [])


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("CLAUDE_USE_CONTINUE", "expected NAME=VALUE"),
        ("", "expected NAME=VALUE"),
        ("=x", "is not a shell variable name"),
        ("1A=x", "is not a shell variable name"),
        ("A B=x", "is not a shell variable name"),
        ("A[0]=x", "is not a shell variable name"),
        ("$(id)=x", "is not a shell variable name"),
        ("__rb_x=x", "reserved"),
        ("PPID=1", "PPID is readonly"),
    ],
)
@pytest.mark.parametrize("command", ["call", "command"])
def test_an_invalid_setting(project: Project, command: str, option: str, words: str) -> None:
    assert words in project.refused(command, "codex", *COMMANDS[command], "--set", option)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--read", "not a name"), "is not a shell variable name"),
        (("--timeout", "soon"), "--timeout"),
        (("--timeout", "0"), "--timeout"),
        (("--timeout", "-1"), "--timeout"),
        (("--timeout", "nan"), "--timeout"),
        (("--stdin", "nowhere"), "nowhere"),
    ],
)
def test_an_invalid_option(project: Project, script: str, options: tuple[str, ...], words: str) -> None:
    assert words in project.refused("call", script, "driver_name", *options)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_argument(project: Project, command: str) -> None:
    assert "Missing argument" in project.refused(command)


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_an_error_about_a_name_of_any_bytes(project: Project, locale: str) -> None:
    done = project.raw("call", b"./no\xff.sh", "driver_name", LC_ALL=locale)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"does not exist" in done.stderr


def test_an_unknown_command(project: Project) -> None:
    assert "Did you mean call?" in project.refused("cal")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["--version", "call codex driver_name", "inspect codex", "--help"])
def test_a_stream_that_is_closed_from_the_start(project: Project, command: str, closed: str) -> None:
    done = project.shell(f'"$@" {command} {closed}')
    assert (done.returncode, "bug of ours" in done.stderr) == (0, False)


def test_a_disk_that_is_full_is_no_bug_of_ours(project: Project) -> None:
    done = project.shell('"$@" call codex driver_name >/dev/full')
    assert done.returncode == 4
    assert done.stderr == "ralph-bridge: error: No space left on device\n"


@pytest.mark.parametrize("command", ["call codex driver_name", "run --driver codex"])
def test_a_working_folder_that_is_gone(project: Project, command: str) -> None:
    done = project.shell(f'mkdir gone; cd gone; rmdir ../gone; "$@" {command}')
    assert done.returncode == (0 if "call" in command else 4)
    assert "bug of ours" not in done.stderr


@pytest.mark.parametrize("program", ["true", "cat", "dash"])
def test_a_program_that_is_no_bash(project: Project, program: str) -> None:
    done = project.run("call", "codex", "driver_name", RALPH_BRIDGE_BASH=shutil.which(program) or "/bin/cat")
    assert done.returncode == 4
    assert "is it a bash?" in done.stderr
