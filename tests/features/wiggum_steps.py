"""The steps of ``features/wiggum.feature``: processes in a repository of their own."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from pytest_bdd import given, parsers, then, when

from bridge.loop.setups.wiggum.progress import read_blocks
from tests.command import MAIN
from tests.setups.wiggum.project import Project, new_project

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

__all__ = ["steps"]


class Wiggum:
    """What a scenario is about: a project, and what the last command came to."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.done: subprocess.CompletedProcess[str] | None = None

    def start(self, *arguments: str) -> None:
        self.done = self.project.wiggum("start", "--no-live", *arguments)

    @property
    def messages(self) -> str:
        assert self.done is not None
        return self.done.stderr

    def stop(self, message: str, **env: str) -> None:
        call = {"session_id": "s", "cwd": str(self.project.path), "last_assistant_message": message}
        self.done = self.project.run("stop-hook", stdin=json.dumps(call), **env)

    def answer(self) -> dict[str, Any]:
        assert self.done is not None
        assert self.done.returncode == 0
        found: dict[str, Any] = json.loads(self.done.stdout)
        return found


@pytest.fixture
def wiggum(tmp_path: Path) -> Wiggum:
    return Wiggum(new_project(tmp_path / "wiggum"))


def steps() -> dict[str, object]:
    """The step definitions of this module, and its fixture."""
    mine = {name: value for name, value in globals().items() if name.startswith("pytestbdd_stepdef")}
    return mine | {"wiggum": wiggum}


@given("a project with a plan of 3 items")
def _project(wiggum: Wiggum) -> None:
    assert wiggum.project.read("fix_plan.md").count("[ ]") == 3


@given(parsers.re('an agent that does "(?P<code>.*)"'))
def _agent(wiggum: Wiggum, code: str) -> None:
    command = shlex.join([*MAIN, "wiggum"])
    # The agent's parent is the stand-in for claude, whose parent is the loop.
    loop = "LOOP=$(ps -o ppid= -p $PPID)"
    itself = f'wiggum() {{ {command} "$@"; }}'
    wiggum.project.claude(f"{itself}\n{loop}\n{code.replace(chr(92) + chr(34), chr(34))}")


@given(parsers.parse('there is no "{name}"'))
def _without(wiggum: Wiggum, name: str) -> None:
    (wiggum.project.path / name).unlink()


@given(parsers.re('a commit hook that does "(?P<code>.*)"'))
def _commit_hook(wiggum: Wiggum, code: str) -> None:
    wiggum.project.write(".git/hooks/pre-commit", f"#!/bin/sh\n{code}\n", 0o755)


@given("a loop in the session is prepared")
def _prepared(wiggum: Wiggum) -> None:
    done = wiggum.project.wiggum("start", "--mode", "hook")
    assert done.returncode == 0, done.stderr


@given(parsers.re('a loop in the session is prepared with "(?P<options>.*)"'))
def _prepared_with(wiggum: Wiggum, options: str) -> None:
    done = wiggum.project.wiggum("start", "--mode", "hook", *shlex.split(options))
    assert done.returncode == 0, done.stderr


@when(parsers.parse('a loop in the session is prepared for "{task}"'))
def _prepared_for(wiggum: Wiggum, task: str) -> None:
    done = wiggum.project.wiggum("start", "--mode", "hook", task)
    assert done.returncode == 0, done.stderr


@when("the loop is run")
def _run(wiggum: Wiggum) -> None:
    wiggum.start()


@when(parsers.parse('the loop is run with "{options}"'))
def _run_with(wiggum: Wiggum, options: str) -> None:
    wiggum.start(*shlex.split(options))


@when(parsers.parse('the loop is run for "{task}"'))
def _run_for(wiggum: Wiggum, task: str) -> None:
    wiggum.start(task)


@when("the loop is run and killed")
def _run_killed(wiggum: Wiggum) -> None:
    wiggum.start()
    assert wiggum.done is not None
    assert wiggum.done.returncode == -9


@when(parsers.parse('the loop is run for "{task}" and killed'))
def _run_for_killed(wiggum: Wiggum, task: str) -> None:
    wiggum.start(task)
    assert wiggum.done is not None
    assert wiggum.done.returncode == -9


@when("the breaker is reset")
def _reset(wiggum: Wiggum) -> None:
    assert wiggum.project.wiggum("reset").returncode == 0


@when(parsers.parse('the session stops, saying "{message}"'))
def _stops(wiggum: Wiggum, message: str) -> None:
    wiggum.project.write("work.txt", message)
    wiggum.stop(message)


@when("the session stops where there is nothing on PATH but git")
def _stops_bare(wiggum: Wiggum, tmp_path: Path) -> None:
    git = shutil.which("git")
    assert git
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "git").symlink_to(git)
    wiggum.stop("Worked on it.", PATH=str(tmp_path / "only"))


@when(parsers.parse('a file "{name}" is written'))
def _written(wiggum: Wiggum, name: str) -> None:
    wiggum.project.write(name, "mine\n")


@when(parsers.parse("checkpoint {number:d} is restored"))
def _restored(wiggum: Wiggum, number: int) -> None:
    done = wiggum.project.wiggum("restore", str(number))
    assert done.returncode == 0, done.stderr


@then(parsers.parse('it ends with the outcome "{outcome}" and exit status {status:d}'))
def _ends(wiggum: Wiggum, outcome: str, status: int) -> None:
    assert wiggum.done is not None
    state = wiggum.project.state
    assert (state["outcome"], wiggum.done.returncode) == (outcome, status), wiggum.messages
    assert state["exit_code"] == status
    assert f"({outcome})" in wiggum.messages


@then(parsers.parse('it is refused with exit status {status:d} and "{text}"'))
def _refused(wiggum: Wiggum, status: int, text: str) -> None:
    assert wiggum.done is not None
    assert wiggum.done.returncode == status
    assert text in wiggum.messages
    assert "next: " in wiggum.messages


@then(parsers.parse("the agent was run {count:d} times"))
def _turns(wiggum: Wiggum, count: int) -> None:
    assert len(wiggum.project.turns) == count


@then(parsers.parse('the user is told "{text}"'))
def _told(wiggum: Wiggum, text: str) -> None:
    assert text in wiggum.messages


@then(parsers.parse("the breaker is {state}"))
def _breaker(wiggum: Wiggum, state: str) -> None:
    assert wiggum.project.state["breaker"]["state"] == state


@then(parsers.parse("the state says that iteration {number:d} is under way"))
def _under_way(wiggum: Wiggum, number: int) -> None:
    state = wiggum.project.state
    assert (state["iteration"], state["turn"]["number"], state["outcome"]) == (number - 1, number, None)


@then(parsers.parse("the state says that {count:d} iterations are over"))
def _over(wiggum: Wiggum, count: int) -> None:
    assert wiggum.project.state["iteration"] == count


@then(parsers.parse("the state has {key:w} {value:d}"))
def _has(wiggum: Wiggum, key: str, value: int) -> None:
    assert wiggum.project.state[key] == value


@then(parsers.parse('the outcome is "{outcome}"'))
def _outcome(wiggum: Wiggum, outcome: str) -> None:
    assert wiggum.project.state["outcome"] == outcome


@then("the stop is prevented, with the prompt")
def _prevented(wiggum: Wiggum) -> None:
    found = wiggum.answer()
    assert (found["decision"], found["reason"]) == ("block", wiggum.project.read("PROMPT.md"))


@then("the stop is allowed")
def _allowed(wiggum: Wiggum) -> None:
    assert "decision" not in wiggum.answer()


@then(parsers.parse("the commits are {subjects}"))
def _commits(wiggum: Wiggum, subjects: str) -> None:
    assert wiggum.project.commits == re.findall('"([^"]*)"', subjects)


@then("nothing is left uncommitted but the progress file")
def _clean(wiggum: Wiggum) -> None:
    left = [line[3:] for line in wiggum.project.git("status", "--porcelain").splitlines()]
    assert set(left) <= {"progress.txt"}


@then(parsers.parse("progress.txt has one block for each of {count:d} iterations"))
def _blocks(wiggum: Wiggum, count: int) -> None:
    blocks = read_blocks(wiggum.project.read("progress.txt"))
    assert [block.iteration for block in blocks] == list(range(1, count + 1))


@then(parsers.parse("the host wrote the blocks {numbers}"))
def _auto(wiggum: Wiggum, numbers: str) -> None:
    blocks = read_blocks(wiggum.project.read("progress.txt"))
    assert [str(block.iteration) for block in blocks if block.auto] == numbers.split(", ")


@then(parsers.re('"(?P<name>[^"]+)" says "(?P<text>[^"]+)"'))
def _says(wiggum: Wiggum, name: str, text: str) -> None:
    assert text in wiggum.project.read(name)


@then(parsers.parse('"{name}" says "{text}" and nothing else'))
def _says_only(wiggum: Wiggum, name: str, text: str) -> None:
    assert wiggum.project.read(name) == text + "\n"


@then(parsers.parse('"{name}" has the sections {titles}'))
def _sections(wiggum: Wiggum, name: str, titles: str) -> None:
    headings = re.findall(r"^## (.+?)(?: \(.*\))?$", wiggum.project.read(name), re.MULTILINE)
    assert set(re.findall('"([^"]*)"', titles)) <= set(headings)


@then(parsers.parse('"{name}" has no placeholders'))
def _filled(wiggum: Wiggum, name: str) -> None:
    assert not re.search(r"\{\w+\}", wiggum.project.read(name))


@then(parsers.parse('"{name}" of checkpoint {number:d} says "{text}"'))
def _kept(wiggum: Wiggum, name: str, number: int, text: str) -> None:
    found = json.loads(wiggum.project.wiggum("checkpoints", "--json").stdout)["checkpoints"]
    [commit] = [each["commit"] for each in found if each["iteration"] == number]
    assert wiggum.project.git("show", f"{commit}:{name}") == text + "\n"


@then(parsers.parse('there is a file "{name}"'))
@then(parsers.parse('there is a folder "{name}"'))
def _there(wiggum: Wiggum, name: str) -> None:
    assert (wiggum.project.path / name).exists()


@then(parsers.parse('there is no file "{name}"'))
def _not_there(wiggum: Wiggum, name: str) -> None:
    assert not (wiggum.project.path / name).exists()
