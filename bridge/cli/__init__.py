"""The command line: the only place that prints.

What is called often answers before anything heavy is imported: ``--version``, the Stop hook, and a ``call`` without
options go past click. Each command's module is imported when it is used.
"""

from __future__ import annotations

import os
import sys


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
    command, words = sys.argv[1:2], sys.argv[2:]
    if command in (["--version"], ["-V"]) and not words:
        from bridge._version import __version__

        sys.stdout.write(f"ralph-bridge {__version__}\n")
        return
    if command == ["stop-hook"]:
        from bridge.cli.stop_hook import answer_stop, fast

        if fast(words):
            sys.exit(answer_stop(words))
    if command == ["call"] and len(words) > 1 and not any(word.startswith("-") for word in words):
        from bridge.cli._call import Call, call_hook
        from bridge.cli._failures import exit_code

        sys.exit(exit_code(lambda: call_hook(Call(words[0], words[1], tuple(words[2:])))))
    try:
        from bridge.cli.app import run_app
    except KeyboardInterrupt:  # Ctrl-C while it is still being loaded
        sys.exit(130)
    sys.exit(run_app(sys.argv[1:]))
