"""`ralph-bridge session-id`, as a process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Project

NOTHING = "no session id: neither the driver, nor the output, nor the fallback gave one\n"


def test_the_id_on_stdout_and_its_step_on_stderr(project: Project) -> None:
    project.write("out.log", '{"type":"thread.started","thread_id":"0199-a"}\n')
    done = project.run("session-id", "codex", "out.log")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0199-a\n", "found by: generic\n")


def test_the_driver_comes_first(project: Project) -> None:
    project.write("out.log", '{"sessionID":"ses_1"}\n')
    done = project.run("session-id", "opencode", "out.log", "--json")
    assert json.loads(done.stdout) == {"schema": 1, "session_id": "ses_1", "step": "driver", "rejected": []}


def test_the_program_is_asked_last(project: Project) -> None:
    project.write("out.log", "no events\n")
    project.cli("opencode", """echo '[{"id":"ses_2"}]'""")
    done = project.run("session-id", "opencode", "out.log")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ses_2\n", "found by: fallback\n")


def test_none_is_exit_code_1(project: Project) -> None:
    project.write("out.log", "no events\n")
    done = project.run("session-id", "codex", "out.log")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", NOTHING)
    document = json.loads(project.run("session-id", "codex", "out.log", "--json").stdout)
    assert document == {"schema": 1, "session_id": None, "step": None, "rejected": []}


def test_what_is_no_id_is_passed_over_and_named(project: Project) -> None:
    project.write("out.log", '{"session_id":"$(reboot)"}\n')
    done = project.run("session-id", "codex", "out.log")
    assert (done.returncode, done.stdout) == (1, "")
    assert "not a session id, passed over: '$(reboot)'" in done.stderr
    document = json.loads(project.run("session-id", "codex", "out.log", "--json").stdout)
    assert document["rejected"] == ["$(reboot)"]


def test_a_name_of_any_bytes(project: Project) -> None:
    path = bytes(project.folder) + b"/out \xff*.log"
    with open(path, "wb") as file:
        file.write(b'{"session_id":"s-1"}\n')
    for driver in ("codex", "opencode"):
        assert project.raw("session-id", driver, b"out \xff*.log").stdout == b"s-1\n"


@pytest.mark.parametrize("driver", ["codex", "opencode"])
def test_a_missing_output(project: Project, driver: str) -> None:
    assert "there is no output file 'nowhere.log'" in project.refused("session-id", driver, "nowhere.log")


def test_a_folder_is_no_output(project: Project) -> None:
    assert "Is a directory" in project.refused("session-id", "codex", ".ralph")


def test_an_unreadable_output(project: Project) -> None:
    project.write("out.log", "{}", 0o000)
    told = project.refused("session-id", "codex", "out.log", code=4, limited=True)
    assert "can't be read" in told


def test_an_output_that_cannot_be_opened_is_no_bug_of_ours(project: Project) -> None:
    (Path(project.folder) / "loop.log").symlink_to("loop.log")
    for name in ("loop.log", "x" * 300):
        assert f"the output file '{name}' can't be read" in project.refused("session-id", "codex", name, code=4)
