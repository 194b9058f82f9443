"""The command line: the only place that prints.

``--version`` answers before anything heavy is imported; each command's module is imported when it is used.
"""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def _fill_the_gaps() -> None:
    """Started with a closed stream (``>&-``): the null device instead, or some other file would get its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            if (found := os.open(os.devnull, os.O_RDWR)) != number:
                os.dup2(found, number)
                os.close(found)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, mode, encoding="utf-8", errors="surrogateescape"))  # noqa: SIM115


def main() -> None:
    """The console script. Exit codes: 0 fine, 1 violated or incomplete, 2 usage, 3 our bug, 4 environment."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _fill_the_gaps()
    if sys.argv[1:] in (["--version"], ["-V"]):
        from bridge._version import __version__

        sys.stdout.write(f"ralph-bridge {__version__}\n")
        return
    if sys.argv[1:2] == ["stop-hook"]:
        from bridge.cli.stop_hook import answer_stop, fast

        if fast(sys.argv[2:]):
            sys.exit(answer_stop(sys.argv[2:]))
    from bridge.cli.app import run_app

    sys.exit(run_app(sys.argv[1:]))
