"""`Shell`: a bash that stays alive, for people."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import threading
import weakref
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Self

from bridge.errors import (
    HookExited,
    HookFailed,
    HookInterrupted,
    HookTimeout,
    OutputLimitExceeded,
    ReadonlyVariable,
    ShellClosed,
    ShellDied,
    ShellStartFailed,
    UnsetVariable,
    ValueNotAccepted,
)
from bridge.shell import guardian, protocol, script, values
from bridge.shell.coprocess import Coprocess, Died, Exchange, TimedOut, private

if TYPE_CHECKING:
    from typing import IO

    Stdin = bytes | os.PathLike[str] | IO[bytes] | None
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from bridge.errors import HookError
    from bridge.shell.values import Changes, Plain, Snapshot, Value, Variable

__all__ = ["DEFAULT_TIMEOUT", "Reply", "Shell"]

DEFAULT_TIMEOUT = 60.0
"""Seconds that a call may take unless it says otherwise."""

_UNSET: float = -1.0
_PIPE_BUF = 4096  # more can't be written to a pipe in one piece


class Reply(NamedTuple):
    """How a call ended.

    status: 0 to 255.
    stdout, stderr: what was written while it ran, as text with surrogateescape: no byte is lost.
    values: what was asked for with ``read=``; None for a variable that is not set.
    changes: what happened to the globals, when asked for with ``changes=True``.
    revived: True for the first reply of a bash that replaced one that had died: the scripts were sourced
        again and what the host had set was set again; what hooks had set is gone.
    """

    status: int
    stdout: str
    stderr: str
    values: Mapping[str, Value | None]
    changes: Changes | None
    revived: bool

    @property
    def ok(self) -> bool:
        """Whether the status is 0."""
        return self.status == 0


class _Step(NamedTuple):
    code: str
    path: str | None
    arguments: tuple[str, ...]


class Shell:
    """One living bash: source scripts into it, call their functions, read and set their globals.

    Hooks run in the main shell, so what they set stays. Calls from several threads wait for each other.

    Args:
        bash: the program; default the environment variable ``RALPH_BRIDGE_BASH``, else ``bash`` on PATH.
        env: environment of bash instead of this process's.
        env_allow: names of the environment variables that bash may see; None for all of them.
        cwd: its working folder instead of this process's.
        timeout: seconds for each call that doesn't say otherwise; None for no limit.
        output_limit: bytes of stdout and of stderr that one call may write (default 64 MiB).
        options: ``set -o`` options to turn on, such as ``errexit`` (as bmalph's controller has it),
            ``nounset``, ``pipefail``. Calls run in a condition, as the controllers call hooks, so errexit is
            visible in ``$-`` and does not act inside them.
        grace: seconds between the rungs of the kill ladder (INT, TERM, KILL).

    Attributes:
        bash: absolute path of the program.

    Raises:
        ShellStartFailed: there is no such bash.
    """

    def __init__(
        self,
        *,
        bash: str | None = None,
        env: Mapping[str, str] | None = None,
        env_allow: Sequence[str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        output_limit: int = 64 << 20,
        options: Sequence[str] = (),
        grace: float = 0.5,
    ) -> None:
        self._lock = threading.RLock()
        self._timeout = timeout
        self._steps: list[_Step] = []  # done again, in order, in a bash that replaces a dead one
        self._settings: dict[str, Plain] = {}  # what the host had set last; set again after the steps
        self._options = tuple(protocol.check_name(option) for option in options)
        self._closed = self._revived = self._dirty = False
        self.bash = _find_bash(bash)
        if env_allow is not None:
            given = os.environ if env is None else env
            env = {name: given[name] for name in env_allow if name in given}
        self._spawn = functools.partial(
            Coprocess,
            self.bash,
            env=env,
            cwd=None if cwd is None else os.fspath(cwd),
            output_limit=output_limit,
            grace=grace,
        )
        self._process = self._spawn()
        self._set_options()
        _living.add(self)

    # -- calls ---------------------------------------------------------------------------------------

    def call(
        self,
        hook: str,
        *arguments: str,
        stdin: Stdin = None,
        timeout: float | None = _UNSET,
        isolated: bool = False,
        read: Sequence[str] = (),
        changes: bool = False,
        check: bool = False,
    ) -> Reply:
        """Call a function (or builtin, or program) with `arguments`.

        Args:
            hook: its name.
            arguments: one shell argument each, whatever they contain (no NUL).
            stdin: bytes, a path, or a binary file (read to its end); default: nothing to read.
            timeout: seconds, None for no limit; default the shell's.
            isolated: run it in a forked subshell: `read` sees its globals, this shell stays as it was.
            read: names of globals to read back with the reply.
            changes: compare the globals before and after (not with `isolated`).
            check: raise `HookFailed` unless the status is 0.

        Raises:
            HookExited: it called ``exit``; the shell goes on with its state.
            HookTimeout, ShellDied, OutputLimitExceeded, HookFailed: see there.
            InvalidName, ValueNotAccepted: what was given can't be a name or a shell value.
        """
        with self._lock:
            before = self.snapshot() if changes else None
            wants = ["__rb_f " + protocol.check_name(name) for name in read]
            head, frames, out, err = self._run(hook, arguments, wants, stdin, timeout, isolated)
            if isolated and read and not frames:
                what = f"{hook} was killed in its subshell (status {head.status}); its globals are lost"
                raise self._error(HookFailed, what, hook, arguments, head.status, out, err)
            found = self._take_values(read, frames)
            difference = before.changes(self.snapshot()) if before is not None else None
            if check and head.status:
                raise self._error(
                    HookFailed,
                    f"{hook} failed with status {head.status}",
                    hook,
                    arguments,
                    head.status,
                    out,
                    err,
                )
            return self._reply(head, frames, out, err, found, difference)

    def call_for_array(
        self, hook: str, *arguments: str, array: str, start: Sequence[str] | None = None
    ) -> tuple[Reply, list[str]]:
        """Call `hook` and read one array back in the same exchange: the quick way to ``CLAUDE_CMD_ARGS``.

        An unset variable is no element, a scalar is one, as ``"${NAME[@]}"`` in bash. With `start`, the
        array is set to that first, so that nothing stale of an earlier call shows up.
        """
        with self._lock:
            wants = ["__rb_a " + protocol.check_name(array)]
            head, frames, out, err = self._run(hook, arguments, wants, setup=self._reset(array, start))
            return self._reply(head, frames, out, err), frames[1:]

    def _reset(self, array: str, start: Sequence[str] | None) -> str:
        return "" if start is None else protocol.assignment(array, start) + "\n"

    def _reply(
        self,
        head: protocol.Head,
        _frames: list[str],
        out: bytes,
        err: bytes,
        found: Mapping[str, Value | None] = MappingProxyType({}),
        changes: Changes | None = None,
    ) -> Reply:
        revived, self._revived = self._revived, False
        return Reply(head.status, protocol.decode(out), protocol.decode(err), found, changes, revived)

    def source(self, path: str | os.PathLike[str], *arguments: str, timeout: float | None = _UNSET) -> Reply:
        """Source a script at the main level; it is sourced again whenever bash has to be replaced.

        Raises:
            ScriptNotFound, ScriptUnreadable, ScriptInvalid: before anything runs.
            HookExited: the script called ``exit``; what it had defined until then is there.
        """
        real = script.check(path)
        return self._do(_Step(protocol.source(real, arguments), real, arguments), timeout)

    def execute(self, code: str, *, timeout: float | None = _UNSET) -> Reply:
        """Run shell code of the host's own at the main level, such as default functions for a script to
        override; it runs again, in its turn, whenever bash has to be replaced.

        The code is evaluated: never put into it what came from a file or a program.
        """
        return self._do(_Step(protocol.run(code), None, ()), timeout)

    def _do(self, step: _Step, timeout: float | None = _UNSET, *, again: bool = False) -> Reply:
        with self._lock:
            if not again:
                self._ready()
                self._steps.append(step)
            try:
                done = self._send("", step.code, [], timeout, "source" if step.path else "code", step.arguments)
            except HookExited:
                raise  # what it had defined until then is there, and would be again
            except BaseException:
                if not again:
                    self._steps.remove(step)
                raise
            return Reply(done[0].status, "", "", {}, None, False) if again else self._reply(*done)

    # -- variables -----------------------------------------------------------------------------------

    def variable(self, name: str) -> Variable | None:
        """Value and attributes of a variable, None when the shell knows no such name."""
        return self.variables([name])[0]

    def variables(self, names: Sequence[str]) -> list[Variable | None]:
        """The same for several names in one exchange."""
        if not names:
            return []
        wants = ["__rb_f " + protocol.check_name(name) for name in names]
        with self._lock:
            _, frames, _, _ = self._send("", protocol.NOTHING, wants)
            rest = iter(frames)
            with self._reading():
                return [values.variable(name, *protocol.take_variable(rest)) for name in names]

    def __getitem__(self, name: str) -> Value:
        """str, list[str] (indexed array, gaps closed) or dict[str, str] (associative array).

        Raises:
            UnsetVariable: it has no value; unset and empty are not the same.
        """
        found = self.variable(name)
        if found is None or not found.is_set:
            raise UnsetVariable(f"{name} is not set in the shell")
        return found.value

    def get(self, name: str, default: Value | None = None) -> Value | None:
        """The value, or `default` when the variable is not set."""
        found = self.variable(name)
        return default if found is None or not found.is_set else found.value

    def __contains__(self, name: str) -> bool:
        found = self.variable(name)
        return found is not None and found.is_set

    def __setitem__(self, name: str, value: object) -> None:
        """Set a global: str, bytes, bool (``true``/``false``), int; list (indexed), dict (associative or sparse).

        Raises:
            ReadonlyVariable: bash refuses.
            ValueNotAccepted: a NUL byte, a wrong type, or something other than a number for an integer variable
                (bash would evaluate it as code).
        """
        self.update({name: value})

    def update(self, settings: Mapping[str, object]) -> None:
        """Set several globals in one go; none is set if one can't be."""
        with self._lock:
            plain = {name: values.plain(protocol.check_name(name), value) for name, value in settings.items()}
            self._ready()
            code = []
            for present, (name, value) in zip(self.variables(list(plain)), plain.items(), strict=True):
                code.append(self._assignment(name, value, present))
            for name, (head, err) in zip(plain, self._assign(code), strict=True):
                if head.status:
                    raise ValueNotAccepted(f"{name} was refused by bash: {protocol.decode(err).strip()}")
            self._settings |= plain

    def _assign(self, code: list[str]) -> Iterable[tuple[protocol.Head, bytes]]:
        for line in code:
            head, _, _, err = self._send(line + "\n", protocol.NOTHING, [])
            yield head, err

    def _assignment(self, name: str, value: Plain, present: Variable | None) -> str:
        if present is not None and present.readonly:
            raise ReadonlyVariable(f"{name} is readonly in the shell; the script made it so")
        if present is not None and present.integer:
            for element in values.elements(value):
                if not values.is_integer(element):
                    raise ValueNotAccepted(
                        f"{name} has the integer attribute: bash would evaluate {element!r:.60} as arithmetic; "
                        "give it a number"
                    )
        associative = isinstance(value, dict) and any(isinstance(key, str) for key in value)
        kind = "map" if associative else "scalar" if isinstance(value, str) else "array"
        fresh = "" if present is None or present.kind == kind else f"\\builtin unset -v {name}\n"
        if associative:
            self._need_version(4, f"{name} = a mapping with text keys", "an associative array")
            fresh += f"\\builtin declare -A {name}\n"
        return fresh + protocol.assignment(name, value)

    def _need_version(self, major: int, what: str, needs: str) -> None:
        if self.version < (major,):
            version = ".".join(map(str, self.version))
            raise ValueNotAccepted(f"{what} needs {needs}, which bash {version} has not; use bash {major} or newer")

    def __delitem__(self, name: str) -> None:
        """Unset a variable. Raises UnsetVariable, ReadonlyVariable."""
        with self._lock:
            present = self.variable(name)
            if present is None:
                raise UnsetVariable(f"{name} is not set in the shell")
            if present.readonly:
                raise ReadonlyVariable(f"{name} is readonly in the shell; the script made it so")
            self._send(f"\\builtin unset -v {name}\n", protocol.NOTHING, [])
            self._settings.pop(name, None)

    def snapshot(self) -> Snapshot:
        """All globals with their attributes, without those that bash itself changes all the time."""
        with self._lock:
            _, frames, _, _ = self._send("", protocol.NOTHING, ["__rb_N"])
            names = [n for n in protocol.names(frames[0]) if n not in values.VOLATILE]
            found = self.variables(names)
            return values.Snapshot((v.name, v) for v in found if v is not None)

    def functions(self) -> list[str]:
        """Names of the functions that scripts have defined, sorted."""
        with self._lock:
            _, frames, _, _ = self._send("", protocol.NOTHING, ["__rb_F"])
            return [name for name in protocol.names(frames[0]) if name != "exit" or self._own_exit()]

    def _own_exit(self) -> bool:
        return "__rb_unwind" not in self.call("declare", "-f", "exit").stdout

    @functools.cached_property
    def version(self) -> tuple[int, ...]:
        """Version of this bash, such as (5, 2, 15)."""
        with self._lock:
            _, frames, _, _ = self._send("", protocol.NOTHING, ["__rb_a BASH_VERSINFO"])
            return tuple(int(part) for part in frames[1:4])

    # -- life ----------------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """Process id of the present bash."""
        return self._process.pid

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def _disown(self) -> None:
        self._lock = threading.RLock()  # another thread of the parent may have held it
        self._process.disown()

    def close(self) -> None:
        """End bash in good order, with everything that it had started in its session. May be repeated."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"bash {self._process.pid}"
        sourced = "".join(f", {step.path}" for step in self._steps if step.path)
        return f"<Shell {state}{sourced}>"

    # -- the one way to bash -------------------------------------------------------------------------

    def _run(
        self,
        hook: str,
        arguments: tuple[str, ...],
        wants: Sequence[str] = (),
        stdin: Stdin = None,
        timeout: float | None = _UNSET,
        isolated: bool = False,
        setup: str = "",
    ) -> tuple[protocol.Head, list[str], bytes, bytes]:
        command = protocol.call(hook, arguments)
        if "\0" in command:
            bad = next(a for a in arguments if "\0" in a)
            raise ValueNotAccepted(f"{hook}: the argument {bad[:60]!r} has a NUL byte, which no argument can hold")
        if self._closed or not self._process.alive:
            self._ready()
        if len(command) > protocol.INLINE_LIMIT:
            setup += "\\builtin set -- " + " ".join(map(protocol.quote, arguments)) + "\n"
            command = protocol.call(hook, ()) + ' "$@"'
        if stdin is not None:
            command += " <" + protocol.quote(self._stdin(stdin))
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
        timeout: float | None = _UNSET,
        hook: str = "",
        arguments: tuple[str, ...] = (),
        values_wanted: bool | None = None,
    ) -> tuple[protocol.Head, list[str], bytes, bytes]:
        """One exchange: `setup` (assignments; by file when it is long), then `command`, then what is wanted."""
        if self._closed or not self._process.alive:
            self._ready()
        if wants:
            setup = protocol.want(wants) + setup
        if values_wanted is None:
            values_wanted = bool(wants)
        if len(setup) > protocol.INLINE_LIMIT:
            self._write("a", protocol.encode(setup))
            setup = '\\builtin . "$__rb_d/a"\n'
        if "\\builtin" in setup and command != protocol.NOTHING:
            setup += protocol.BUILTIN_BACK
        request = protocol.encode(setup + command) + b"\0"
        if len(request) > _PIPE_BUF or not protocol.plain(request):
            if protocol.BUILTIN_BACK not in setup and command != protocol.NOTHING:
                request = protocol.encode(setup + protocol.BUILTIN_BACK + command) + b"\0"
            self._write("a2", request[:-1] + b"\n")
            request = b'__rb_plain;\\. "$__rb_d/a2"\0'
        process = self._process
        limit = self._timeout if timeout == _UNSET else timeout
        try:
            done = process.exchange(request, values=values_wanted, timeout=limit)
        except Died as end:
            raise self._died(end, hook, arguments) from None
        except TimedOut as end:
            raise self._timed_out(end, hook, arguments, limit) from None
        return self._understand(done, hook, arguments)

    def _understand(
        self, done: Exchange, hook: str, arguments: tuple[str, ...]
    ) -> tuple[protocol.Head, list[str], bytes, bytes]:
        try:
            head, frames = protocol.parse(done.reply)
        except ValueError:
            raise self._senseless(hook, arguments) from None
        if head.left != "-":
            kind, what = (
                (HookExited, f"{hook} called exit {head.status}")
                if head.left == "exit"
                else (HookInterrupted, f"{hook} was interrupted")
            )
            raise self._error(kind, what, hook, arguments, head.status, done.stdout, done.stderr)
        if self._process.overflow:
            raise self._error(
                OutputLimitExceeded,
                f"{hook} wrote more than the output limit",
                hook,
                arguments,
                head.status,
                done.stdout,
                done.stderr,
                hint="raise Shell(output_limit=...), or let the hook write to a file",
            )
        return head, frames, done.stdout, done.stderr

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, StopIteration, IndexError):
            raise self._senseless("", ()) from None

    def _senseless(self, hook: str, arguments: tuple[str, ...]) -> HookError:
        """A reply that makes no sense comes from a script that wrote into the channel: nothing is certain then."""
        code = self._process.kill()
        what = "the reply of bash makes no sense; the script has tampered with the channel, so bash was ended"
        return self._error(ShellDied, what, hook, arguments, code, b"", b"", lost=True)

    def _take_values(self, names: Sequence[str], frames: list[str]) -> dict[str, Value | None]:
        rest = iter(frames)
        found = {}
        with self._reading():
            for name in names:
                value = values.variable(name, *protocol.take_variable(rest))
                found[name] = value.value if value is not None and value.is_set else None
        return found

    def _write(self, name: str, data: bytes) -> str:
        path = f"{self._process.folder}/{name}"
        try:
            with open(path, "wb", opener=private) as file:
                file.write(data)
        except OSError as error:
            code = self._process.kill()
            what = f"the bridge's private folder can't be written to ({error}), so bash was ended"
            raise self._error(ShellDied, what, "", (), code, b"", b"", lost=True) from error
        return path

    def _stdin(self, stdin: Stdin) -> str:
        if isinstance(stdin, bytes):
            return self._write("i", stdin)
        if isinstance(stdin, os.PathLike):
            return str(Path(stdin).absolute())
        assert stdin is not None
        path = self._write("i", b"")
        with open(path, "wb") as copy:
            shutil.copyfileobj(stdin, copy)
        return path

    def _ready(self) -> None:
        """A living bash: the present one, or a new one with the scripts sourced again."""
        if self._closed:
            raise ShellClosed("this shell was closed; make a new Shell()")
        if not self._process.alive:
            self._process.close()
            self._process = self._spawn()
            self._revived = True
            self._set_options()
            settings = dict(self._settings)
            for step in self._steps:
                with contextlib.suppress(HookExited):
                    self._do(step, again=True)
            self.update(settings)

    def _set_options(self) -> None:
        for option in self._options:
            head, _, _, err = self._send(f"\\builtin set -o {option}\n", protocol.NOTHING, [])
            if head.status:
                raise ValueNotAccepted(f"{option!r} is no option of bash: {protocol.decode(err).strip()}")

    # -- errors --------------------------------------------------------------------------------------

    def _died(self, end: Died, hook: str, arguments: tuple[str, ...]) -> HookError:
        code = end.returncode if end.returncode is not None else 0
        how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        what = f"bash {how} during {hook or 'an exchange'}"
        if end.why:
            what = f"bash was ended during {hook or 'an exchange'}: {end.why}"
        return self._error(ShellDied, what, hook, arguments, code, end.stdout, end.stderr, lost=True)

    def _timed_out(self, end: TimedOut, hook: str, arguments: tuple[str, ...], limit: float | None) -> HookError:
        return self._error(
            HookTimeout,
            f"{hook} did not end within {limit:g} s",
            hook,
            arguments,
            None,
            end.stdout,
            end.stderr,
            lost=end.returncode is not None,
            hint="give the call more time (timeout=...), or find what it waits for",
        )

    def _error(
        self,
        kind: type[HookError],
        what: str,
        hook: str,
        arguments: tuple[str, ...],
        status: int | None,
        stdout: bytes,
        stderr: bytes,
        *,
        lost: bool = False,
        hint: str = "",
    ) -> HookError:
        return kind(
            what,
            hook=hook,
            arguments=arguments,
            script=next((step.path for step in reversed(self._steps) if step.path), None),
            status=status,
            stdout=protocol.decode(stdout),
            stderr=protocol.decode(stderr),
            state_lost=lost,
            hint=hint,
        )


_living: weakref.WeakSet[Shell] = weakref.WeakSet()


def _forked() -> None:
    """A forked child can't share a shell with its parent: it gets one of its own at its next call."""
    guardian.forget()
    for shell in list(_living):
        shell._disown()


os.register_at_fork(after_in_child=_forked)


def _find_bash(bash: str | None) -> str:
    name = bash or os.environ.get("RALPH_BRIDGE_BASH") or "bash"
    found = shutil.which(name)
    if found is None:
        raise ShellStartFailed(
            f"no bash: {name!r} is not an executable on PATH. Install bash, or say which one to use "
            "(Shell(bash=...) or RALPH_BRIDGE_BASH)"
        )
    return found
