"""The command line: the only place that prints.

What is called often answers before anything heavy is imported: ``--version``, the Stop hook, and a ``call`` without
options go past click. Each command's module is imported when it is used.
"""

from __future__ import annotations

import _thread
import gc
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


def _fill_the_gaps() -> None:
    """Started with a closed stream (``>&-``): the null device instead, or some other file would get its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            if (found := os.open(os.devnull, os.O_RDWR)) != number:
                os.dup2(found, number)
                os.close(found)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, mode, encoding="utf-8", errors="surrogateescape"))  # noqa: SIM115


_DROPS = {"cb": "importlib", "_remove": "_weakrefset", "remove": "weakref", "__del__": ""}
"""Functions that Python calls by itself, with a part of their files: what is raised in them is dropped."""


def _interrupted(_number: int, frame: FrameType | None) -> None:
    """Answer Ctrl-C as Python does, but a moment later where the exception would be dropped: each import ends with
    such a function."""
    at = frame
    while at is not None and _DROPS.get(at.f_code.co_name, "\0") not in at.f_code.co_filename:
        at = at.f_back
    if at is None:
        raise KeyboardInterrupt
    _thread.start_new_thread(_again, ())


def _again() -> None:
    time.sleep(0.001)
    _thread.interrupt_main()


_OF_OTHERS = (
    *("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_REFLOG_ACTION"),
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"),
)
"""What a hook of git's, or a session of a coding CLI, has put into its own environment: it would lead git into
another repository, and CLIs refuse to start inside of each other."""


def main() -> None:
    """The console script. Exit codes: 0 fine, 1 violated or incomplete, 2 usage, 3 our bug, 4 environment."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _fill_the_gaps()
    if os.getpid() == 1:
        from bridge.base.process.init import become_child_of_init

        become_child_of_init()
    for name in _OF_OTHERS:
        os.environ.pop(name, None)
    gc.set_threshold(100_000)  # what a start imports stays: collecting among it would cost it a twentieth
    command, words = sys.argv[1:2], sys.argv[2:]
    if command in (["--version"], ["-V"]) and not words:
        from bridge._version import __version__

        sys.stdout.write(f"ralph-bridge {__version__}\n")
        return
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
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
