"""The loop: what an iteration costs beyond the CLI, and the analysis of outputs from 1 kB to 100 MB.

The CLI answers at once. Wall time and CPU of a whole loop, all its children included, less that of a loop of one
iteration and less the CLI's own: what is left, per iteration. Processes are counted with strace where there is one.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from bridge.scripts.stream.analysis import RunFacts, analyze

ROOT = Path(__file__).parents[1]
MAIN = [sys.executable, "-c", "import sys; from bridge.cli import main; sys.exit(main())"]
EVENTS = """\
{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}
{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"Worked on it."}}
{"type":"turn.completed","usage":{"input_tokens":3,"output_tokens":4}}
"""
CLI = '#!/bin/sh\necho x >> work.txt\nwhile read -r line; do printf "%s\\n" "$line"; done < ../answer\n'


class Cost(NamedTuple):
    """Seconds of wall time and of CPU, and processes started (None: not counted)."""

    wall: float
    cpu: float
    processes: int | None


def main(
    rounds: int = 3, iterations: tuple[int, ...] = (1, 10, 100), sizes: tuple[int, ...] = (1, 10**3, 10**5)
) -> str:
    """Measure; returns two tables. `sizes` are in kB."""
    if rounds == 1:
        iterations, sizes = (1, 3), (1, 100)
    with tempfile.TemporaryDirectory() as folder:
        project = _project(Path(folder))
        alone = _best([_alone(project) for _ in range(rounds + 2)])
        one = _best([_loop(project, 1) for _ in range(rounds)])
        lines = [
            "the loop in a bmalph project, a CLI that answers at once (best of the rounds)",
            f"  {'iterations':<12}  {'wall':>9}  {'CPU':>9}  {'per iteration beyond the CLI':>30}  processes",
            f"  {'1':<12}  {one.wall:>7.2f} s  {one.cpu:>7.2f} s  {'(start included)':>30}",
        ]
        for count in iterations:
            if count > 1:
                whole = _best([_loop(project, count) for _ in range(rounds if count < 100 else 1)])
                wall = (whole.wall - one.wall) / (count - 1) - alone.wall
                cpu = (whole.cpu - one.cpu) / (count - 1) - alone.cpu
                each = f"{wall * 1e3:.0f} ms wall, {cpu * 1e3:.0f} ms CPU"
                lines.append(
                    f"  {count:<12}  {whole.wall:>7.2f} s  {whole.cpu:>7.2f} s  {each:>30}{_counted(project)}"
                )
    return "\n".join([*lines, "", *_analysis(rounds, sizes), ""])


def _project(base: Path) -> Path:
    project, programs = base / "project", base / "bin"
    (project / ".ralph" / "drivers").mkdir(parents=True)
    programs.mkdir()
    shutil.copy(ROOT / "drivers" / "codex.sh", project / ".ralph" / "drivers")
    (project / ".ralph" / "PROMPT.md").write_text("Do the next task.\n")
    (project / ".ralph" / "@fix_plan.md").write_text("- [ ] Story 1.1: one\n")
    (project / ".gitignore").write_text(".ralph/logs/\n")
    (base / "answer").write_text(EVENTS)
    (programs / "codex").write_text(CLI)
    (programs / "codex").chmod(0o755)
    identity = ("-c", "user.name=b", "-c", "user.email=b@example.org")
    for words in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=project, check=True)
    return project


def _environment(project: Path) -> dict[str, str]:
    return os.environ | {
        "PATH": f"{project.parent / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PLATFORM_DRIVER": "codex",
        "RALPH_BRIDGE_PAUSE_SECONDS": "0",
        "MAX_CALLS_PER_HOUR": "1000000",
    }


def _loop(project: Path, count: int) -> Cost:
    return _measured([*MAIN, "run", "--no-live", "-q", "--max-iterations", str(count)], project, wanted=1)


def _alone(project: Path) -> Cost:
    return _measured([str(project.parent / "bin" / "codex")], project, wanted=0)


def _measured(command: list[str], project: Path, *, wanted: int) -> Cost:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, cwd=project, env=_environment(project), capture_output=True, check=False)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == wanted, done.stderr
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, None)


def _best(costs: list[Cost]) -> Cost:
    return Cost(min(cost.wall for cost in costs), min(cost.cpu for cost in costs), None)


def _counted(project: Path) -> str:
    """Processes per iteration, the CLI's own one included; threads don't count."""
    if shutil.which("strace") is None:
        return "  (no strace)"

    def count(iterations: int) -> int:
        log = project.parent / "strace.log"
        traced = ["strace", "-f", "-qq", "-e", "trace=clone,clone3,fork,vfork", "-o", str(log)]
        command = [*traced, *MAIN, "run", "--no-live", "-q", "--max-iterations", str(iterations)]
        subprocess.run(command, cwd=project, env=_environment(project), capture_output=True, check=False)
        calls = [line for line in log.read_text(errors="replace").splitlines() if "resumed" not in line]
        return sum("(" in line and "CLONE_THREAD" not in line for line in calls)

    return f"  {(count(6) - count(2)) / 4:.1f}"


def _analysis(rounds: int, sizes: tuple[int, ...]) -> list[str]:
    facts = RunFacts(now=datetime.now(UTC))
    event = b'{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"%s"}}\n' % (b"word " * 180)
    found = ["analysis of an output", f"  {'size':<12}  {'best':>10}  per MB"]
    for size in sizes:
        chunks = [event] * max(1, size * 1000 // len(event))
        best = min(_timed(chunks, facts) for _ in range(rounds if size < 10**5 else 1))
        megabytes = len(event) * len(chunks) / 1e6
        found.append(f"  {size:>8} kB    {best * 1e3:>7.1f} ms  {best / megabytes * 1e3:.1f} ms")
    return found


def _timed(chunks: list[bytes], facts: RunFacts) -> float:
    start = time.perf_counter()
    analyze(chunks, facts)
    return time.perf_counter() - start


if __name__ == "__main__":
    print(main())
