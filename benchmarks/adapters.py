"""One command through an interactive program, against pexpect's replwrap and against a bare terminal round trip."""

from __future__ import annotations

import os
import pty
import shutil
import time
import tty
from contextlib import ExitStack
from typing import TYPE_CHECKING

from benchmarks.timing import paired, table
from bridge import Adapter

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.adapters import Session

COMMANDS = {"bash": ":", "python": "1", "sqlite3": "SELECT 1;", "zsh": ":", "lua": "1"}


def _adapter(session: Session, command: str) -> Callable[[int], None]:
    def run(n: int) -> None:
        for _ in range(n):
            session.run(command)

    return run


def _bare(stack: ExitStack) -> Callable[[int], None]:
    """A line to ``cat`` and back, through a terminal: what no runtime can be faster than."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("cat", ["cat"])
    stack.callback(os.waitpid, pid, 0)
    stack.callback(os.close, terminal)
    tty.setraw(terminal)

    def run(n: int) -> None:
        for _ in range(n):
            os.write(terminal, b"x\n")
            seen = b""
            while not seen.endswith(b"\n"):
                seen += os.read(terminal, 100)

    return run


def _replwrap(name: str, command: str) -> Callable[[int], None]:
    from pexpect import replwrap

    wrapped = replwrap.bash() if name == "bash" else replwrap.python("python3")

    def run(n: int) -> None:
        for _ in range(n):
            wrapped.run_command(command)

    return run


def main(rounds: int = 15) -> str:
    """Time it; returns the tables."""
    with ExitStack() as stack:
        base = "bare terminal round trip"
        contenders: dict[str, tuple[int, Callable[[int], object]]] = {base: (50, _bare(stack))}
        ready = []
        for name, command in COMMANDS.items():
            if shutil.which("python3" if name == "python" else name):
                session = stack.enter_context(Adapter.load(name).start())
                ready.append(f"{name} {session.ready_seconds * 1000:.0f} ms")
                contenders[f"{name}: adapter"] = (20, _adapter(session, command))
        contenders["bash: replwrap"] = (2, _replwrap("bash", ":"))
        contenders["python: replwrap"] = (2, _replwrap("python", "1"))
        times = table("One command through a terminal", paired(contenders, rounds), base)
        return f"{times}  from start to ready: {', '.join(ready)}\n{_throughput(100 if rounds > 1 else 5)}\n"


def _throughput(megabytes: int) -> str:
    with Adapter.load("bash").start(output_limit=256_000_000) as session:
        begun = time.perf_counter()
        result = session.run(f"yes '{'0123456789' * 8}' | head -c {megabytes}000000", timeout=None)
        seconds = time.perf_counter() - begun
    return f"  {megabytes} MB of output, {len(result.output)} characters kept: {seconds:.2f} s"


if __name__ == "__main__":
    print(main())
