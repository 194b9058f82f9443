"""How a command ends: what every kind of failure means outside, and signals, in order."""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bridge.cli._terminal import drop, folded, say, say_all
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LACKS = frozenset(
    [
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.EROFS,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
    ]
)
"""What the machine lacks, wherever that was noticed."""

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""What ends a command in order, as Ctrl-C does, where the caller has it not ignored."""


def exit_code(run: Callable[[], int]) -> int:
    """What `run` returns, or the code of the failure that ended it."""
    try:
        return run()
    except KeyboardInterrupt:
        return 130
    except BridgeError as error:
        say_error(str(error))
        return error.exit_code
    except BrokenPipeError:
        drop(sys.stdout)
        return 0
    except OSError as error:
        return _environment(error) or _bug(error)
    except Exception as error:  # noqa: BLE001 - whatever else there is, is a bug, and reported as one
        return _bug(error)


@contextmanager
def guarded(message: str = "interrupted: the CLI and everything it had started were ended") -> Iterator[None]:
    """End the block in order when a signal comes, or the reader of our output leaves.

    TERM, HUP and QUIT end the process the way Ctrl-C does: everything that was started goes first. Where the
    caller has them ignored, as nohup does with HUP, they stay ignored.

    message: for people, after Ctrl-C.
    """

    def leave(number: int, _frame: Any) -> None:
        raise SystemExit(128 + number)

    caught = [each for each in ENDING if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.signal(number, leave) for number in caught}
    try:
        yield
    except KeyboardInterrupt:
        say(message)
        sys.exit(130)
    except BrokenPipeError:  # whoever read our output has gone
        drop(sys.stdout)
        sys.exit(128 + signal.SIGPIPE)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def say_error(text: str) -> None:
    """The one form of an error on stderr; what can be done about it stands below, behind ``next:``."""
    say_all(folded(f"ralph-bridge: error: {text}", sys.stderr))


def lacks(error: Exception) -> bool:
    """Whether it says that the machine lacks something."""
    return isinstance(error, OSError) and error.errno in _LACKS


def _environment(error: OSError) -> int:
    """Exit code 4 for what the machine lacks; 0 if it is something else."""
    if lacks(error):
        if error.errno in (errno.ENOSPC, errno.EIO, errno.EFBIG) and sys.stdout is not None:
            drop(sys.stdout)
        say_error(f"{error.strerror}{f': {error.filename}' if error.filename else ''}")
        return 4
    try:
        os.getcwd()
        return 0
    except OSError:
        say_error("the working folder no longer exists\n  next: cd to one that does")
        return 4


def _bug(error: Exception) -> int:
    """Exit code 3, with everything that we need to know in a file."""
    import tempfile
    import traceback

    from bridge._version import __version__
    from bridge.base.process.secrets import shown_words

    with tempfile.NamedTemporaryFile(
        "w", prefix="ralph-bridge-crash-", suffix=".txt", delete=False, encoding="utf-8", errors="surrogateescape"
    ) as file:
        words = shown_words(sys.argv)
        file.write(f"ralph-bridge {__version__}\nPython {sys.version}\n{sys.platform}\n{words!r}\n\n")
        traceback.print_exception(error, file=file)
    say_error(f"{type(error).__name__}: {error} (a bug in ralph-bridge)\n  next: report it, and attach {file.name}")
    return 3
