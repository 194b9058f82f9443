"""`Loop`, with real processes, in a project of each kind."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from bridge import ConfigurationError, Loop, ProjectBusy, SessionRefused
from bridge.base.log import NAME
from bridge.loop.engine.events import (
    IterationEnded,
    IterationStarted,
    LoopEnded,
    Notice,
    OutputText,
    RunProgress,
    Waiting,
)
from bridge.loop.engine.policy import Verdict
from bridge.loop.setups import KINDS
from bridge.loop.setups.wiggum.controls import stop
from bridge.loop.setups.wiggum.files import Layout
from tests.examples import SETUPS
from tests.machine import mostly_slow

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
# Counts its calls. With a file `hold` it leaves a process in a session of its own behind, and stays; with a file
# `fail` it fails once; at its second call it says in every way that there is nothing left to do.
CLI = r"""#!/usr/bin/env bash
cat > /dev/null
echo x >> calls
n=$(wc -l < calls)
echo "working $((n))"
if [ -f fail ]; then rm fail; exit 7; fi
if [ -f hold ]; then
    setsid sleep 1000 > /dev/null 2>&1 < /dev/null &
    echo $! > stray.new; mv stray.new stray
    echo $$ > tool.new; mv tool.new tool
    exec sleep 1000
fi
if [ $n -ge 2 ]; then
    sed -i 's/\[ \]/[x]/' .ralph/@fix_plan.md .ralph/fix_plan.md PRD.md 2> /dev/null
    echo '<promise>COMPLETE</promise>'
    printf -- '---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n'
fi
exit 0
"""
DRIVER = """
driver_name() { echo mine; }
driver_display_name() { echo "My Own"; }
driver_cli_binary() { echo my-cli; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Bash); }
driver_build_command() { CLAUDE_CMD_ARGS=(my-cli "$(cat "$1")"); }
driver_supports_live_output() { return 1; }
"""
AGENT = """
AGENT_CLI="my-cli"
AGENT_ARGS=""
agent_invoke() { my-cli < "$1"; }
agent_extract_response() { cat "$1"; }
agent_format_display() { cat; }
"""
CONFIG = """
SPECS_DIR="specs"
PROCESS_DIR=""
DEFAULT_MAX_ITERATIONS=5
MAX_RETRIES=3
AGENT="mine"
RETRY_DELAY=0
"""


@dataclass
class Project:
    """A project of one kind; `options` are what `Loop.open` takes for it."""

    path: Path
    kind: str
    options: dict[str, Any] = field(default_factory=dict)

    def write(self, name: str, text: str, mode: int = 0o644) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def pid(self, name: str) -> int | None:
        path = self.path / name
        return int(path.read_text()) if path.exists() else None

    def open(self, **options: Any) -> Loop:
        return Loop.open(self.path, **{**self.options, **options})


def make(folder: Path, kind: str) -> Project:
    made = Project(folder, kind)
    made.write("bin/my-cli", CLI, 0o755)
    made.write(".gitignore", "bin/\ncalls\n.ralph/logs/\n")
    if kind in ("plain", "bmalph", "frankbria"):
        made.options["driver"] = str(made.write("mine.sh", DRIVER))
        made.write(".ralph/PROMPT.md", "Do the next task.\n")
    if kind == "bmalph":
        made.write(".ralph/@fix_plan.md", "- [ ] one\n")
    if kind == "frankbria":
        made.write(".ralph/fix_plan.md", "- [ ] one\n")
        made.write(".ralph/AGENT.md", "# Build\n")
        made.write(".ralphrc", "CLAUDE_TIMEOUT_MINUTES=15\n")
    if kind == "ralph-loop":
        made.write("specs/one.md", "# One\n")
        made.write(".ralph/ralph", "#!/bin/sh\nexit 9\n", 0o755)
        made.write(".ralph/lib/plan-filter.sh", "")
        for name in ("plan", "plan-process", "build", "build-process", "align-specs"):
            made.write(f".ralph/prompts/{name}.md", f"prompt {name}\n")
        made.write(".ralph/config", CONFIG)
        made.write(".ralph/agents/mine.sh", AGENT)
    if kind == "wiggum":
        made.options |= {"task": "Do it.", "agent": str(made.write("bin/mine.sh", AGENT))}
    if kind in ("snarktank", "pocock", "ralphy", "playbook"):
        made.options |= {"driver": str(made.write("mine.sh", DRIVER)), "max_iterations": 9}
        for name, text in SETUPS[kind].files.items():
            made.write(name, text)
    if kind == "script":
        made.write("bin/claude", CLI, 0o755)
        for name, text in {**SETUPS[kind].files, "fix_plan.md": "- [ ] one\n"}.items():
            made.write(name, text)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@e.org", *words], cwd=folder, check=True)
    return made


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'project/bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("PAUSE", "RETRY", "LIMIT_WAIT"):
        monkeypatch.setenv(f"RALPH_BRIDGE_{name}_SECONDS", "0")
    for name in ("PLATFORM_DRIVER", "RALPH_DIR", "AGENT", "RALPH_MAX_ITERATIONS", "RALPH_COMPLETION_PROMISE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=mostly_slow(KINDS, 2))
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    return make(tmp_path / "project", request.param)


@pytest.fixture
def plain(tmp_path: Path) -> Project:
    return make(tmp_path / "project", "plain")


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def gone(pid: int | None) -> bool:
    assert pid is not None
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def test_to_its_end_in_the_same_events(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    with project.open() as loop:
        assert loop.setup == project.kind
        events = list(loop)
    assert capfd.readouterr() == ("", "")
    steps = [each for each in events if isinstance(each, IterationStarted | IterationEnded)]
    assert [type(each) for each in steps] == [IterationStarted, IterationEnded] * 2
    assert [each.iteration for each in steps] == [1, 1, 2, 2]
    for each in steps:
        if isinstance(each, IterationEnded):
            assert each.turn is not None
            assert (each.turn.turn, each.turn.result, each.turn.status) == (each.iteration, "success", 0)
            assert each.log.is_file()
    text = "".join(each.text for each in events if isinstance(each, OutputText))
    assert text.index("working 1") < text.index("working 2") < text.index("COMPLETE")
    end = events[-1]
    assert isinstance(end, LoopEnded)
    assert loop.ended is end
    assert (end.verdict, end.iterations, end.totals.turns, end.totals.failures) == (Verdict.COMPLETE, 2, 2, 0)
    assert end.reason
    assert end.seconds > 0


def test_a_limit_ends_it_incomplete(project: Project) -> None:
    *_, end = project.open(max_iterations=1)
    assert isinstance(end, LoopEnded)
    assert (end.verdict, end.iterations) == (Verdict.INCOMPLETE, 1)


def test_a_run_that_fails_is_told_of_and_repeated(project: Project) -> None:
    project.write("fail", "")
    events = list(project.open(retry_delay=0.05))
    turns = [each.turn for each in events if isinstance(each, IterationEnded)]
    assert [each and (each.result, each.status) for each in turns][:2] == [("failed", 7), ("success", 0)]
    waited = any(isinstance(each, Waiting) and each.reason == "retry" and each.first for each in events)
    assert waited is (not SETUPS[project.kind].scripted), (
        "a script gets a failure that isn't known to pass, and goes on"
    )
    end = events[-1]
    assert isinstance(end, LoopEnded)
    assert (end.verdict, end.totals.turns, end.totals.failures) == (Verdict.COMPLETE, 2, 1)


@pytest.mark.parametrize("way", mostly_slow(["close", "drop"], 1))
def test_leaving_early_ends_everything(project: Project, way: str) -> None:
    project.write("hold", "")
    loop = project.open()
    for event in loop:
        if isinstance(event, RunProgress | OutputText):
            break
    until(lambda: project.pid("tool") is not None, "the tool is at work")
    assert not gone(project.pid("stray"))
    if way == "close":
        loop.close()
        assert list(loop) == []
        loop.close()
    else:
        del loop
    assert gone(project.pid("tool"))
    assert gone(project.pid("stray"))
    (project.path / "hold").unlink()
    *_, end = project.open()  # and the project is free again
    assert isinstance(end, LoopEnded)


def test_a_second_one_is_refused_when_it_is_opened(project: Project) -> None:
    with project.open(), pytest.raises(ProjectBusy, match=str(os.getpid())):
        project.open()
    project.open().close()


PROGRAM = """
import sys
from bridge import Loop
for event in Loop.open(sys.argv[1], **eval(sys.argv[2])):
    print(type(event).__name__, flush=True)
"""


def program(project: Project) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(project.path), repr(project.options)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_reaches_the_program_when_everything_has_ended(project: Project) -> None:
    project.write("hold", "")
    with program(project) as process:
        until(lambda: project.pid("tool") is not None, "the tool is at work")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert err.splitlines()[-1] == "KeyboardInterrupt"
    assert gone(project.pid("tool"))
    assert gone(project.pid("stray"))


STOPPED = """
import signal, sys
from bridge import Loop
def leave(number, frame):
    raise SystemExit(128 + number)
signal.signal(signal.SIGTERM, leave)
loop = Loop.open(sys.argv[1], **eval(sys.argv[2]))
for event in loop:
    pass
print(loop.ended.reason, loop.ended.iterations)
"""


def test_wiggum_stop_now_counts_the_turn_that_it_ends(tmp_path: Path) -> None:
    project = make(tmp_path / "project", "wiggum")
    project.write("hold", "")
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(project.path), repr(project.options)], stdout=subprocess.PIPE, text=True
    ) as process:
        until(lambda: project.pid("tool") is not None, "the tool is at work")
        stop(Layout(project.path), at_once=True)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "cancelled 1\n")
    assert gone(project.pid("stray"))


def test_what_a_killed_program_has_left_is_ended_and_logged(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    project.write("hold", "")
    with program(project) as process:
        until(lambda: project.pid("tool") is not None, "the tool is at work")
        process.kill()
        process.communicate(timeout=60)
    (project.path / "hold").unlink()
    with caplog.at_level(logging.INFO, NAME):
        events = list(project.open())
    assert gone(project.pid("tool"))
    assert gone(project.pid("stray"))
    told = [each.text for each in events if isinstance(each, Notice)]
    assert any(f"the lock of process {process.pid}" in text for text in told), told
    assert f"the lock of process {process.pid}" in caplog.text
    assert {each.name for each in caplog.records} == {NAME}


def test_from_a_folder_below(project: Project) -> None:
    below = project.path / "src/deep"
    below.mkdir(parents=True)
    if project.kind == "wiggum":
        project.open().close()
    with Loop.open(below, **project.options) as loop:
        assert loop.project == project.path


def test_a_wiggum_loop_goes_on_by_itself(tmp_path: Path) -> None:
    project = make(tmp_path / "project", "wiggum")
    project.open().close()
    with Loop.open(project.path) as loop:
        assert loop.setup == "wiggum"


@pytest.mark.parametrize(
    ("kind", "options", "why"),
    [
        ("plain", {"words": ["build"]}, "words does not apply to a plain loop"),
        ("plain", {"calls": 3}, "calls does not apply to a plain loop"),
        ("bmalph", {"task": "x", "setup": "bmalph"}, "task does not apply to a bmalph loop"),
        ("ralph-loop", {"driver": "codex"}, "driver does not apply to a ralph-loop loop"),
        ("ralph-loop", {"words": ["frobnicate"]}, "unknown argument: frobnicate"),
        ("ralph-loop", {"words": ["help"]}, "asks for no loop"),
        ("wiggum", {"prompt": "P.md"}, "prompt does not apply to a wiggum loop"),
        ("plain", {"setup": "nothing"}, "known: plain, bmalph, ralph-loop, frankbria, wiggum"),
        ("plain", {"setup": "ralph-loop", "driver": None}, "holds no such setup"),
        ("plain", {"prompt": "nothing.md"}, "no prompt file"),
        ("plain", {"driver": "nothing"}, "nothing"),
        ("plain", {"max_iterations": 0}, "max_iterations is 0, expected a number from 1"),
        ("plain", {"timeout": 0}, "timeout is 0, expected a number of minutes above 0"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, kind: str, options: dict[str, Any], why: str) -> None:
    project = make(tmp_path / "project", kind)
    with pytest.raises(ConfigurationError, match=why):
        project.open(**options)
    assert not (project.path / "calls").exists()


def test_an_agent_in_a_plain_folder(plain: Project) -> None:
    agent = str(plain.write("bin/mine.sh", AGENT))
    *_, end = plain.open(driver=None, agent=agent)
    assert isinstance(end, LoopEnded)
    assert (end.reason, end.iterations) == ("project_complete", 2)


def test_a_folder_that_is_not_there() -> None:
    with pytest.raises(ConfigurationError, match="no such folder"):
        Loop.open("/nowhere/at/all")


def test_a_check_of_the_setup_is_an_error(tmp_path: Path) -> None:
    project = make(tmp_path / "project", "ralph-loop")
    project.write(".ralph/config", CONFIG + 'AGENT="other"\n')
    with pytest.raises(SessionRefused, match="agent script not found"):
        project.open()


def test_events_from_other_threads(plain: Project) -> None:
    """As README shows it."""

    async def run() -> list[str]:
        seen = []
        loop = await asyncio.to_thread(plain.open)
        while (event := await asyncio.to_thread(next, loop, None)) is not None:
            seen.append(type(event).__name__)
        return seen

    assert [name for name in asyncio.run(run()) if name != RunProgress.__name__][-1] == "LoopEnded"
