"""`Shell`: a bash that stays alive, for people."""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.options import at_most, check_options
from bridge.base.resources import nearest
from bridge.errors import HookExited, HookFailed, HookNotFound, ReadonlyVariable, UnsetVariable, ValueNotAccepted
from bridge.shell import consent, protocol, script, values
from bridge.shell.environment import Start
from bridge.shell.session import DEFAULT_TIMEOUT, UNSET, BashSession, find_bash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from bridge.shell.environment import Commands
    from bridge.shell.jobs import Errors, Input, Job, Tee
    from bridge.shell.session import Answer, Stdin, Timeout
    from bridge.shell.values import Plain, Snapshot, Value, Variable, VariableChanges


_NOT_FOUND = 127
_MOST_LISTED = 40  # functions in an error


_ANNOTATIONS = {
    "bash": "str | None",
    "env": "Mapping[str, str] | None",
    "env_allow": "Sequence[str] | None",
    "cwd": "str | os.PathLike[str] | None",
    "prefix": "Sequence[str]",
    "output_limit": "int",
}
"""What `Shell` takes, as far as nothing else looks at its type."""


class Reply(NamedTuple):
    """How a call ended.

    Attributes:
        status: 0 to 255.
        stdout: what was written while it ran, as text with surrogateescape: no byte is lost.
        stderr: likewise.
        values: what was asked for with ``read=``; None for a variable that is not set.
        changes: what happened to the globals, when asked for with ``changes=True``.
        revived: True for the first reply of a bash that replaced one that had died: the scripts were sourced
            again and what the host had set was set again; what hooks had set is gone.
    """

    status: int
    stdout: str
    stderr: str
    values: Mapping[str, Value | None]
    changes: VariableChanges | None
    revived: bool

    @property
    def ok(self) -> bool:
        """Whether the status is 0."""
        return self.status == 0


class _Step(NamedTuple):
    code: str
    path: str | None
    arguments: tuple[str, ...]
    errexit: bool = False


class Shell(BashSession):
    """One living bash: source scripts into it, call their functions, read and set their globals.

    Hooks run in the main shell, so what they set stays. Calls from several threads wait for each other.

    Args:
        bash: the program; default the environment variable ``RALPH_BRIDGE_BASH``, else ``bash`` on PATH.
        env: environment of bash instead of this process's.
        env_allow: names of the environment variables that bash may see; None for all of them.
        cwd: its working folder instead of this process's.
        timeout: seconds, or a timedelta, for each call that doesn't say otherwise; None for no limit.
        output_limit: bytes of stdout and of stderr that one call may write (default 64 MiB).
        options: ``set -o`` options to turn on, such as ``errexit`` (as bmalph's controller has it),
            ``nounset``, ``pipefail``. Calls run in a condition, as the controllers call hooks, so errexit is
            visible in ``$-`` and does not act inside them.
        grace: seconds, or a timedelta, between the rungs of the kill ladder (INT, TERM, KILL).
        host_streams: let bash inherit copies of this process's stdin and stderr (see `start` and `call`). Without,
            the host passes on what a job writes to its stderr, which is then no terminal. Everything that
            scripts start inherits the copies, too.
        commands: programs for scripts to find when PATH has none of that name: by name, what gives the program
            and its first arguments (nothing when there is none). They lie behind everything else on PATH.
        prefix: a command that becomes the one behind it, in the same process, such as ``setpriv --no-new-privs``.

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
        timeout: Timeout = DEFAULT_TIMEOUT,
        output_limit: int = 64 << 20,
        options: Sequence[str] = (),
        grace: float | timedelta = 0.5,
        host_streams: bool = False,
        commands: Commands | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        named: dict[str, object] = {"bash": bash, "env": env, "env_allow": env_allow, "cwd": cwd}
        named |= {"prefix": prefix, "output_limit": output_limit}
        check_options("Shell", named, _ANNOTATIONS)
        self._steps: list[_Step] = []  # done again, in order, in a bash that replaces a dead one
        self._settings: dict[str, Plain] = {}  # what the host had set last; set again after the steps
        if env_allow is not None:
            given = os.environ if env is None else env
            env = {name: given[name] for name in env_allow if name in given}
        start = Start(
            bash=find_bash(bash),
            env=env,
            cwd=None if cwd is None else os.fspath(cwd),
            output_limit=output_limit,
            grace=at_most(grace, "grace"),
            host_streams=host_streams,
            commands=commands or {},
            prefix=tuple(prefix),
        )
        super().__init__(start, timeout=timeout, options=options)

    # -- calls ---------------------------------------------------------------------------------------

    def call(
        self,
        hook: str,
        *arguments: str,
        stdin: Stdin = None,
        host_stderr: bool = False,
        timeout: Timeout = UNSET,
        isolated: bool = False,
        read: Sequence[str] = (),
        changes: bool = False,
        check: bool = False,
    ) -> Reply:
        """Call a function (or builtin, or program) with `arguments`.

        Args:
            hook: its name.
            arguments: one shell argument each, whatever they contain (no NUL).
            stdin: bytes, a path, or a binary file (read to its end); 0: this process's own stdin, of a shell with
                `host_streams`; default: nothing to read.
            host_stderr: in a shell with `host_streams`, its stderr is this process's own, at once and untouched,
                and the reply has none: for hooks that talk with the user.
            timeout: seconds, or a timedelta, None for no limit; default the shell's. What a call waits for that of
                another thread counts.
            isolated: run it in a forked subshell: `read` sees its globals, this shell stays as it was.
            read: names of globals to read back with the reply.
            changes: compare the globals before and after (not with `isolated`).
            check: raise `HookFailed` unless the status is 0.

        Raises:
            HookExited: it called ``exit``; the shell goes on with its state, unless the error's `state_lost` says
                that bash itself ended (``builtin exit``, ``exec``, an unset variable under nounset).
            HookNotFound: there is no function, builtin or program of this name; names the likely meant function.
            HookTimeout, ShellDied, OutputLimitExceeded, HookFailed: see there.
            InvalidName, ValueNotAccepted: what was given can't be a name or a shell value.
        """
        if not self._lock.acquire(blocking=False):
            timeout = self._lock_within(timeout, hook, arguments)
        try:
            before = self.snapshot() if changes else None
            wants = ["__rb_f " + name for name in protocol.check_names(read, "read")] if read else ()
            answer = self._run(hook, arguments, wants, stdin, timeout, isolated, host_stderr=host_stderr)
            status = answer.head.status
            if status == _NOT_FOUND:
                self._require(hook, arguments, answer)
            if isolated and read and not answer.frames:
                what = f"{hook} was killed in its subshell (status {status}); its globals are lost"
                raise self._error(HookFailed, what, hook, arguments, status, answer)
            found: Mapping[str, Value | None] | None = None
            if read:
                with self._reading(answer.frames) as rest:
                    present = [values.variable(name, *protocol.take_variable(rest)) for name in read]
                found = {name: v.value if v and v.is_set else None for name, v in zip(read, present, strict=True)}
            difference = before.changes(self.snapshot()) if before is not None else None
            if check and status:
                what = f"{hook} failed with status {status}"
                raise self._error(HookFailed, what, hook, arguments, status, answer)
            return self._reply(answer, found, difference)
        finally:
            self._lock.release()

    def call_for_array(
        self, hook: str, *arguments: str, array: str, start: Sequence[str] | None = None
    ) -> tuple[Reply, list[str]]:
        """Call `hook` and read one array back in the same exchange: the quick way to ``CLAUDE_CMD_ARGS``.

        An unset variable is no element, a scalar is one, as ``"${NAME[@]}"`` in bash. With `start`, the
        array is set to that first, so that nothing stale of an earlier call shows up.
        """
        timeout: Timeout = UNSET
        if not self._lock.acquire(blocking=False):
            timeout = self._lock_within(timeout, hook, arguments)
        try:
            wants = ["__rb_a " + protocol.check_name(array)]
            setup = "" if start is None else protocol.assignment(array, start) + "\n"
            answer = self._run(hook, arguments, wants, timeout=timeout, setup=setup)
            with self._reading(answer.frames) as rest:
                elements = protocol.take_array(rest)
            return self._reply(answer), elements
        finally:
            self._lock.release()

    def _require(self, hook: str, arguments: tuple[str, ...], answer: Answer) -> None:
        """Raise `HookNotFound` unless bash had something to run; what ran may well have returned 127 itself."""
        functions = self.functions()
        if hook in functions or "command_not_found_handle" in functions:
            return
        if self._run("type", ("-t", "--", hook)).stdout:
            return
        what = f"{hook} is not defined: there is no function, builtin or program of this name"
        near = nearest(hook, functions)
        hint = f"did you mean {near}?" if near else "source the script that defines it, or correct the name"
        listed = ", ".join(functions[:_MOST_LISTED]) + ", ..." * (len(functions) > _MOST_LISTED)
        what += f"\n  it has: {listed}" if functions else ""
        stderr = re.sub(rb"(?m)^.*/prelude: line \d+: ", b"bash: ", answer.stderr)  # the line is one of ours
        answer = answer._replace(stderr=stderr)
        raise self._error(HookNotFound, what, hook, arguments, _NOT_FOUND, answer, hint=hint)

    def start(
        self,
        hook: str,
        *arguments: str,
        stdin: Input = None,
        stderr: Errors = None,
        tee: Tee | None = None,
        end_line: bool = False,
        grace: float | timedelta | None = None,
    ) -> Job:
        """Start a function beside the main shell, in a forked subshell and process group of its own.

        It sees every variable and function as they are now and changes none; ``exit`` ends only itself. errexit
        is visible in ``$-`` and does not act. Meanwhile this shell goes on taking calls. The job's stdout is read
        from what this returns; nothing is kept, so while nobody reads, it waits.

        Args:
            hook, arguments: as of `call`.
            stdin: a descriptor of this process (0: its own stdin), bytes, a path, a binary file, an iterable of
                bytes or str, or another job; default: nothing to read. All but 0, bytes and a path are fed by
                the host while the job is read; what is left of them when it ends is read and dropped.
            stderr: where its stderr goes: a path (appended to), a descriptor or file of this process; default: this
                process's own stderr.
            tee: a binary file that gets what is read, before the reader does.
            end_line: add the newline that the last line of its stdout may lack.
            grace: seconds, or a timedelta, that it may take to obey INT, and TERM, when it is ended.

        Raises:
            HookFailed: bash could not start it.
            ValueNotAccepted: `stdin` is nothing that can be read.
            InvalidName, ShellDied, ShellClosed: as of `call`.
        """
        from bridge.shell import jobs, launch

        order = jobs.JobSpec(
            hook=hook,
            arguments=arguments,
            stdin=stdin,
            stderr=stderr,
            tee=tee,
            end_line=end_line,
            grace=jobs.GRACE if grace is None else at_most(grace, "grace"),
        )
        with self._held():
            if self._closed or not self._process.alive:
                self._ready()
            process = self._process

            def execute(code: str) -> bytes:
                return self._send(code, "__rb_c=0", [], hook=hook, arguments=arguments).stderr

            try:
                job = launch.start(order, process, execute, lambda: self._orphaned(process, hook))
            except launch.NotStarted as error:
                what = f"{hook} could not be started beside the main shell"
                raise self._error(HookFailed, what, hook, arguments, None, error) from None
            self._jobs.add(job)
            return job

    def _reply(
        self,
        answer: Answer,
        found: Mapping[str, Value | None] | None = None,
        changes: VariableChanges | None = None,
    ) -> Reply:
        revived, self._revived = self._revived, False
        stdout, stderr = protocol.decode(answer.stdout), protocol.decode(answer.stderr)
        return Reply(answer.head.status, stdout, stderr, {} if found is None else found, changes, revived)

    def source(
        self,
        path: str | os.PathLike[str],
        *arguments: str,
        timeout: Timeout = UNSET,
        errexit: bool = False,
    ) -> Reply:
        """Source a script at the main level; it is sourced again whenever bash has to be replaced.

        errexit: where ``set -e`` is on, let it act while this is sourced, as in a controller that sources its
            scripts outside of any condition: the first command that fails ends bash (`HookExited`, with
            `state_lost`).

        Raises:
            ScriptNotFound, ScriptUnreadable, ScriptInvalid: before anything runs.
            HookExited: the script called ``exit``; what it had defined until then is there, unless `state_lost`
                says that it ended bash itself: then it counts as not sourced.
        """
        real = consent.sourced(script.check(path))
        return self._do(_Step(protocol.source(real, arguments), real, arguments, errexit), timeout)

    def execute(self, code: str, *, timeout: Timeout = UNSET) -> Reply:
        """Run shell code of the host's own at the main level, such as default functions for a script to
        override; it runs again, in its turn, whenever bash has to be replaced.

        The code is evaluated: never put into it what came from a file or a program.
        """
        return self._do(_Step(protocol.run(code), None, ()), timeout)

    def _do(self, step: _Step, timeout: Timeout = UNSET, *, again: bool = False) -> Reply:
        what = "source" if step.path else "code"
        if not self._lock.acquire(blocking=False):
            timeout = self._lock_within(timeout, what, step.arguments)
        try:
            if not again:
                self._ready()
                self._steps.append(step)
            self._script = step.path or self._script
            try:
                # Only the last command of a request stands in a condition.
                lines = (step.code + "\n", protocol.NOTHING) if step.errexit else ("", step.code)
                done = self._send(*lines, [], timeout, what, step.arguments)
            except BaseException as error:
                # What it had defined until an exit is there, and would be again; not when it ended bash itself.
                stands = isinstance(error, HookExited) and not error.state_lost
                if not (again or stands):
                    self._steps.remove(step)
                raise
            return Reply(done.head.status, "", "", {}, None, False) if again else self._reply(done)
        finally:
            self._lock.release()

    # -- variables -----------------------------------------------------------------------------------

    def variable(self, name: str) -> Variable | None:
        """Value and attributes of a variable, None when the shell knows no such name."""
        return self.variables([name])[0]

    def variables(self, names: Sequence[str]) -> list[Variable | None]:
        """The same for several names in one exchange."""
        if not names:
            return []
        wants = ["__rb_f " + protocol.check_name(name) for name in names]
        with self._held(), self._reading(self._wanted(wants)) as rest:
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
        check_options("update", {"settings": settings}, {"settings": "Mapping[str, object]"})
        with self._held():
            plain = {name: values.plain(protocol.check_name(name), value) for name, value in settings.items()}
            self._ready()
            present = zip(plain.items(), self.variables(list(plain)), strict=True)
            code = {name: self._assignment(name, value, before) for (name, value), before in present}
            # In one exchange what is one command each; whatever bash refuses there is looked for one by one.
            chained = {name: line for name, line in code.items() if "\n" not in line}
            if len(chained) > 1 and not self._assigned(" &&\n".join(chained.values())).head.status:
                code = {name: line for name, line in code.items() if name not in chained}
            for name, line in code.items():
                answer = self._assigned(line)
                if answer.head.status:
                    why = protocol.decode(answer.stderr).strip()
                    raise ValueNotAccepted(f"{name} was refused by bash: {why}")
            self._settings |= plain

    def _assigned(self, code: str) -> Answer:
        return self._send(code + "\n", protocol.NOTHING, [])

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
        associative = values.is_map(value)
        kind = "map" if associative else "scalar" if isinstance(value, str) else "array"
        fresh = "" if present is None or present.kind == kind else f"\\builtin unset -v {name}\n"
        if associative:
            if self.version < (4,):
                version = ".".join(map(str, self.version))
                raise ValueNotAccepted(
                    f"{name} = a mapping with text keys needs an associative array, which bash {version} has not; "
                    "use bash 4 or newer"
                )
            fresh += f"\\builtin declare -A {name}\n"
        return fresh + protocol.assignment(name, value)

    def __delitem__(self, name: str) -> None:
        """Unset a variable. Raises UnsetVariable, ReadonlyVariable."""
        with self._held():
            present = self.variable(name)
            if present is None:
                raise UnsetVariable(f"{name} is not set in the shell")
            if present.readonly:
                raise ReadonlyVariable(f"{name} is readonly in the shell; the script made it so")
            self._send(f"\\builtin unset -v {name}\n", protocol.NOTHING, [])
            self._settings.pop(name, None)

    def snapshot(self) -> Snapshot:
        """All globals with their attributes, without those that bash itself changes all the time."""
        with self._held():
            names = [n for n in protocol.names(self._wanted(["__rb_N"])[0]) if n not in values.VOLATILE]
            found = self.variables(names)
            return values.Snapshot((v.name, v) for v in found if v is not None)

    def functions(self) -> list[str]:
        """Names of the functions that scripts have defined, sorted."""
        with self._held():
            names = protocol.names(self._wanted(["__rb_F"])[0])
            if "exit" in names and "__rb_unwind" in self.call("declare", "-f", "exit").stdout:
                names.remove("exit")  # ours
            return names

    def _wanted(self, wants: Sequence[str]) -> list[str]:
        return self._send("", protocol.NOTHING, wants).frames

    @functools.cached_property
    def version(self) -> tuple[int, ...]:
        """Version of this bash, such as (5, 2, 15)."""
        with self._held():
            return tuple(int(part) for part in self._wanted(["__rb_a BASH_VERSINFO"])[1:4])

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"bash {self._process.pid}"
        sourced = "".join(f", {step.path}" for step in self._steps if step.path)
        return f"<Shell {state}{sourced}>"

    def _restore(self) -> None:
        settings = dict(self._settings)
        for step in self._steps:
            try:
                self._do(step, again=True)
            except HookExited as left:
                if left.state_lost:
                    raise
        self.update(settings)
