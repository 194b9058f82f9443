"""``make bench``: every table, from one run on one core."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import (
    adapters,
    box,
    cold_start,
    filters,
    hook_call,
    loop,
    read_back,
    report,
    script,
    stop_hook,
    swarm,
    timing,
    verify_scale,
)


def main() -> None:
    """Print the tables as they are ready."""
    pinned = timing.pin()
    version = subprocess.run(
        ["bash", "-c", "echo $BASH_VERSION"], capture_output=True, text=True, check=True
    ).stdout
    where = "on one core" if pinned else "not pinned: this system has no sched_setaffinity"
    print(f"Python {platform.python_version()}, bash {version.strip()}, {platform.machine()}, {where}\n")
    for part in (
        hook_call,
        read_back,
        cold_start,
        stop_hook,
        verify_scale,
        filters,
        loop,
        adapters,
        report,
        swarm,
        box,
        script,
    ):
        print(part.main(), flush=True)


if __name__ == "__main__":
    main()
