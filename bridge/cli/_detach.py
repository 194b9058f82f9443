"""A loop that outlives the terminal it was started from."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from bridge.base.files import make_folder, usable, write_atomic
from bridge.base.json_files import read_text
from bridge.cli._options import choose_loop
from bridge.cli._terminal import say, say_all
from bridge.loop.engine.lock import standing

LOG = "detached.log"
"""What such a loop prints, in the folder of its logs; of one run only."""
_SECONDS = 60.0
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from bridge.cli import main; main()"
"""With -P: `-m` would import from the folder that it stands in, where turns write."""


def run_detached(folder: Path) -> int:
    """Start the same command again without a terminal, and wait until its loop is at work.

    Returns:
        0, or the exit code of a command that has ended before that; what it printed is printed.
    """
    package = str(Path(__file__).resolve().parents[2])
    words = [word for word in sys.argv[1:] if word != "--detach"]
    loop = choose_loop(folder, _setup(words))
    with usable(loop.logs):
        make_folder(loop.logs)
        write_atomic(loop.logs / LOG, b"")
    output = os.open(loop.logs / LOG, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
    try:
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, package, *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    finally:
        os.close(output)
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and child.poll() is None:
        where = standing(loop.state)
        if where.run is not None and where.run.pid == child.pid:
            break
        time.sleep(0.05)
    if child.poll() is not None:
        say_all(read_text(loop.logs / LOG) or "")
        return child.returncode
    say(
        f"process {child.pid} runs the loop; what it prints goes to {os.path.relpath(loop.logs / LOG)}",
        "  next: ralph-bridge watch; ralph-bridge stop",
    )
    return 0


def _setup(words: list[str]) -> str | None:
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, equals, value = word.partition("=")
        if option == "--setup":
            return value if equals else following
    return None
