"""One hook call, against everything that one would use instead."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.timing import paired, table
from bridge import Driver, Shell

if TYPE_CHECKING:
    from collections.abc import Callable

DRIVER = Path(__file__).parents[1] / "drivers" / "codex.sh"

# The floor: nothing is protected, nothing is captured, the hook's output goes to /dev/null.
BARE = 'source "$1"; while read -r line; do eval "$line" >/dev/null; printf "%s\\0" $? >&3; done'


class BareLoop:
    """A bash that reads a line, evaluates it, and prints the status: what the least possible host would do."""

    def __init__(self, stack: ExitStack) -> None:
        reply_r, reply_w = os.pipe()
        self._process = subprocess.Popen(
            ["bash", "--norc", "-c", f"exec 3>&{reply_w}; {BARE}", "bare", str(DRIVER)],
            stdin=subprocess.PIPE,
            pass_fds=[reply_w],
            bufsize=0,
        )
        os.close(reply_w)
        assert self._process.stdin is not None
        self._requests, self._replies = self._process.stdin.fileno(), reply_r
        self._poll = select.poll()
        self._poll.register(reply_r, select.POLLIN)
        stack.callback(self._end)

    def call(self, line: bytes) -> bytes:
        """One exchange."""
        os.write(self._requests, line)
        self._poll.poll(5000)
        return os.read(self._replies, 65536)

    def _end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        os.close(self._replies)


def _inside_bash(n: int) -> None:
    """`$(hook)` n times inside one bash, as the original controllers call hooks."""
    loop = f'source "$1"; for ((i = 0; i < {n}; i++)); do x=$(driver_name); done'
    subprocess.run(["bash", "--norc", "-c", loop, "x", str(DRIVER)], check=True)


def _bash_c(_: int) -> None:
    subprocess.run(["bash", "-c", 'source "$1"; driver_name', "x", str(DRIVER)], check=True, capture_output=True)


def _sh(_: int) -> None:
    import sh

    sh.bash("-c", 'source "$1"; driver_name', "x", str(DRIVER), _tty_out=False)


def _times(work: Callable[[], object]) -> Callable[[int], None]:
    def repeat(n: int) -> None:
        for _ in range(n):
            work()

    return repeat


def main(rounds: int = 15) -> str:
    """Time it; returns the table."""
    import pexpect.replwrap

    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        prompt = Path(folder, "PROMPT.md")
        prompt.write_text("Do the next open task of the plan.\n")
        bare = BareLoop(stack)
        driver = stack.enter_context(Driver.load(DRIVER))
        shell = stack.enter_context(Shell())
        shell.source(DRIVER)
        repl = pexpect.replwrap.bash()
        stack.callback(repl.child.close, force=True)
        repl.run_command(f"source {DRIVER}")
        timings = paired(
            {
                "bare read-eval loop, nothing called": (500, _times(lambda: bare.call(b":\n"))),
                "bare read-eval loop (the floor)": (500, _times(lambda: bare.call(b"driver_name\n"))),
                "Driver.name()": (500, _times(driver.name)),
                "Shell.call('driver_name')": (500, _times(lambda: shell.call("driver_name"))),
                "$(driver_name) inside bash": (200, _inside_bash),
                "bash -c 'source; driver_name'": (1, _bash_c),
                "sh.bash('-c', …)": (1, _sh),
                "pexpect replwrap": (1, _times(lambda: repl.run_command("driver_name"))),
            },
            rounds,
        )
        command = paired(
            {
                "bare loop, the hook alone": (
                    200,
                    _times(lambda: bare.call(f"driver_build_command {prompt} c s\n".encode())),
                ),
                "Driver.build_command(), argv read back": (
                    200,
                    _times(lambda: driver.build_command(prompt, "c", "s")),
                ),
            },
            rounds,
        )
    return "\n".join(
        [
            table("One hook call (driver_name of codex.sh)", timings, "bare read-eval loop (the floor)"),
            table("driver_build_command of codex.sh", command, "bare loop, the hook alone"),
        ]
    )


if __name__ == "__main__":
    print(main())
