"""What a box of bubblewrap, and the look behind it, add to a turn that does nothing: time, and CPU of all of it."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.timing import paired, table
from bridge.loop.sandbox.box import Box
from bridge.loop.sandbox.box_settings import Wishes

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = "/bin/true"


def main(rounds: int = 40) -> str:
    """Time it; returns the table."""
    with tempfile.TemporaryDirectory() as folder:
        project, logs = Path(folder, "project"), Path(folder, "project/.ralph/logs")
        logs.mkdir(parents=True)
        subprocess.run(["git", "init", "-q"], cwd=project, check=True)
        box, watched = (Box(project, Wishes(provider="bwrap"), (".ralph/logs", ".ralphrc")) for _ in range(2))
        guard = watched.guard(logs)

        def bare(n: int) -> None:
            for _ in range(n):
                subprocess.run([PROGRAM], cwd=project, check=True)

        def boxed(n: int, box: Box = box) -> None:
            for _ in range(n):
                made = box.command([PROGRAM], os.environ)
                with made.standing():
                    subprocess.run(made.argv, cwd=project, env=dict(made.env), check=True)

        def guarded(n: int) -> None:
            for turn in range(n):
                boxed(1, watched)
                assert not [*guard.after(turn)]

        base = "on this machine"
        contenders = {base: (5, bare), "in bwrap": (5, boxed), "in bwrap, looked behind": (5, guarded)}
        found = table("A turn that does nothing", paired(contenders, rounds), base)
        spent = [f"{name} {_cpu(work, 5 * rounds):.1f} ms" for name, (_, work) in contenders.items()]
        return f"{found}  CPU: {', '.join(spent)}\n"


def _cpu(work: Callable[[int], object], n: int) -> float:
    """Milliseconds of CPU per turn, of this process and of what it starts."""
    before = _used()
    work(n)
    return (_used() - before) / n * 1e3


def _used() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in usages)


if __name__ == "__main__":
    print(main())
