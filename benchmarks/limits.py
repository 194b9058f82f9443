"""How far it goes: the figures of the table of limits in bridge/shell/README.md (``make limits``)."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from bridge import Shell
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCRIPT = """
one() { echo x; }
fill() { V=$(head -c "$1" /dev/zero | tr '\\0' v); }
count() { A=(); local i; for ((i = 0; i < $1; i++)); do A[i]=$i; done; }
say() { head -c "$1" /dev/zero | tr '\\0' o; }
deep() { if (($1 > 0)); then deep $(($1 - 1)); else echo bottom; fi; }
"""


def resident(pid: int | str) -> int:
    """kB of memory that a process holds (0 where there is no /proc)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rows(shell: Shell) -> Iterator[tuple[str, str]]:
    """Each limit with what was seen."""
    yield "memory per shell", f"{resident(shell.pid) / 1024:.1f} MB"
    yield "calls per second", f"{20_000 / timed(lambda: [shell.call('one') for _ in range(20_000)]):,.0f}"
    size = 100 << 20
    value = "v" * size
    seconds = timed(lambda: shell.update({"V": value}))
    back = timed(lambda: shell["V"] == value or sys.exit("the value came back changed"))
    yield "value of 100 MB", f"set in {seconds:.1f} s, read back in {back:.1f} s"
    del shell["V"]
    many = [str(i) for i in range(1_000_000)]
    seconds = timed(lambda: shell.update({"A": many}))
    back = timed(lambda: shell["A"] == many or sys.exit("the array came back changed"))
    yield "array of 1,000,000", f"set in {seconds:.1f} s, read back in {back:.1f} s"
    del shell["A"]
    with Shell(output_limit=2 << 30) as wide:
        wide.execute(SCRIPT)
        seconds = timed(lambda: wide.call("say", str(1 << 30), timeout=300))
        yield "output of 1 GB", f"{seconds:.1f} s (kept whole; the default limit is 64 MiB)"
    yield "recursion", _recursion(shell)


def _recursion(shell: Shell) -> str:
    deepest = 0
    for depth in (1_000, 2_000, 5_000, 10_000, 20_000, 50_000):
        try:
            if shell.call("deep", str(depth), timeout=60).stdout != "bottom\n":
                break
            deepest = depth
        except BridgeError as error:
            return f"{deepest:,} frames are fine; {depth:,} end with {type(error).__name__} (bash's own stack)"
    return f"{deepest:,} frames are fine"


def many_shells(count: int = 200) -> str:
    """Start so many at once, call each, close all."""
    shells: list[Shell] = []
    started = timed(lambda: shells.extend(Shell() for _ in range(count)))
    for shell in shells:
        assert shell.call("true").ok
    memory = sum(resident(shell.pid) for shell in shells) / 1024
    descriptors = len(os.listdir("/dev/fd"))
    start = time.perf_counter()
    for shell in shells:
        shell.close()
    closed = time.perf_counter() - start
    return (
        f"{count} started in {started:.1f} s, closed in {closed:.1f} s, "
        f"{memory:.0f} MB together, {descriptors / count:.1f} descriptors each in the host"
    )


def soak(calls: int) -> str:
    """So many calls in one shell: is memory flat?"""
    with Shell() as shell:
        shell.execute(SCRIPT)
        seen = []
        start = time.perf_counter()
        for part in range(10):
            for _ in range(calls // 10):
                shell.call("one")
            if part in (0, 4, 9):
                seen.append(f"{resident('self') / 1024:.1f} and {resident(shell.pid) / 1024:.1f} MB")
        seconds = time.perf_counter() - start
        return f"{calls:,} in {seconds:.0f} s; host and bash after 10 %, 50 %, 100 %: {'; '.join(seen)}"


def main() -> None:
    """Print the table; ``--soak N`` for another number of calls than a million."""
    calls = int(sys.argv[sys.argv.index("--soak") + 1]) if "--soak" in sys.argv else 1_000_000
    with Shell(timeout=600) as shell:
        shell.execute(SCRIPT)
        for name, figure in rows(shell):
            print(f"{name:<20} {figure}", flush=True)
    print(f"{'shells per host':<20} {many_shells()}", flush=True)
    print(f"{'soak':<20} {soak(calls)}", flush=True)


if __name__ == "__main__":
    main()
