"""What a box of bubblewrap, and the look behind it, add to a turn that does nothing."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from benchmarks.timing import paired, table
from bridge.sandbox.box import Box
from bridge.sandbox.settings import Wishes

PROGRAM = "/bin/true"


def main(rounds: int = 40) -> str:
    """Time it; returns the table."""
    with tempfile.TemporaryDirectory() as folder:
        project, logs = Path(folder, "project"), Path(folder, "project/.ralph/logs")
        logs.mkdir(parents=True)
        subprocess.run(["git", "init", "-q"], cwd=project, check=True)
        box = Box(project, Wishes(provider="bwrap"), (".ralph/logs", ".ralphrc"))
        guard = box.guard(os.environ, logs)

        def bare(n: int) -> None:
            for _ in range(n):
                subprocess.run([PROGRAM], cwd=project, check=True)

        def boxed(n: int) -> None:
            for _ in range(n):
                made = box.command([PROGRAM], os.environ)
                with made.standing():
                    subprocess.run(made.argv, cwd=project, env=dict(made.env), check=True)

        def guarded(n: int) -> None:
            for turn in range(n):
                guard.before([PROGRAM])
                boxed(1)
                assert not [*guard.after(turn)]

        base = "on this machine"
        contenders = {base: (5, bare), "in bwrap": (5, boxed), "in bwrap, looked behind": (5, guarded)}
        return table("A turn that does nothing", paired(contenders, rounds), base)


if __name__ == "__main__":
    print(main())
