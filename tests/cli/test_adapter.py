"""``ralph-bridge adapter``: what its commands print, and their exit codes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import jsonschema
import pytest

from tests import command

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL = """\
schema: 1
name: small
version: 1.0.0
description: a shell
family: shell
process: { command_template: '"{shell_path}" --norc --noprofile -i', executable: bash, env: { PS1: "$ " } }
ready: { wait_for_event: regex }
init: { strategy: regex }
prompt: { strategy: regex, primary: '^\\$ $' }
output: { input_echo_strategy: deterministic_byte_match }
input: { line_ending: "\\n" }
signals: { interrupt: "\\x03" }
lifecycle: { shutdown: { command: exit } }
capabilities: { interrupt: true }
probe: { eval: echo $((1 + 1)), expect: '^2$' }
tests:
  - { name: good, eval: echo good, expect: '\\Agood\\z' }
"""
BAD = "  - { name: bad <&>, eval: echo other, expect: '^good$' }\n  - { name: endless, eval: sleep 60 }\n"


def run(*arguments: str, cwd: Path | None = None, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    where = {**os.environ, "PYTHONPATH": str(command.ROOT), **env}
    return command.run(["adapter", *arguments], cwd=cwd or ".", env=where, stdin=stdin.encode())


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def test_list_shows_names_and_programs() -> None:
    done = run("list")
    assert done.returncode == 0
    assert any(line.startswith("bash ") and line.endswith("/bash") for line in done.stdout.splitlines())
    document = json.loads(run("list", "--json").stdout)
    assert document["schema"] == 1
    assert {"bash", "zsh", "python", "node", "sqlite3", "lua"} <= {each["name"] for each in document["adapters"]}


def test_list_says_what_replaces_what(tmp_path: Path) -> None:
    folder = tmp_path / ".ralph-bridge" / "adapters"
    folder.mkdir(parents=True)
    (folder / "bash.yaml").write_text(SMALL.replace("small", "bash"))
    (folder / "bad.yaml").write_text("schema: 9\n")
    done = run("list", cwd=tmp_path)
    assert "bash.yaml replaces" in done.stderr
    assert "bad.yaml:1: error: schema" in done.stderr
    assert "project" in done.stdout


def test_check_names_file_line_and_key(small: Path) -> None:
    assert run("check", str(small)).returncode == 0
    small.write_text(SMALL.replace("deterministic_byte_match", "deterministic") + "extra: 1\n")
    done = run("check", str(small))
    assert done.returncode == 0
    assert f"{small}:10: warning: output.input_echo_strategy: 'deterministic' is not one of" in done.stdout
    assert run("check", "--strict", str(small)).returncode == 1
    document: dict[str, Any] = json.loads(run("check", "--format", "json", "--strict", str(small)).stdout)
    assert document["ok"] is False
    assert [each["level"] for each in document["files"][0]["problems"]] == ["error", "warning"]


def test_check_of_everything_that_ships_is_clean() -> None:
    done = run("check", "--strict")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("0 errors, 0 warnings\n")


@pytest.mark.parametrize(("text", "code"), [("schema: 2\n", 1), ("a: [\n", 1)])
def test_check_of_what_can_not_be_loaded_fails(tmp_path: Path, text: str, code: int) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    assert run("check", str(path)).returncode == code
    assert run("test", str(path)).returncode == 1
    assert run("exec", str(path), "x").returncode == 2
    assert run("check", str(tmp_path / "none.yaml")).returncode == 2


def test_schema_is_a_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(run("schema").stdout))


def test_test_runs_what_a_file_declares(small: Path) -> None:
    done = run("test", str(small))
    assert done.returncode == 0, done.stdout
    assert "2 passed, 0 failed, 0 skipped" in done.stdout


def test_test_reports_in_every_format_and_never_hangs(small: Path, tmp_path: Path) -> None:
    small.write_text(SMALL + BAD)
    report = tmp_path / "report.xml"
    done = run("test", "--timeout", "0.5", "--format", "tap", "--report", f"junit={report}", str(small))
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "TAP version 14"
    assert lines[-1] == "1..4"
    assert [line.partition(" - ")[0] for line in lines if " - small: " in line] == [
        "ok 1",
        "ok 2",
        "not ok 3",
        "not ok 4",
    ]
    suite = ElementTree.parse(report).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "2", "0")
    document = json.loads(run("test", "--timeout", "0.5", "--format", "json", str(small)).stdout)
    assert document["summary"] == {"passed": 2, "failed": 2, "skipped": 0}
    assert "did not end within 0.5 s" in document["adapters"][0]["tests"][3]["message"]


def test_a_missing_program_is_a_skip_with_its_reason(small: Path) -> None:
    small.write_text(SMALL.replace("executable: bash", "executable: no-such-program"))
    done = run("test", str(small))
    assert done.returncode == 4  # nothing was tested
    assert "no program was found; tried: no-such-program" in done.stdout
    assert "# SKIP" in run("test", "--format", "tap", str(small)).stdout
    assert run("exec", str(small), "x").returncode == 4


def test_exec_prints_output_and_tells_failure() -> None:
    done = run("exec", "bash", "x='a b'", 'echo "$x"')
    assert (done.returncode, done.stdout) == (0, "a b\n")
    assert run("exec", "bash", "false").returncode == 1
    assert run("exec", "bash", stdin="for i in 1 2; do\necho $i\ndone\n").stdout == "1\n2\n"
    document = json.loads(run("exec", "--json", "python", "x = 6", "x * 7").stdout)
    assert (document["output"], document["exit_code"], document["mode"]) == ("42", 0, "main")
    assert len(document["results"]) == 2


def test_exec_ends_at_its_deadline() -> None:
    done = run("exec", "--timeout", "0.3", "bash", "sleep 60")
    assert done.returncode == 1
    assert "did not end in time and was interrupted" in done.stderr


def test_unknown_names_are_told_with_the_nearest() -> None:
    done = run("exec", "pyhton", "1")
    assert done.returncode == 2
    assert "did you mean python?" in done.stderr


def test_repl_runs_lines_from_elsewhere() -> None:
    done = run("repl", "bash", stdin="x=1\nfalse\necho $x\n")
    assert (done.returncode, done.stdout) == (1, "1\n")


@pytest.fixture
def at_terminal(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """``adapter repl bash`` at a terminal, and that terminal's other end; ended with the test, whatever happens."""
    controller, terminal = pty.openpty()
    program = [sys.executable, "-c", "from bridge.cli import main; main()", "adapter", "repl", "bash"]
    where = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(tmp_path)}
    process = subprocess.Popen(program, stdin=terminal, stdout=terminal, stderr=terminal, env=where)
    os.close(terminal)
    try:
        yield process, controller
    finally:
        process.kill()
        process.wait()
        os.close(controller)


def test_repl_is_the_program_itself_at_a_terminal(at_terminal: tuple[subprocess.Popen[bytes], int]) -> None:
    process, controller = at_terminal
    seen = read_until(controller, b"$ " if os.getuid() else b"# ")
    os.write(controller, b"echo $((6 * 7))\n")
    seen += read_until(controller, b"\r42\r\n")
    os.write(controller, b"exit\n")
    assert process.wait(20) == 0
    assert b"633;" not in seen


def test_repl_loses_nothing_that_is_typed_ahead(at_terminal: tuple[subprocess.Popen[bytes], int]) -> None:
    process, controller = at_terminal
    os.write(controller, b"echo $((6 * 7))\nexit\n")
    read_until(controller, b"\r42\r\n")
    assert process.wait(20) == 0


def read_until(controller: int, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        seen += os.read(controller, 4096)
    return seen
