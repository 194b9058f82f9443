"""What the host adds to a call of a script's: the script by itself, and run by us, with a CLI that does nothing."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import paired, table

CALLS = 20
_LOOP = 'for ((i = 0; i < $1; i++)); do claude -p "go on" < /dev/null > /dev/null; done\n'


def main(rounds: int = 10) -> str:
    """Time it; returns the table."""
    with tempfile.TemporaryDirectory() as folder:
        project, programs = Path(folder, "project"), Path(folder, "bin")
        project.mkdir()
        programs.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=project, check=True)
        (programs / "claude").write_text("#!/bin/sh\necho done\n")
        (programs / "claude").chmod(0o755)
        (project / "loop.sh").write_text(_LOOP)
        env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

        def run(*argv: str) -> None:
            subprocess.run(argv, cwd=project, env=env, check=True, capture_output=True)

        def alone(n: int) -> None:
            run("bash", "loop.sh", str(n))

        def hosted(n: int) -> None:
            run(sys.executable, "-m", "bridge", "run", "-q", "--script", "loop.sh", "--", str(n))

        def cpu(n: int) -> float:
            before = _used()
            hosted(n)
            return _used() - before

        base = "by itself"
        found = table("A call of a script", paired({base: (CALLS, alone), "hosted": (CALLS, hosted)}, rounds), base)
        each = (cpu(5 * CALLS) - cpu(CALLS)) / (4 * CALLS) * 1e3
        return f"{found}  CPU per call, hosted, all processes: {each:.1f} ms\n"


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    print(main())
