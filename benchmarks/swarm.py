"""A swarm: what a task costs beside git and a shell by hand, many short tasks on each executor, growth to 1,000.

Not on one core, as the other benchmarks are: work side by side is what a swarm is for. `python benchmarks/swarm.py`
runs this one alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.timing import show  # noqa: E402
from bridge.loop.swarm.events import SwarmEnded, TaskEnded, TaskStarted  # noqa: E402
from bridge.loop.swarm.executors import opened  # noqa: E402
from bridge.loop.swarm.opening import Swarm  # noqa: E402
from bridge.loop.swarm.supervisor import prepare, save_safely  # noqa: E402
from bridge.loop.swarm.work_order import Order, Result  # noqa: E402
from bridge.loop.tasks.task import Task  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Future

MAIN = [sys.executable, "-c", "import sys; from bridge.cli import main; sys.exit(main())"]
CLI = r"""#!/bin/sh
cat > /dev/null
sleep "$AGENT_SECONDS"
task=$(sed -n 's/^- \[ \] //p' .ralph/@fix_plan.md | head -n 1)
echo "$task" > "${task:-none}.txt"
sed -i 's/\[ \]/[x]/' .ralph/@fix_plan.md
printf -- '---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n'
"""
DRIVER = """
driver_name() { echo mine; }
driver_display_name() { echo "My Own"; }
driver_cli_binary() { echo my-cli; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Bash); }
driver_build_command() { CLAUDE_CMD_ARGS=(my-cli "$(cat "$1")"); }
driver_supports_live_output() { return 1; }
"""
BY_HAND = """\
set -e
git worktree add -q -b result "$TREES/result"
for name in $TASKS; do
    git worktree add -q -b "task-$name" "$TREES/$name"
    (cd "$TREES/$name"
     echo "- [ ] $name" > .ralph/@fix_plan.md
     $RUN < /dev/null > /dev/null 2>&1
     git checkout -q -- .ralph/@fix_plan.md && git add -A && git commit -qm "$name")
    git -C "$TREES/result" merge -q --no-ff -m "merge $name" "task-$name"
done
"""
_MANY_ROUNDS = 4
_FILES = 300
"""In the project of the first table; each of a thousand work trees has 20 of them, which take as long to delete."""


def main(rounds: int = 3, each: int = 6, many: int = 200, growth: int = 1000) -> str:
    """Measure; returns three tables.

    Args:
        rounds: of the comparison with a shell.
        each: tasks in one of those.
        many: tasks of an agent that takes 50 ms.
        growth: tasks without a worker of their own.
    """
    return "\n".join(tables(rounds, each, many, growth))


def tables(rounds: int = 3, each: int = 5, many: int = 200, growth: int = 1000) -> Iterator[str]:
    """Give each table as soon as it is ready."""
    if rounds == 1:
        each, many, growth = min(each, 2), min(many, 6), min(growth, 40)
    with _all_cores() as cores:
        told = f"{cores} cores, load {os.getloadavg()[0]:.1f} before"
        yield "\n".join([*_overhead(rounds, each, told), ""])
        yield "\n".join([*_many(many, cores), ""])
        yield "\n".join([*_growth(growth, cores), ""])


@contextmanager
def _all_cores() -> Iterator[int]:
    """Use every core for a while, and say how many there are."""
    if not hasattr(os, "sched_setaffinity"):
        yield os.cpu_count() or 1
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield len(os.sched_getaffinity(0))
    finally:
        os.sched_setaffinity(0, before)


# -- beside git and a shell --------------------------------------------------------------------------


def _overhead(rounds: int, each: int, told: str) -> list[str]:
    """One task after the other, with an agent that takes no time: what a further task takes."""
    ways: dict[str, Callable[[Path, int], None]] = {
        "git and a shell": partial(_by_hand, "my-cli"),
        "the same, with `run` in each": partial(_by_hand, f"{sys.executable} -m bridge run -q --no-live"),
        "swarm run -j 1": _swarm,
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            one, all_of_them = (_timed(way, count) for count in (1, each + 1))
            seconds[name].append((all_of_them - one) / each)
    lines = [
        f"a further task of a swarm, beside the same by hand ({rounds} rounds of {each}; {told})",
        f"  {'':<28}  {'median':>9}  {'least to most':>20}  {'ratio':>6}  {'least to most':>13}",
    ]
    base = seconds["swarm run -j 1"]
    for name, found in seconds.items():
        ratios = [ours / other for ours, other in zip(base, found, strict=True)]
        spread, ratio = f"{show(min(found))} to {show(max(found))}", statistics.median(ratios)
        lines.append(
            f"  {name:<28}  {show(statistics.median(found)):>9}  {spread:>20}  {ratio:>5.2f}x"
            f"  {min(ratios):>5.2f} to {max(ratios):.2f}"
        )
    return [*lines, "  ratio: the swarm's time to this one, paired in each round"]


def _timed(way: Callable[[Path, int], None], count: int) -> float:
    with tempfile.TemporaryDirectory() as name:
        project = _project(Path(name), count, _FILES)
        start = time.perf_counter()
        way(project, count)
        return time.perf_counter() - start


def _by_hand(run: str, project: Path, count: int) -> None:
    trees = project.parent / "trees"
    tasks = " ".join(f"t{number}" for number in range(count))
    env = _environment(project) | {"TREES": str(trees), "TASKS": tasks, "RUN": run}
    subprocess.run(["sh", "-c", BY_HAND], cwd=project, env=env, check=True)


def _swarm(project: Path, _count: int) -> None:
    command = [*MAIN, "swarm", "run", "-q", "-j", "1"]
    subprocess.run(command, cwd=project, env=_environment(project), stdout=subprocess.DEVNULL, check=True)


# -- many short tasks --------------------------------------------------------------------------------


def _many(count: int, cores: int) -> list[str]:
    """So many tasks on each executor, in rounds with both of them."""
    names = ("threads", "dask") if find_spec("distributed") else ("threads",)
    rounds = _MANY_ROUNDS if count >= 100 else 1
    size = count // rounds
    found: dict[str, list[HostCost]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            found[name].append(_hosted(name, size, cores))
    lines = [
        f"{count} tasks of an agent that takes 50 ms, {cores} at once ({rounds} rounds of {size})",
        f"  {'':<8}  {'wall per task':>13}  {'least to most':>20}  {'to threads':>10}  {'CPU':>9}"
        f"  {'of it the host':>15}  {'busy':>5}  {'merging':>7}",
    ]
    for name, costs in found.items():
        walls = [each.wall / size for each in costs]
        ratios = [each.wall / other.wall for each, other in zip(costs, found["threads"], strict=True)]
        cpu, host_cpu = (
            statistics.median(values) / size for values in zip(*(each[1:3] for each in costs), strict=True)
        )
        busy, merging = (statistics.median(values) for values in zip(*(each[3:] for each in costs), strict=True))
        spread, share = f"{show(min(walls))} to {show(max(walls))}", f"{show(host_cpu)}, {host_cpu / cpu:.0%}"
        lines.append(
            f"  {name:<8}  {show(statistics.median(walls)):>13}  {spread:>20}  {statistics.median(ratios):>9.2f}x"
            f"  {show(cpu):>9}  {share:>15}  {busy:>5.0%}  {merging:>7.0%}"
        )
    return [
        *lines,
        "  The host is the process that schedules, with its threads (and Dask's scheduler); the rest of the CPU",
        "  are workers, agents and git. busy: how much of the workers' time had a task; merging: of all the time.",
    ]


class HostCost(NamedTuple):
    """What a swarm took: seconds, of CPU in all and of its host, and parts of the time at work and merging."""

    wall: float
    cpu: float
    host: float
    busy: float
    merging: float


def _hosted(name: str, count: int, jobs: int) -> HostCost:
    """Run a swarm in a process of its own, so that its CPU is told from ours."""
    with tempfile.TemporaryDirectory() as folder:
        project = _project(Path(folder), count)
        env = _environment(project) | {"AGENT_SECONDS": "0.05"}
        command = [sys.executable, __file__, "host", name, str(jobs)]
        done = subprocess.run(command, cwd=project, env=env, stdout=subprocess.PIPE, check=True)
        return HostCost(*json.loads(done.stdout.splitlines()[-1]))


def host(executor: str, jobs: int) -> None:
    """Run a swarm in this process, and print what it took as JSON."""
    with opened(None if executor == "threads" else executor, jobs) as chosen:
        start, before = time.perf_counter(), _clocks()[1]
        with Swarm(".", executor=chosen, jobs=jobs) as swarm:
            for _ in swarm:
                pass
        wall, own = time.perf_counter() - start, _clocks()[1] - before
    tasks = swarm.record.tasks
    assert swarm.record.all_merged, [(each.outcome, each.detail) for each in tasks]
    busy = sum(each.seconds or 0 for each in tasks) / wall / jobs
    merging = sum((each.merge_ended or 0) - (each.merge_began or 0) for each in tasks) / wall
    print(json.dumps(HostCost(wall, own + _clocks()[2], own, busy, merging)))


# -- growth ------------------------------------------------------------------------------------------


class WithoutWorkers(ThreadPoolExecutor):
    """Does all of a task's work but that of its loop: the tree, a changed file, the saving."""

    def submit(self, _function: Callable[..., Any], /, *arguments: Any, **_options: Any) -> Future[Any]:
        """Take a task."""
        return super().submit(_without_worker, *arguments)


def _without_worker(order: Order) -> Result:
    order = prepare(order)
    Path(order.tree, f"{order.task}.txt").write_text(order.task)
    return Result("complete", "no worker", "", save_safely(order), order.copied)


def _growth(count: int, cores: int, *, tidy: bool = False) -> list[str]:
    """The same swarm at its beginning and at its end: what isn't linear in the number of tasks shows itself."""
    parts = 10 if count >= 100 else 4
    size = count // parts
    with tempfile.TemporaryDirectory() as folder, _surroundings(Path(folder)):
        project = _project(Path(folder), 0)
        tasks = [Task(f"t{number}", f"task {number}", f"Do task {number}.") for number in range(size * parts)]
        marks = [_clocks()]
        ended = 0
        with (
            WithoutWorkers(cores) as executor,
            Swarm(project, tasks, executor=executor, jobs=cores, tidy=tidy) as swarm,
        ):
            for event in swarm:
                if isinstance(event, TaskStarted) and not ended and len(marks) == 1:
                    marks = [_clocks()]
                if isinstance(event, TaskEnded):
                    ended += 1
                    if ended % size == 0:
                        marks.append(_clocks())
                if isinstance(event, SwarmEnded):
                    assert event.complete, event.reason
        record = sum(path.stat().st_size for path in swarm.folder.glob("*.json*"))
        began = time.perf_counter()
        subprocess.run([*MAIN, "swarm", "status", "--json"], cwd=project, stdout=subprocess.DEVNULL, check=True)
        looked = time.perf_counter() - began
    walls, own, git = ([(b - a) / size for a, b in pairwise(each)] for each in zip(*marks, strict=True))
    lines = [
        f"{size * parts:,} tasks in one swarm without workers (tree, save, merge), {cores} at once",
        f"  {'tasks':<14}  {'wall per task':>13}  {'CPU of the host':>15}  {'CPU of git':>10}",
    ]
    for number in sorted({0, parts // 2 - 1, parts - 1}):
        name = f"{number * size + 1} to {(number + 1) * size}"
        lines.append(f"  {name:<14}  {show(walls[number]):>13}  {show(own[number]):>15}  {show(git[number]):>10}")
    ratio = ", ".join(
        f"{each[-1] / each[0]:.2f} ({name})" for name, each in (("wall", walls), ("host", own), ("git", git))
    )
    return [
        *lines,
        f"  the last to the first: {ratio}; record {record / 1e6:.2f} MB; `swarm status --json` {show(looked)}",
    ]


def _clocks() -> tuple[float, float, float]:
    """Wall, CPU of this process, and CPU of the children that have ended."""
    times = os.times()
    return time.perf_counter(), times.user + times.system, times.children_user + times.children_system


# -- the project -------------------------------------------------------------------------------------


def _project(base: Path, count: int, files: int = 20) -> Path:
    project, programs = base / "project", base / "bin"
    (project / ".ralph" / "drivers").mkdir(parents=True)
    programs.mkdir()
    (project / ".ralph" / "drivers" / "mine.sh").write_text(DRIVER)
    (project / ".ralph" / "PROMPT.md").write_text("Do the next task.\n")
    boxes = "".join(f"- [ ] t{number}\n" for number in range(count))
    (project / ".ralph" / "@fix_plan.md").write_text(f"# Plan\n\n{boxes}")
    (project / ".gitignore").write_text(".ralph/*\n!.ralph/drivers/\n!.ralph/PROMPT.md\n!.ralph/@fix_plan.md\n")
    for number in range(files):
        path = project / "src" / f"part{number % 20}" / f"file{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n" * 100)
    (programs / "my-cli").write_text(CLI)
    (programs / "my-cli").chmod(0o755)
    for words in (
        ("init", "-q"),
        ("config", "user.name", "b"),
        ("config", "user.email", "b@example.org"),
        ("add", "-A"),
        ("commit", "-qm", "first"),
    ):
        subprocess.run(["git", *words], cwd=project, check=True)
    return project


def _environment(project: Path) -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if not re.match("RALPH_|GIT_", name)}
    return known | {
        "PATH": f"{project.parent / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PLATFORM_DRIVER": "mine",
        "XDG_STATE_HOME": str(project.parent / "state"),
        "RALPH_BRIDGE_PAUSE_SECONDS": "0",
        "AGENT_SECONDS": "0",
    }


@contextmanager
def _surroundings(base: Path) -> Iterator[None]:
    """Have what runs in this process keep its work trees below `base`."""
    before: Mapping[str, str] = dict(os.environ)
    os.environ["XDG_STATE_HOME"] = str(base / "state")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


if __name__ == "__main__":
    if sys.argv[1:2] == ["host"]:
        host(sys.argv[2], int(sys.argv[3]))
    else:
        shutil.which("git") or sys.exit("there is no git")
        for part in tables():
            print(part, flush=True)
