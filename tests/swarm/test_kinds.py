"""A swarm in a project of each kind, with its own loop, driver or agent."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from bridge import Swarm
from bridge.cli.setups import run_controller
from bridge.loop.setups import KINDS, kinds
from bridge.loop.swarm import transport
from bridge.loop.swarm.courier import Courier
from bridge.loop.tasks.task import Task
from tests.machine import mostly_slow
from tests.test_loop import ROOT, make

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor
    from pathlib import Path

CLI = r"""#!/usr/bin/env bash
grep -rqs "the $RALPH_TASK task" .ralph/@fix_plan.md .ralph/fix_plan.md .ralph/.ralph_bridge.task.md fix_plan.md \
    scripts/ralph/prd.json || [[ "$*" == *"the $RALPH_TASK task"* ]] ||
    grep -q "the $RALPH_TASK task" || exit 9
echo "$RALPH_TASK" > "$RALPH_TASK.txt"
sed -i 's/\[ \]/[x]/' .ralph/@fix_plan.md .ralph/fix_plan.md 2> /dev/null
sed -i 's/false/true/' scripts/ralph/prd.json 2> /dev/null
echo '<promise>COMPLETE</promise>'
printf -- '---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n'
"""


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("PLATFORM_DRIVER", "RALPH_DIR", "AGENT", "RALPH_MAX_ITERATIONS", "RALPH_COMPLETION_PROMISE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "bin").mkdir()
    for name in ("my-cli", "claude"):
        (tmp_path / "bin" / name).write_text(CLI)
        (tmp_path / "bin" / name).chmod(0o755)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Courier]:
    transport.bare(tmp_path / "hub.git")
    with ThreadPoolExecutor(2) as engine, Courier(engine, hub=str(tmp_path / "hub.git")) as courier:
        yield courier


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, "plain with an agent"])
def test_each_kind_elsewhere(kind: str, tmp_path: Path, elsewhere: Courier) -> None:
    run_each_kind(kind, tmp_path, elsewhere)


@pytest.mark.parametrize("kind", mostly_slow([*KINDS, "plain with an agent"], 1))
def test_each_kind(kind: str, tmp_path: Path) -> None:
    run_each_kind(kind, tmp_path, None)


def run_each_kind(kind: str, tmp_path: Path, executor: Executor | None) -> None:
    project = make(tmp_path / "project", kind.partition(" ")[0])
    options = {name: value for name, value in project.options.items() if name != "task"}
    if kind == "plain with an agent":
        agent = make(tmp_path / "other", "ralph-loop").path / ".ralph/agents/mine.sh"
        options = {"agent": str(agent)}
    tasks = [Task(name, name, f"Do the {name} task.\nWith care.") for name in ("one", "two")]
    setup = "wiggum" if kind == "wiggum" else None
    options |= {"max_iterations": 2}
    with Swarm(project.path, tasks, setup=setup, options=options, executor=executor) as swarm:
        told = list(swarm)
    assert [each.outcome for each in swarm.record.tasks] == ["merged"] * 2, [
        (each.reason, each.detail) for each in swarm.record.tasks
    ] + told
    names = subprocess.run(
        ["git", "diff", "--name-only", swarm.record.base, swarm.record.branch],
        cwd=project.path,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert [each for each in names if not each.endswith("progress.txt")] == ["one.txt", "two.txt"], (
        "the work, and nothing of the loops' own"
    )


SAYS_DONE = """#!/usr/bin/env bash
case " $* " in *" --version "*) echo 2.1.9; exit ;; esac
cat > /dev/null; echo x >> work.txt
block='---RALPH_STATUS---\\nSTATUS: COMPLETE\\nTASKS_COMPLETED_THIS_LOOP: 1\\nEXIT_SIGNAL: true'
block="$block\\n---END_RALPH_STATUS---"
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"s-1"}\\n' "$block"
"""


@pytest.mark.slow
def test_a_task_that_says_it_is_done_and_ticks_nothing_ends(tmp_path: Path) -> None:
    """Word and plan apart for three turns: told as such, and no further turn is begun."""
    project = make(tmp_path / "project", "bmalph")
    (tmp_path / "bin/my-cli").write_text(SAYS_DONE)
    name, line, _ = PLANS["bmalph"]
    project.write(name, line.format("one"))
    for words in (["add", "-A"], ["-c", "user.name=t", "-c", "user.email=t@e.org", "commit", "-qm", "plan"]):
        subprocess.run(["git", *words], cwd=project.path, check=True)
    options = {key: value for key, value in project.options.items() if key != "task"}
    with Swarm(project.path, options=options) as swarm:
        told = list(swarm)
    [task] = swarm.record.tasks
    assert (task.outcome, task.reason) == ("incomplete", "plan_mismatch"), (task.reason, task.detail, told)
    assert "3 turns in a row said that the task is done, and ticked nothing" in task.detail
    assert task.turns == 3


PLANS = {
    "ralph-loop": (".ralph/implementation_plan.md", "### Task {}\nStatus: planned\n", "Status: complete"),
    "wiggum": ("fix_plan.md", "* [ ] Do the {} task.\n", "* [x]"),
    "frankbria": (".ralph/fix_plan.md", "- [ ] Do the {} task.\n", "- [x]"),
    "bmalph": (".ralph/@fix_plan.md", "- [ ] Do the {} task.\n", "- [x]"),
}


@pytest.mark.parametrize("kind", mostly_slow([*PLANS], 1))
def test_the_plan_of_each_kind(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is where the tasks come from, and where the merges put down what is done."""
    monkeypatch.setenv("RALPH_TASK", "")
    project = make(tmp_path / "project", kind)
    name, line, done = PLANS[kind]
    project.write(name, "".join(line.format(each) for each in ("01-do-the-one-task", "02-do-the-two-task")))
    (tmp_path / "bin/my-cli").write_text(CLI.replace("the $RALPH_TASK task", "the [a-z0-9-]* task\\|Task 0"))
    for words in (["add", "-A"], ["-c", "user.name=t", "-c", "user.email=t@e.org", "commit", "-qm", "plan"]):
        subprocess.run(["git", *words], cwd=project.path, check=True)
    options = {key: value for key, value in project.options.items() if key != "task"}
    setup = "wiggum" if kind == "wiggum" else None
    with Swarm(project.path, setup=setup, options=options | {"max_iterations": 2}) as swarm:
        told = list(swarm)
    assert [each.outcome for each in swarm.record.tasks] == ["merged"] * 2, told
    shown = ["git", "show", f"{swarm.record.branch}:{name}"]
    text = subprocess.run(shown, cwd=project.path, check=True, capture_output=True, text=True).stdout
    assert text.count(done) == 2


def test_bmalphs_own_swarm_is_refused_with_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = make(tmp_path / "project/.swarm/worker-1", "bmalph").path
    monkeypatch.chdir(worker)
    assert run_controller(kinds()["bmalph"], worker / ".ralph/ralph_loop.sh", []) == 1
    told = capsys.readouterr().err
    assert f"(cd {tmp_path / 'project'} && ralph-bridge swarm run --by heading)" in told
    assert run_controller(kinds()["bmalph"], worker / ".ralph/ralph_loop.sh", ["--help"]) == 0
