"""The one way to bash: requests out, replies in, errors with their evidence, and a new bash for a dead one."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

from bridge.base.log import logger
from bridge.base.options import seconds
from bridge.base.process import guardian
from bridge.base.process.ask import outside
from bridge.errors import (
    HookExited,
    HookInterrupted,
    HookTimeout,
    OutputLimitExceeded,
    ShellClosed,
    ShellDied,
    ShellStartFailed,
    ValueNotAccepted,
)
from bridge.shell import protocol
from bridge.shell.coprocess import Coprocess, Died, Flooded, Interrupted, TimedOut, private

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta
    from typing import IO

    from bridge.errors import BridgeError, HookError
    from bridge.shell.environment import Start
    from bridge.shell.jobs import Job

    Timeout = float | timedelta | None
    Stdin = bytes | os.PathLike[str] | IO[bytes] | int | None


DEFAULT_TIMEOUT = 60.0
"""Seconds that a call may take unless it says otherwise."""

UNSET: Any = object()
"""A timeout that was not given: the session's own counts."""

# Before a file of ours is sourced: a RETURN trap that a hook has left behind would run when that ends.
_NO_RETURN = "\\builtin trap - RETURN\n"

_PIPE_BUF = 4096  # more can't be written to a pipe in one piece


class Answer(NamedTuple):
    """A reply that was understood: its head, the frames of its values, and what the call wrote."""

    head: protocol.Head
    frames: list[str]
    stdout: bytes
    stderr: bytes


class Outputs(Protocol):
    """Whatever has what a call wrote."""

    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...


class BashSession:
    """A bash that is there whenever it is needed. `Shell` says what people may do with it."""

    def __init__(self, start: Start, *, timeout: Timeout, options: Sequence[str]) -> None:
        self._lock = threading.RLock()
        self._start = start
        self._timeout = seconds(timeout)
        self._script: str | None = None  # sourced last: evidence in errors
        self._options = tuple(protocol.check_names(options, "options"))
        self._closed = self._revived = False
        self.bash = start.bash
        self._jobs: weakref.WeakSet[Job] = weakref.WeakSet()
        self._process = Coprocess(start)
        self._set_options()
        _living.add(self)

    # -- life ----------------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """Process id of the present bash."""
        return self._process.pid

    @property
    def provided(self) -> frozenset[str]:
        """Which of the ``commands`` are in use, because PATH has none of that name."""
        return self._process.provided

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def disown(self) -> None:
        """In a forked child: all of this is the parent's; it gets a bash of its own at its next call."""
        self._lock = threading.RLock()  # another thread of the parent may have held it
        for job in list(self._jobs):
            job.disown()
        self._process.disown()

    def interrupt(self) -> bool:
        """End the call that is under way, from another thread: it raises `HookInterrupted` there.

        Within a quarter of a second INT goes to what it runs, then TERM and KILL; the shell goes on with its
        state unless the error's `state_lost` says otherwise. Calls that wait for that one begin then. Jobs aren't
        touched.

        Returns:
            Whether a call was under way; if not, nothing happens, now or later.
        """
        return self._process.interrupt()

    def close(self) -> None:
        """End bash in good order, with everything that it had started in its session. May be repeated."""
        with self._lock:
            if not self._closed:
                self._closed = True
                try:
                    for job in list(self._jobs):
                        job.close()
                finally:
                    self._process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    # -- the one way to bash -------------------------------------------------------------------------

    def _lock_within(self, timeout: Timeout, hook: str, arguments: tuple[str, ...]) -> Timeout:
        """Take the lock that another thread's call holds; return what is left of the time that the call has.

        Raises:
            HookTimeout: it was not to be had in that time, and nothing was run.
        """
        limit = self._timeout if timeout is UNSET else seconds(timeout)
        if limit is None:
            self._lock.acquire()
            return None
        begin = time.monotonic()
        if not self._lock.acquire(timeout=min(limit, threading.TIMEOUT_MAX)):
            what = f"{hook} was not begun within {limit:g} s: a call of another thread had this shell"
            hint = "give each thread a Shell of its own, or the call more time (timeout=...)"
            raise self._error(HookTimeout, what, hook, arguments, hint=hint)
        return max(0.0, limit - (time.monotonic() - begin))

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """Have the lock in the block; what another thread's call keeps it for counts, as it does for a call."""
        if not self._lock.acquire(blocking=False):
            self._lock_within(UNSET, "an exchange with bash", ())
        try:
            yield
        finally:
            self._lock.release()

    def _run(
        self,
        hook: str,
        arguments: tuple[str, ...],
        wants: Sequence[str] = (),
        stdin: Stdin = None,
        timeout: Timeout = UNSET,
        isolated: bool = False,
        setup: str = "",
        host_stderr: bool = False,
    ) -> Answer:
        command = protocol.call(hook, arguments)
        if "\0" in command:
            bad = next(a for a in arguments if "\0" in a)
            raise ValueNotAccepted(f"{hook}: the argument {bad[:60]!r} has a NUL byte, which no argument can hold")
        if self._closed or not self._process.alive:
            self._ready()
        if len(command) <= protocol.INLINE_LIMIT and not (
            setup or wants or isolated or host_stderr or stdin is not None
        ):
            request = protocol.encode(command)
            if protocol.plain(request):  # nearly every call; the rest of this room is for the others
                return self._exchange(request, False, timeout, hook, arguments)
        if len(command) > protocol.INLINE_LIMIT:
            setup += "\\builtin set -- " + " ".join(map(protocol.quote, arguments)) + "\n"
            command = protocol.call(hook, ()) + protocol.positional(len(arguments))
        if stdin is not None:
            command += " <" + self._stdin(stdin)
        if host_stderr and 2 in self._process.streams:
            command += f" 2>&{self._process.streams[2]}"
        if isolated:
            command, wants = protocol.isolated(command, wants), ()
            values_wanted = True
        else:
            values_wanted = bool(wants)
        return self._send(setup, command, wants, timeout, hook, arguments, values_wanted)

    def _send(
        self,
        setup: str,
        command: str,
        wants: Sequence[str],
        timeout: Timeout = UNSET,
        hook: str = "",
        arguments: tuple[str, ...] = (),
        values_wanted: bool | None = None,
    ) -> Answer:
        """One exchange: `setup` (assignments; by file when it is long), then `command`, then what is wanted."""
        if self._closed or not self._process.alive:
            self._ready()
        if wants:
            setup = protocol.want(wants) + setup
        if values_wanted is None:
            values_wanted = bool(wants)
        if len(setup) > protocol.INLINE_LIMIT:
            self._write("a", protocol.encode(setup))
            setup = f'\\builtin enable . set 2>&-\n{_NO_RETURN}\\builtin . "$__rb_d/a"\n'
        back = protocol.BUILTIN_BACK in command  # it has code of the host's own before that
        if "\\builtin" in setup and not back:
            back = True
            if command == protocol.NOTHING:
                command += "\n" + protocol.BUILTIN_BACK[:-1]
            else:
                setup += protocol.BUILTIN_BACK
        request = protocol.encode(setup + command)
        if len(request) > _PIPE_BUF - len(protocol.MARK) - 1 or not protocol.plain(request):
            if not back and not command.startswith(protocol.NOTHING):
                request = protocol.encode(setup + protocol.BUILTIN_BACK + command)
            self._write("a2", request + b"\n")
            request = protocol.encode(f'\\__rb_plain\n{_NO_RETURN}\\. "$__rb_d/a2"')
        return self._exchange(request, values_wanted, timeout, hook, arguments)

    def _exchange(
        self, request: bytes, values: bool, timeout: Timeout, hook: str, arguments: tuple[str, ...]
    ) -> Answer:
        limit = self._timeout if timeout is UNSET else seconds(timeout)
        try:
            done = self._process.exchange(request, values=values, timeout=limit)
        except Died as end:
            raise self._died(end, hook, arguments) from None
        except TimedOut as end:
            what, lost = f"{hook} did not end within {limit:g} s", end.returncode is not None
            hint = "give the call more time (timeout=...), or find what it waits for"
            raise self._error(HookTimeout, what, hook, arguments, None, end, lost=lost, hint=hint) from None
        except Interrupted as end:
            what, lost = f"{hook} was interrupted by this program", end.returncode is not None
            raise self._error(HookInterrupted, what, hook, arguments, None, end, lost=lost) from None
        except Flooded as end:
            raise self._flooded(hook, arguments, None, end, lost=end.returncode is not None) from None
        try:
            head, frames = protocol.parse(done.reply)
        except ValueError:
            raise self._invalid_reply(hook, arguments) from None
        answer = Answer(head, frames, done.stdout, protocol.without_trace(done.stderr))
        if head.left == "lost":
            self._process.more_loop()
        elif head.left == "exit":
            raise self._error(HookExited, f"{hook} called exit {head.status}", hook, arguments, head.status, answer)
        elif head.left != "-":
            raise self._error(HookInterrupted, f"{hook} was interrupted", hook, arguments, head.status, answer)
        if self._process.overflow:
            raise self._flooded(hook, arguments, head.status, answer)
        return answer

    @contextlib.contextmanager
    def _reading(self, frames: list[str]) -> Iterator[Iterator[str]]:
        """The frames of a reply, one after the other. All of them: what is left over was put in between."""
        rest = iter(frames)
        try:
            yield rest
            if next(rest, None) is not None:
                raise ValueError
        except (ValueError, StopIteration, IndexError):
            raise self._invalid_reply("", ()) from None

    def _invalid_reply(self, hook: str, arguments: tuple[str, ...]) -> HookError:
        """A reply that makes no sense comes from a script that wrote into the channel: nothing is certain then."""
        what = "the reply of bash makes no sense; the script has tampered with the channel, so bash was ended"
        return self._error(ShellDied, what, hook, arguments, self._process.kill(), lost=True)

    def _write(self, name: str, data: bytes) -> str:
        path = f"{self._process.folder}/{name}"
        try:
            with open(path, "wb", opener=private) as file:
                file.write(data)
        except OSError as error:
            what = f"the bridge's private folder can't be written to ({error}), so bash was ended"
            raise self._error(ShellDied, what, "", (), self._process.kill(), lost=True) from error
        return path

    def _stdin(self, stdin: Stdin) -> str:
        if isinstance(stdin, int):
            descriptor = self._process.streams.get(stdin)
            return "/dev/null" if descriptor is None else f"&{descriptor}"
        if isinstance(stdin, bytes):
            return protocol.quote(self._write("i", stdin))
        if isinstance(stdin, os.PathLike):
            return protocol.quote(str(Path(stdin).absolute()))
        if stdin is None or not hasattr(stdin, "read"):
            what = f"stdin is {stdin!r:.60} ({type(stdin).__name__}), expected bytes, a Path or a binary file"
            raise ValueNotAccepted(what)
        path = self._write("i", b"")
        with open(path, "wb") as copy:
            shutil.copyfileobj(stdin, copy)
        return protocol.quote(path)

    def _ready(self) -> None:
        """A living bash: the present one, or a new one that is brought to where the host had left it."""
        if self._closed:
            raise ShellClosed("this shell was closed; make a new Shell()")
        if not self._process.alive:
            ended, code = self._process.pid, self._process.returncode
            self._process.close()
            self._process = Coprocess(self._start)
            self._revived = True
            logger().warning("bash %d had ended with status %s; bash %d takes its place", ended, code, self.pid)
            self._set_options()
            self._restore()

    def _restore(self) -> None:
        """Bring a new bash to where the host had left the old one."""

    def _set_options(self) -> None:
        for option in self._options:
            answer = self._send(f"\\builtin set -o {option}\n", protocol.NOTHING, [])
            if answer.head.status:
                why = protocol.decode(answer.stderr).strip()
                raise ValueNotAccepted(f"{option!r} is not an option of bash: {why}")

    # -- errors --------------------------------------------------------------------------------------

    def _died(self, end: Died, hook: str, arguments: tuple[str, ...]) -> BridgeError:
        """What ends bash in good order is an exit: `builtin exit`, `exec`, an error under nounset."""
        if end.never_read:
            return ShellStartFailed(
                f"{self.bash} ended with status {end.returncode} before it took a request: is it a bash? "
                "Say which one to use (Shell(bash=...) or RALPH_BRIDGE_BASH)"
            )
        code = end.returncode if end.returncode is not None else 0
        name = hook or "an exchange"
        if code >= 0 and hook and not end.unread and not end.why:
            what = f"{hook} ended bash with exit {code}: its state was lost"
            return self._error(HookExited, what, hook, arguments, code, end, lost=True)
        how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        what = f"bash {how} {'before' if end.unread else 'during'} {name}"
        if end.why:
            what = f"bash was ended during {name}: {end.why}"
        return self._error(ShellDied, what, hook, arguments, code, end, lost=True)

    def _orphaned(self, process: Coprocess, hook: str) -> HookError:
        """For a job whose bash has died."""
        what = f"bash ended while {hook} ran beside it, and {hook} was ended with it"
        return self._error(ShellDied, what, hook, (), process.kill(), lost=True)

    def _flooded(
        self, hook: str, arguments: tuple[str, ...], status: int | None, outputs: Outputs, *, lost: bool = False
    ) -> HookError:
        what = f"{hook} wrote more than the output limit"
        hint = "raise Shell(output_limit=...), or let the hook write to a file"
        return self._error(OutputLimitExceeded, what, hook, arguments, status, outputs, lost=lost, hint=hint)

    def _error(
        self,
        kind: type[HookError],
        what: str,
        hook: str,
        arguments: tuple[str, ...],
        status: int | None = None,
        outputs: Outputs | None = None,
        *,
        lost: bool = False,
        hint: str = "",
    ) -> HookError:
        return kind(
            what,
            hook=hook,
            arguments=arguments,
            script=self._script,
            status=status,
            stdout=protocol.decode(outputs.stdout) if outputs else "",
            stderr=protocol.decode(outputs.stderr) if outputs else "",
            state_lost=lost,
            hint=hint,
            provided=tuple(sorted(self._process.provided)),
        )


_living: weakref.WeakSet[BashSession] = weakref.WeakSet()


def _forked() -> None:
    """A forked child can't share a shell with its parent: it gets one of its own at its next call."""
    guardian.forget()
    for shell in list(_living):
        shell.disown()


os.register_at_fork(after_in_child=_forked)


def find_bash(bash: str | None) -> str:
    """The absolute path of a bash, by name or path; raises ShellStartFailed."""
    name = bash or os.environ.get("RALPH_BRIDGE_BASH") or "bash"
    here = os.devnull  # the working folder may be gone: no program lies in it then
    with contextlib.suppress(OSError):
        here = os.getcwd()
    found = outside(name, os.environ, here) if "/" not in name else shutil.which(name)
    if found is None:
        raise ShellStartFailed(
            f"no bash: {name!r} is not an executable on PATH. Install bash, or say which one to use "
            "(Shell(bash=...) or RALPH_BRIDGE_BASH)"
        )
    return found
