"""What a command costs from nothing, against the interpreter that does nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.timing import paired, table

if TYPE_CHECKING:
    from collections.abc import Callable

DRIVER = Path(__file__).parents[1] / "drivers" / "codex.sh"
COMMAND = str(Path(sys.executable).with_name("ralph-bridge"))


def _run(*argv: str) -> Callable[[int], None]:
    def run(n: int) -> None:
        for _ in range(n):
            subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)

    return run


def main(rounds: int = 15) -> str:
    """Time it; returns the table."""
    base = "python -c pass"
    timings = paired(
        {
            base: (1, _run(sys.executable, "-c", "pass")),
            "ralph-bridge --version": (1, _run(COMMAND, "--version")),
            "ralph-bridge --help": (1, _run(COMMAND, "--help")),
            "ralph-bridge call codex.sh driver_name": (1, _run(COMMAND, "call", str(DRIVER), "driver_name")),
        },
        rounds,
    )
    return table("From nothing", timings, base)


if __name__ == "__main__":
    print(main())
