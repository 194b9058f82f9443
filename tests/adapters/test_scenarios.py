"""The scenarios of features/adapters: what every adapter promises, with the real programs."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from pytest_bdd import given, parsers, scenarios, then, when

from bridge import Adapter
from bridge.adapters.registry import load_file
from bridge.adapters.testing import AdapterReport, run_tests
from bridge.base import resources
from bridge.errors import BridgeError, IncompleteInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.adapters import Result, Session

scenarios(str(resources.shipped("features") / "adapters"))


@dataclass
class World:
    """What the steps of one scenario share."""

    root: Path
    folder: Path
    path: Path
    sessions: list[Session] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    processes: list[psutil.Process] = field(default_factory=list)
    adapter: Adapter | None = None
    report: AdapterReport | None = None
    error: str = ""

    @property
    def session(self) -> Session:
        return self.sessions[-1]

    @property
    def result(self) -> Result:
        return self.results[-1]

    def write(self, name: str, text: str, *, encoding: str = "utf-8", newline: str = "\n") -> None:
        self.path = self.root / name
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(text, encoding=encoding, newline=newline)

    def load(self, name: str | Path) -> None:
        try:
            self.adapter = Adapter.load(name)
        except BridgeError as error:
            self.error = str(error)

    def loaded(self) -> Adapter:
        assert self.adapter is not None, self.error
        return self.adapter


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaks: None) -> Iterator[World]:
    root = tmp_path.resolve()
    (root / "home").mkdir()
    monkeypatch.setenv("HOME", str(root / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(root)
    made = World(root, root, root)
    yield made
    for session in made.sessions:
        session.close()


@given(parsers.parse('a session of "{name}"'))
def _session(world: World, name: str) -> None:
    world.sessions.append(Adapter.load(name).start(cwd=world.root))


@given(parsers.parse('a folder "{name}"'))
def _folder(world: World, name: str) -> None:
    world.folder = world.root / name
    world.folder.mkdir()


@given("a gate that is shut")
def _gate(world: World) -> None:
    os.mkfifo(world.root / "gate")
    world.session.run("gate=gate")


@given(parsers.parse('an adapter file "{name}" with "{more}"'))
def _file(world: World, name: str, more: str) -> None:
    world.write(name, f"schema: 1\nname: {Path(name).stem}\nfamily: repl\n{more}\n")


@given(parsers.parse('an adapter file "{name}" of schema {number:d}'))
def _schema(world: World, name: str, number: int) -> None:
    world.write(name, f"schema: {number}\nname: mine\nfamily: repl\n")


@given(parsers.parse('an adapter file "{name}" as an editor of another system writes it:'))
def _foreign(world: World, name: str, docstring: str) -> None:
    world.write(name, docstring, encoding="utf-8-sig", newline="\r\n")


@given(parsers.parse('bash is there as "%{variable}%\\{name}"'))
def _tool(world: World, monkeypatch: pytest.MonkeyPatch, variable: str, name: str) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    (world.root / name).symlink_to(bash)
    monkeypatch.setenv(variable, str(world.root))


@given(parsers.parse('it has run "{command}"'))
@when(parsers.parse('it runs "{command}"'))
def _runs(world: World, command: str) -> None:
    world.results.append(world.session.run(command, timeout=20))


@when("it runs:")
def _runs_block(world: World, docstring: str) -> None:
    _runs(world, docstring)


@when(parsers.parse('it runs "{command}" for at most {seconds:g} seconds'))
def _limited(world: World, command: str, seconds: float) -> None:
    world.results.append(world.session.run(command, timeout=seconds))


@when(parsers.parse('it runs "{command}" for at most {seconds:g} seconds, uninterrupted'))
def _uninterrupted(world: World, command: str, seconds: float) -> None:
    world.results.append(world.session.run(command, timeout=seconds, interrupt=False))


@when(parsers.parse('it tries "{command}"'))
def _tries(world: World, command: str) -> None:
    with pytest.raises(IncompleteInput) as caught:
        world.session.run(command)
    world.error = str(caught.value)


@when("it changes to that folder")
def _changes(world: World) -> None:
    world.results.append(world.session.cd(world.folder))


@when(parsers.parse('the gate is opened with "{word}"'))
def _opened(world: World, word: str) -> None:
    with (world.root / "gate").open("w") as gate:
        gate.write(f"{word}\n")


@when("it waits for the command")
def _waits(world: World) -> None:
    world.results.append(world.session.wait(20))


@when("it is closed")
def _closed(world: World) -> None:
    program = psutil.Process(world.session.pid)
    world.processes = [program, *program.children(recursive=True)]
    assert len(world.processes) == 2
    world.session.close()


@when(parsers.parse('the adapter "{name}" is loaded'))
def _loaded(world: World, name: str) -> None:
    world.load(name)


@when("the file is loaded")
def _file_loaded(world: World) -> None:
    world.load(world.path)


@when("the file is started")
def _started(world: World) -> None:
    with pytest.raises(BridgeError) as caught:
        Adapter.load(world.path).start()
    world.error = str(caught.value)


@when("its tests run")
def _tested(world: World) -> None:
    entry, problems = load_file(world.path)
    assert entry is not None, problems
    world.report = run_tests(entry)


@then("nothing is printed")
def _nothing(world: World) -> None:
    assert world.result.output == ""


@then(parsers.parse('the output is "{text}"'))
def _output(world: World, text: str) -> None:
    assert world.result.output == text


@then("the output is:")
def _output_block(world: World, docstring: str) -> None:
    assert world.result.output == docstring


@then(parsers.parse('the output begins with "{text}"'))
def _begins(world: World, text: str) -> None:
    assert world.result.output.startswith(text)


@then(parsers.parse('the output ends in "{text}"'))
def _ends(world: World, text: str) -> None:
    assert world.result.output.endswith(text)


@then(parsers.parse("the exit code is {code:d}"))
def _code(world: World, code: int) -> None:
    assert world.result.exit_code == code


@then(parsers.parse('it ends by "{sign}"'))
def _ended_by(world: World, sign: str) -> None:
    assert world.result.ended_by == sign


@then(parsers.parse('the mode is "{mode}"'))
def _mode(world: World, mode: str) -> None:
    assert world.result.mode == mode


@then("its folder is that folder")
def _there(world: World) -> None:
    assert world.session.cwd == world.result.cwd == str(world.folder)


@then("its folder is the one above")
def _above(world: World) -> None:
    assert world.session.cwd == world.result.cwd == str(world.folder.parent)


@then("the session is ready")
def _ready(world: World) -> None:
    assert not world.session.busy


@then("the session is busy")
def _busy(world: World) -> None:
    assert world.session.busy


@then(parsers.parse('another command is refused with "{text}"'))
def _refused(world: World, text: str) -> None:
    with pytest.raises(BridgeError, match=text):
        world.session.run("echo another")


@then("no process of it is left")
def _none_left(world: World) -> None:
    deadline = time.monotonic() + 10
    while (alive := [each for each in world.processes if _lives(each)]) and time.monotonic() < deadline:
        psutil.wait_procs(alive, timeout=0.02)
    assert not alive


def _lives(process: psutil.Process) -> bool:
    """A zombie does not: the first process of some containers never reaps what it inherits."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@then(parsers.parse('it fails with "{text}"'))
@then(parsers.parse('it is refused with "{text}"'))
def _fails(world: World, text: str) -> None:
    assert text in world.error


@then(parsers.parse('its name is "{name}"'))
def _name(world: World, name: str) -> None:
    assert world.loaded().name == name


@then("it comes from that file")
def _from(world: World) -> None:
    assert world.loaded().path == str(world.path)


@then(parsers.parse('there is a warning in line {line:d} with "{text}"'))
def _warning(world: World, line: int, text: str) -> None:
    (problem,) = [each for each in world.loaded().problems if each.line == line]
    assert problem.text().startswith(f"{world.path}:{line}: warning: ")
    assert text in problem.message


@then(parsers.re(r'"(?P<names>.+)" (?P<outcome>passed|failed)$'))
def _outcome(world: World, names: str, outcome: str) -> None:
    assert world.report is not None
    assert [each.name for each in world.report.results if each.outcome == outcome] == names.split(", ")
