"""A command that says whether the work is good, such as ``make test``: run once, in the box if there is one."""

from __future__ import annotations

import os
import time
from collections import deque
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.process.program import Graces, Program
from bridge.base.wording import tame
from bridge.errors import BridgeError, ProgramTimeout
from bridge.loop.turn.logs import TURN_LOG_BYTES, TurnLog
from bridge.loop.turn.tool import first_line

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

    from bridge.loop.sandbox.box import Box

_LOOK = 0.05
_LINES, _LONGEST = 60, 300
_BY_SHELL = 'exec 2>&1; cd "$1" && exec "$0" -c "$2"'


class Checked(NamedTuple):
    """What came of a check.

    Attributes:
        status: its exit status, or minus the number of the signal that ended it; None: it never ran, or ran for too
            long.
        why: what is wrong, such as ``ended with 1``; '': it succeeded.
        seconds: how long it took.
        tail: its last lines, each cut, without control characters.
        late: it ran for too long.
    """

    status: int | None
    why: str
    seconds: float
    tail: tuple[str, ...] = ()
    late: bool = False


def run_check(
    command: str,
    folder: Path,
    log: Path,
    *,
    env: Mapping[str, str],
    seconds: float,
    late: str = "",
    interpreter: str = "/bin/sh",
    box: Box | None = None,
    graces: Graces | type[Graces] = Graces,
    log_bytes: int = TURN_LOG_BYTES,
) -> Generator[bytes, None, Checked]:
    """Run it by an interpreter, with nothing on stdin; close the generator to end it with all that it has started.

    What can't be started has failed: nothing that was to run in a box runs outside of it.

    Args:
        folder: it runs there.
        log: gets what it prints, of both streams; its middle is left out beyond `log_bytes`.
        env: its environment; in a box, what that lets in and RALPH_*.
        seconds: that it may take.
        late: what is wrong where it took longer, unless that is just this.
        interpreter: a program that takes it behind ``-c``.

    Yields:
        Its lines as they come; b"" where there is none for a while.
    """
    # A box begins at the top of what it shows, which may lie above.
    argv: Sequence[str] = [interpreter, "-c", _BY_SHELL, interpreter, str(folder), command]
    began = time.monotonic()
    tail: deque[bytes] = deque(maxlen=_LINES)
    status, why, too_long = None, "", False
    try:
        around = nullcontext((argv, env)) if box is None else box.around(argv, env, ["RALPH_*"])
        with (
            TurnLog(log, log_bytes) as out,
            around as (argv, env),
            Program(argv, cwd=folder, env=env, stderr_path=os.devnull, timeout=seconds, graces=graces) as program,
        ):
            for line in program.lines(every=_LOOK):
                if line:
                    out.write(line)
                    tail.append(line[: 4 * _LONGEST])
                yield line
            status = program.status
    except ProgramTimeout:
        too_long = True
        why = late or f"took longer than {seconds / 60:g} minutes"
    except BridgeError as error:
        why = f"could not be run: {first_line(error)}"
    if status:
        why = f"ended with {status}" if status > 0 else f"was ended by signal {-status}"
    shown = (tame(line.decode("utf-8", "replace").rstrip(), keep="\t")[:_LONGEST] for line in tail)
    return Checked(status, why, time.monotonic() - began, tuple(shown), too_long)
