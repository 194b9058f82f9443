"""`run --json`: on stdout nothing but the loop's events, each at once, and a last line with the exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from bridge.loop.setups import KINDS
from tests.command import run as ralph_bridge
from tests.machine import mostly_slow
from tests.test_loop import ROOT, Project, make, surroundings, until

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["surroundings"]  # a fixture


@pytest.fixture(params=mostly_slow([each for each in KINDS if each != "wiggum"], 2))
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    return make(tmp_path / "project", request.param)


@pytest.fixture
def plain(tmp_path: Path) -> Project:
    return make(tmp_path / "project", "plain")


def command(project: Project, *words: str) -> list[str]:
    named = {"driver": "--driver", "promise": "--completion-promise", "max_iterations": "--max-iterations"}
    own = [str(each) for key, value in project.options.items() for each in (named[key], value)]
    return ["run", *own, "--json", *words]


def run(project: Project, *words: str) -> tuple[int, list[dict[str, Any]], str]:
    done = ralph_bridge(command(project, *words), cwd=project.path, env=os.environ)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def known_fields() -> dict[str, set[str]]:
    """The fields of each event, as docs/events.md lists them."""
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", (ROOT / "docs" / "events.md").read_text(), re.MULTILINE)
    return {name: {*re.findall(r"`(\w+)`", names)} for name, names in rows}


def test_each_line_is_an_event_and_the_last_says_how_it_ended(project: Project) -> None:
    code, lines, said = run(project)
    assert code == 0, said
    assert {line["schema"] for line in lines} == {1}
    assert all(line["time"].endswith("+00:00") for line in lines)
    for line in lines:
        assert line.keys() - {"schema", "time", "event"} == known_fields()[line["event"]]
    steps = [line for line in lines if line["event"].startswith("iteration_")]
    assert [line["event"] for line in steps] == ["iteration_started", "iteration_ended"] * 2
    assert [line["iteration"] for line in steps] == [1, 1, 2, 2]
    turn = steps[1]["turn"]
    assert (turn["turn"], turn["result"], turn["status"]) == (1, "success", 0)
    assert isinstance(steps[1]["log"], str)
    assert (steps[1]["decision"]["verdict"], steps[1]["outcome"]["failure"]) == ("continue", None)
    assert "working 1" in "".join(line["text"] for line in lines if line["event"] == "output_text")
    end = lines[-1]
    assert (end["event"], end["verdict"], end["iterations"], end["exit_code"]) == ("loop_ended", "complete", 2, 0)
    assert end["totals"]["turns"] == 2
    assert "started" not in said


def test_what_keeps_it_from_beginning(plain: Project) -> None:
    code, lines, said = run(plain, "--sandbox", "nowhere")
    assert code == 2
    (line,) = lines
    assert (line["event"], line["error"], line["exit_code"]) == ("loop_failed", "ConfigurationError", 2)
    assert line["message"] in said
    code, lines, said = run(plain, "--dry-run")
    assert (code, lines[-1]["event"], lines[-1]["exit_code"]) == (2, "loop_failed", 2)
    assert "--json" in lines[-1]["message"]


def test_a_signal_and_lines_at_once(plain: Project) -> None:
    plain.write("hold", "")
    with subprocess.Popen(
        [sys.executable, "-m", "bridge", *command(plain)],
        cwd=plain.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        assert child.stdout is not None
        names = []
        while "iteration_started" not in names:  # no end of file, no buffer that fills
            names.append(json.loads(child.stdout.readline())["event"])
        until(lambda: plain.pid("tool") is not None, "the tool is at work")
        child.send_signal(signal.SIGTERM)
        *_, last = map(json.loads, child.stdout.read().splitlines())
        assert child.wait(30) == 143
    assert (last["event"], last["reason"], last["exit_code"]) == ("loop_interrupted", "SIGTERM", 143)


def test_the_tasks_of_a_source(plain: Project) -> None:
    plain.write("tasks.yaml", "- {id: one, prompt: One.}\n")
    code, lines, said = run(plain, "--from", "yaml:tasks.yaml", "--completion-promise", "COMPLETE")
    assert code == 0, said
    names = [line["event"] for line in lines]
    assert names.count("task_loop_started") == names.count("task_loop_ended") == 1
    assert (names[-1], lines[-1]["reason"], lines[-1]["exit_code"]) == ("loop_ended", "tasks_done", 0)
    ended = lines[names.index("task_loop_ended")]
    assert (ended["task"]["id"], ended["done"], ended["end"]["event"]) == ("one", True, "loop_ended")
