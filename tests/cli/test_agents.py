"""`ralph-bridge call` and `inspect` with agent scripts, as processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.command import MAIN

if TYPE_CHECKING:
    from tests.cli.conftest import Project

AGENT = r"""
AGENT_CLI=fakecli
agent_invoke() { cat "$1" - ; echo words >&2; return 7; }
agent_extract_response() { sed 's/^/said /' "$1"; LOST=yes; }
agent_format_display() { while IFS= read -r line; do echo "<$line>"; done; }
agent_pre_iteration() { log "$RALPH_DIR"; KEPT=yes; }
agent_post_iteration() { _ITER_CONTEXT_PCT=42; exit 3; }
agent_post_iteratoin() { :; }
helper() { echo helped; }
"""


@pytest.fixture
def script(project: Project) -> str:
    project.write("agents/mine.sh", AGENT)
    return "agents/mine.sh"


def test_call_feeds_the_display_from_stdin(project: Project, script: str) -> None:
    done = project.raw("call", script, "agent_format_display", stdin=b"a\n\xff\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"<a>\n<\xff>\n", b"")
    project.write("in", "b\n")
    assert project.raw("call", script, "agent_format_display", "--stdin", "in", stdin=b"a\n").stdout == b"<b>\n"


def test_call_shows_what_is_printed_at_once(project: Project, script: str) -> None:
    command = [*MAIN, "call", script, "agent_format_display"]
    with subprocess.Popen(
        command, cwd=project.folder, env=project.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for n in range(3):
            process.stdin.write(b"%d\n" % n)
            process.stdin.flush()
            assert process.stdout.readline() == b"<%d>\n" % n
        process.stdin.close()
    assert process.returncode == 0


def test_call_lets_the_program_have_stdin_and_stderr(project: Project, script: str) -> None:
    project.write("prompt", "do it\n")
    done = project.raw("call", script, "agent_invoke", "prompt", stdin=b"typed\n")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"do it\ntyped\n", b"words\n")


def test_call_of_a_hook_in_a_pipeline_as_json(project: Project, script: str) -> None:
    done = project.raw("call", script, "agent_format_display", "--json", stdin=b"a\n")
    facts = json.loads(done.stdout)
    assert (facts["stdout"], facts["status"], facts["globals"]) == ("<a>\n", 0, {})
    project.write("last", "a\n")
    facts = json.loads(
        project.run("call", script, "agent_extract_response", "last", "--json", "--read", "LOST").stdout
    )
    assert (facts["stdout"], facts["globals"]) == ("said a\n", {"LOST": "yes"})


def test_call_of_a_hook_of_the_main_shell(project: Project, script: str) -> None:
    settings = ("--set", "RALPH_DIR=/ralph", "--set", f"SESSION_LOG={project.folder}/log")
    done = project.run("call", script, "agent_pre_iteration", *settings, "--read", "KEPT")
    assert done.returncode == 0
    assert done.stdout.startswith("/ralph\n")
    assert "KEPT=yes\n" in done.stdout
    assert (project.folder / "log").read_text() == "/ralph\n"
    assert project.run("call", script, "helper").stdout == "helped\n"
    assert "called exit 3" in project.refused("call", script, "agent_post_iteration", code=1)


def test_call_has_settings_before_and_after_the_script(project: Project) -> None:
    project.write("a.sh", AGENT + 'TOP="$RALPH_DIR"\nshow() { echo "$TOP $AGENT_CLI"; }\n')
    done = project.run("call", "a.sh", "show", "--set", "RALPH_DIR=/r", "--set", "AGENT_CLI=other")
    assert done.stdout == "/r other\n"


def test_call_with_a_deadline(project: Project) -> None:
    project.write("a.sh", AGENT + "agent_invoke() { echo on; sleep 61; }\n")
    done = project.run("call", "a.sh", "agent_invoke", "x", "--timeout", "0.3")
    assert (done.returncode, done.stdout) == (1, "on\n")
    assert "did not end within 0.3 s" in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_call_is_interrupted(project: Project, number: signal.Signals, code: int) -> None:
    project.write("a.sh", AGENT + "agent_invoke() { exec sh -c 'echo $$; exec sleep 61'; }\n")
    with project.start("call", "a.sh", "agent_invoke", "x") as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.send_signal(number)
        process.communicate(timeout=20)
    assert process.returncode == code
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_inspect(project: Project, script: str) -> None:
    project.cli("fakecli", "exit 0")
    done = project.run("inspect", script, "--json")
    facts = json.loads(done.stdout)
    assert (done.returncode, facts["kind"], facts["cli"]) == (0, "agent", "fakecli")
    assert facts["cli_found"] == str(project.folder / "bin" / "fakecli")
    assert {name: hook["present"] for name, hook in facts["hooks"].items()} == dict.fromkeys(facts["hooks"], "own")
    assert list(facts["hooks"]) == [
        "agent_invoke",
        "agent_extract_response",
        "agent_format_display",
        "agent_pre_iteration",
        "agent_post_iteration",
    ]
    assert facts["hooks"]["agent_invoke"]["lifted"] is None
    assert isinstance(facts["hooks"]["agent_format_display"]["lifted"], bool)
    assert facts["unknown"] == {"agent_post_iteratoin": "agent_post_iteration"}
    assert (facts["helpers"], facts["missing"]) == (["helper"], [])
    shown = project.run("inspect", script).stdout
    assert "fakecli, " + facts["cli_found"] in shown
    assert "did you mean agent_post_iteration?" in shown


def test_inspect_tells_what_is_missing(project: Project) -> None:
    project.write("a.sh", "agent_invoke() { :; }\nagent_format_display() { cat; }\n")
    done = project.run("inspect", "./a.sh", "--json")
    facts = json.loads(done.stdout)
    assert (done.returncode, facts["missing"]) == (1, ["agent_extract_response", "AGENT_CLI"])
    assert "AGENT_CLI is not set" in project.run("inspect", "./a.sh").stdout


@pytest.mark.parametrize("name", ["agents/mine.sh", "codex"])
def test_e_inspect_says_which_jq_is_found(project: Project, script: str, without_jq: str, name: str) -> None:
    done = project.raw("inspect", name, "--json", PATH=without_jq)
    assert json.loads(done.stdout)["jq"] == "ralph-bridge"
    assert b"none on PATH; ralph-bridge's own is in use" in project.raw("inspect", name, PATH=without_jq).stdout
    project.cli("jq", "exit 0")
    assert json.loads(project.run("inspect", name, "--json").stdout)["jq"] == "command"
    assert "  jq " not in project.run("inspect", name).stdout


def test_a_script_with_both_kinds_of_hooks(project: Project) -> None:
    project.write("both.sh", AGENT + "driver_name() { echo both; }\n")
    assert json.loads(project.run("inspect", "both.sh", "--json").stdout)["kind"] == "agent"
    project.write("driver.sh", "driver_name() { echo d; }\nagent_helper() { :; }\n")
    assert json.loads(project.run("inspect", "driver.sh", "--json").stdout)["name"] == "d"
