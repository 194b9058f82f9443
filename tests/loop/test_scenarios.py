"""The scenarios of features/loop: each loop a process, in a project of its own, with a scripted agent."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from pytest_bdd import given, parsers, scenarios, then, when

from bridge.base import resources
from bridge.base.process.leftovers import marked
from tests.setups.bmalph import readers
from tests.setups.bmalph.agents import Agent, heard
from tests.setups.bmalph.conftest import installed, looping, project

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from tests.setups.bmalph.conftest import Project

pytestmark = pytest.mark.slow

__all__ = ["installed", "looping", "project"]

scenarios(str(resources.shipped("features") / "loop"))

FAILS = "echo 'Error: no' >&2; exit 1"
DENIED = (
    'change; echo \'{"type":"result","subtype":"success","is_error":false,"result":"no","session_id":"s-1",'
    '"permission_denials":[{"tool_name":"Bash","tool_input":{"command":"git push"}}]}\''
)


@dataclass
class World:
    """What the steps of one scenario share."""

    project: Project
    driver: str = "codex"
    steps: list[str] = field(default_factory=list)
    process: subprocess.Popen[str] | None = None
    code: int | None = None
    other: subprocess.CompletedProcess[str] | None = None
    up: str = ""
    more: list[str] = field(default_factory=list)

    @property
    def agent(self) -> Agent:
        made = Agent(self.project, self.driver)
        return made.runs(*self.steps) if self.steps else made

    @property
    def folder(self) -> Path:
        return self.project.path / ".ralph"

    def always(self, step: str) -> None:
        self.agent.otherwise(step)

    def first(self, *steps: str) -> None:
        self.steps += steps
        _ = self.agent

    def waits(self) -> str:
        self.up = self.up or self.agent.fifo("up")
        return f"sleep 300 & echo $! >> $kept/pids; echo x > {self.up}; wait"

    def arguments(self, *more: str) -> list[str]:
        return ["run", "--no-live", "--driver", self.driver, *self.more, *more]


@pytest.fixture
def world(looping: Project) -> Iterator[World]:
    made = World(looping)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.kill()
        made.process.communicate()


@given(parsers.parse('a bmalph project with the tasks "{tasks}"'))
def _tasks(world: World, tasks: str) -> None:
    world.project.write(".ralph/@fix_plan.md", "".join(f"- [ ] {task}\n" for task in tasks.split(", ")))
    world.project.git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qam", "plan")


@given(parsers.parse('a fix plan that says "{text}"'))
def _plan(world: World, text: str) -> None:
    world.project.write(".ralph/@fix_plan.md", f"{text}\n")
    _ = world.agent


@given("the agent ticks a task in every run")
def _ticks(world: World) -> None:
    world.always("change; tick; working 1")


@given("the agent calls the work complete in every run")
@given("the agent calls the work complete from then on")
def _complete(world: World) -> None:
    world.always("change; complete")


@given(parsers.parse('the agent says "{text}" but EXIT_SIGNAL false'))
def _says(world: World, text: str) -> None:
    world.always(f'change; say "{text}\\\\n$(block COMPLETE false 0)"')


@given("the agent calls the work complete, with a task that it has not ticked")
def _claims(world: World) -> None:
    world.always("change; complete 1")


@given("the agent does nothing in every run")
def _nothing(world: World) -> None:
    world.always("working")


@given("the agent is refused a tool in every run")
def _denied(world: World) -> None:
    world.driver = "claude-code"
    world.always(DENIED)


@given(parsers.parse("the agent fails in its first {number:d} runs"))
def _fails_first(world: World, number: int) -> None:
    world.first(*[FAILS] * number)


@given("the agent fails in every run")
def _fails(world: World) -> None:
    world.always(FAILS)


@given("the agent reaches a limit in its first run")
def _limit(world: World) -> None:
    said = '{"type":"turn.failed","error":{"message":"You\'ve hit your usage limit."}}'.replace("'", "'\\''")
    world.first(f"echo '{said}'; exit 1")


@given("the agent changes a file and then takes too long")
def _too_long(world: World) -> None:
    world.first("change; exec sleep 300")


@given(parsers.parse("only {seconds:d} seconds are allowed for a run"))
def _allowed(world: World, seconds: int) -> None:
    world.more += ["--timeout", str(seconds / 60)]


@given(parsers.parse('the session "{session}" is saved'))
def _saved(world: World, session: str) -> None:
    world.project.write(".ralph/.claude_session_id", f"{session}\n")


@given(parsers.parse('the agent doesn\'t know the session "{session}"'))
def _unknown(world: World, session: str) -> None:
    world.first(f"echo 'Error: thread/resume failed: no rollout found for thread id {session}' >&2; exit 1")


@given("the agent waits for a sign in its first run")
def _waits(world: World) -> None:
    world.first(world.waits())


@given("the agent changes and commits a file in every run, and waits for a sign in its second")
def _waits_second(world: World) -> None:
    world.always("change; commit; working")
    world.first("change; commit; working", world.waits())


@given(parsers.re(r'(?P<name>[A-Z][A-Z_]+) is "(?P<value>.*)"'))
def _setting(world: World, name: str, value: str) -> None:
    world.project.env[name] = value


@when("the loop runs")
def _runs(world: World) -> None:
    world.code = world.project.run(*world.arguments()).returncode


@when(parsers.parse("the loop runs for at most {number:d} iterations"))
def _runs_for(world: World, number: int) -> None:
    world.code = world.project.run(*world.arguments("--max-iterations", str(number))).returncode


@when("the loop is started")
def _started(world: World) -> None:
    world.process = world.project.start(*world.arguments())


@when("it gets Ctrl-C while the agent is at work")
def _ctrl_c(world: World) -> None:
    assert world.process is not None
    assert heard(world.up)
    world.process.send_signal(signal.SIGINT)
    world.code = world.project.finished(world.process)


@when("it is killed while the agent is at work")
def _killed(world: World) -> None:
    assert world.process is not None
    assert heard(world.up)
    world.process.kill()
    world.process.communicate()


@when("another one is started beside it")
def _another(world: World) -> None:
    assert heard(world.up)
    world.other = world.project.run(*world.arguments())


@then(parsers.parse("it ends with exit code {code:d}"))
def _code(world: World, code: int) -> None:
    assert world.code == code, world.project.read(".ralph/logs/ralph.log")


@then(parsers.parse('the status is "{status}" because of "{reason}"'))
def _status(world: World, status: str, reason: str) -> None:
    record = readers.status(world.folder)
    assert (record["status"], record["exit_reason"]) == (status, reason)


@then(parsers.re(r"the agent was called (?P<number>\d+) times?"))
def _called(world: World, number: str) -> None:
    assert len(world.agent.calls) == int(number)


@then("the agent was not called")
def _not_called(world: World) -> None:
    assert world.agent.calls == []


@then(parsers.parse('"{text}" is in the log'))
def _logged(world: World, text: str) -> None:
    assert text in world.project.read(".ralph/logs/ralph.log")


@then(parsers.parse('run {number:d} resumes "{session}"'))
def _resumes(world: World, number: int, session: str) -> None:
    assert session in world.agent.calls[number - 1]


@then(parsers.parse("run {number:d} resumes nothing"))
def _resumes_nothing(world: World, number: int) -> None:
    assert "resume" not in world.agent.calls[number - 1]


@then("no agent is left")
def _none_left(world: World) -> None:
    until = time.monotonic() + 30
    while marked(world.project.path):
        assert time.monotonic() < until


@then("every file can be read")
def _readable(world: World) -> None:
    assert readers.read_all(world.folder)


@then(parsers.parse('the circuit breaker is "{state}"'))
def _breaker(world: World, state: str) -> None:
    assert readers.breaker(world.folder)["state"] == state


@then(parsers.parse('it comes to wait with "{action}"'))
def _comes_to_wait(world: World, action: str) -> None:
    assert world.process is not None
    path = world.folder / "status.json"
    while not (path.exists() and readers.status(world.folder)["last_action"] == action):
        assert world.process.poll() is None
    assert readers.status(world.folder)["status"] == "paused"


@then(parsers.parse("the other one is refused with exit code {code:d}"))
def _refused(world: World, code: int) -> None:
    assert world.other is not None
    assert world.other.returncode == code
    assert "another loop is running" in world.other.stderr
