"""Everything that ralph-bridge raises: one flat family.

Each class also inherits the builtin that it specialises, so that ``except TimeoutError`` works for
people who have never heard of us. A message says what happened, shows the evidence, and ends with
one next step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_EVIDENCE_LIMIT = 2000


class BridgeError(Exception):
    """Base of the family."""

    exit_code = 1
    """What the command line returns for it: 1 violated, 2 usage or configuration, 4 environment."""

    @property
    def parts(self) -> tuple[str, str]:
        """What happened, with its evidence, and the next step; '' without one."""
        what, _, next_step = str(self).partition("\n  next: ")
        return what, next_step


class ConfigurationError(BridgeError, ValueError):
    """An option, a setting or a file of ours holds something that we can't use."""

    exit_code = 2


class InvalidName(ConfigurationError):
    """A name that is not a shell variable or function name."""


class ValueNotAccepted(ConfigurationError):
    """A value that bash can't hold (NUL byte, wrong type) or that the variable's attribute refuses."""


class FilterNotCompiled(ConfigurationError):
    """A jq program that does not compile.

    Attributes:
        complaint: what jq says of it.
    """

    def __init__(self, message: str, complaint: str = "") -> None:
        super().__init__(message)
        self.complaint = complaint


class UnknownDriver(ConfigurationError, LookupError):
    """No shipped or installed driver has this name."""


class UnknownAgent(ConfigurationError, LookupError):
    """No shipped or installed agent has this name."""


class ScriptNotFound(ConfigurationError, FileNotFoundError):
    """The script does not exist."""


class ScriptUnreadable(BridgeError, PermissionError):
    """The script exists and may not be read."""

    exit_code = 4


class OutputNotFound(ConfigurationError, FileNotFoundError):
    """The file that should hold a CLI's output does not exist."""


class OutputUnreadable(BridgeError, PermissionError):
    """The file that holds a CLI's output may not be read."""

    exit_code = 4


class ScriptInvalid(ConfigurationError):
    """A directory, a program that is not a bash script, or a script that bash can't parse."""


class ProjectCodeNotRun(ConfigurationError):
    """A command that only looks would have to run code of the project's.

    Attributes:
        shown: lines of what could be found out without it; empty: nothing.
    """

    shown: Sequence[str] = ()


class ContractViolation(ConfigurationError):
    """The script does not offer what its contract demands; all violations are listed at once."""


class ShellStartFailed(BridgeError, OSError):
    """bash could not be started."""

    exit_code = 4


class ShellClosed(BridgeError, ValueError):
    """The shell was closed and can't be used any more."""


class UnsetVariable(BridgeError, KeyError):
    """The variable is not set in the shell."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ReadonlyVariable(BridgeError, AttributeError):
    """The variable is readonly; bash refuses to change it."""

    exit_code = 2


def _text(data: str) -> str:
    shown = data[-_EVIDENCE_LIMIT:].encode("utf-8", "surrogateescape").decode("utf-8", "replace").rstrip("\n")
    return ("[...] " if len(data) > _EVIDENCE_LIMIT else "") + shown


class HookError(BridgeError, RuntimeError):
    """A call of a shell function did not end as it should have.

    Attributes:
        hook: the function that was called, or ``source``.
        arguments: its arguments.
        script: the script that was sourced last, or None.
        status: exit status of the function (0 to 255), or None when there is none.
        stdout: what it had written to stdout until then (text with surrogateescape).
        stderr: the same for stderr.
        state_lost: True when bash had to be replaced: globals set by earlier calls are gone.
        provided: commands that PATH has none of, so that scripts found those of ralph-bridge.
    """

    def __init__(
        self,
        what: str,
        *,
        hook: str,
        arguments: tuple[str, ...] = (),
        script: str | None = None,
        status: int | None = None,
        stdout: str = "",
        stderr: str = "",
        state_lost: bool = False,
        hint: str = "",
        provided: tuple[str, ...] = (),
    ) -> None:
        super().__init__(what)
        self.what = what
        self.hook = hook
        self.arguments = arguments
        self.script = script
        self.status = status
        self.stdout = stdout
        self.stderr = stderr
        self.state_lost = state_lost
        self.hint = hint
        self.provided = provided

    def __reduce__(self) -> tuple[Any, ...]:
        # Without it, unpickling would call __init__ with the message alone: an error that a worker of a
        # ProcessPoolExecutor raises has to reach its parent.
        return _restored, (type(self), self.args, self.__dict__.copy())

    def __str__(self) -> str:
        lines = [self.what]
        if self.script:
            lines.append(f"  script: {self.script}")
        if self.arguments:
            lines.append("  arguments: " + " ".join(map(_shorten, self.arguments)))
        for label, data in (("stdout", self.stdout), ("stderr", self.stderr)):
            if data:
                lines.append(f"  {label}: " + _text(data).replace("\n", "\n    "))
        if self.state_lost:
            lines.append("  bash was replaced: globals set by earlier calls are gone, the script is sourced again")
        lines += [f"  {name}: none on PATH; ralph-bridge's own is in use" for name in self.provided]
        if self.hint:
            lines.append(f"  next: {self.hint}")
        return "\n".join(lines)


def _restored(kind: type[HookError], args: tuple[object, ...], attributes: dict[str, object]) -> HookError:
    error = kind(str(args[0]), hook="")
    error.__dict__.update(attributes)
    return error


def _shorten(argument: str) -> str:
    shown = repr(argument)
    return shown if len(shown) <= 80 else shown[:77] + "..."


class HookFailed(HookError):
    """The hook returned a status other than 0."""


class HookNotFound(HookFailed, LookupError):
    """There is no function, builtin or program of this name, so nothing was run; `status` is bash's 127."""


class HookExited(HookError):
    """The hook called ``exit``; `status` is what it exited with.

    With `state_lost`, bash itself ended in good order: by ``builtin exit`` or ``command exit``, by ``exec`` of a
    program that ended, by an error under errexit or nounset.
    """


class HookTimeout(HookError, TimeoutError):
    """The hook did not end before its deadline."""


class HookInterrupted(HookError):
    """The hook was ended by an interrupt that the host had asked for."""


class ShellDied(HookError, ConnectionError):
    """bash itself ended during the call, and not in good order: it was killed or crashed, or had to be ended.

    `status` is minus the signal number, as in :class:`subprocess.Popen`, or the status of a bash that had exited
    before the call.
    """


class OutputLimitExceeded(HookError):
    """The hook wrote more than the output limit; `stdout` and `stderr` hold what fitted."""


class ArgumentTooLong(ConfigurationError):
    """A command line that the operating system refuses: one argument, or all of them, is too large."""


class ProgramNotFound(BridgeError, FileNotFoundError):
    """The program is not there, or PATH does not lead to it."""

    exit_code = 4


class ProgramNotStarted(BridgeError, OSError):
    """The program is there, but the operating system would not start it."""

    exit_code = 4


class ProgramTimeout(BridgeError, TimeoutError):
    """The program ran longer than it may and was ended, together with its process group."""


class ProjectUnusable(BridgeError, OSError):
    """A file or folder of the project can't be read or written."""

    exit_code = 4

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.strerror = message  # for whoever quotes the reason of any OSError


class ProjectBusy(BridgeError, OSError):
    """Another loop is at work in this project."""

    exit_code = 4


class AdapterInvalid(ConfigurationError):
    """An adapter file can't be loaded; every problem is listed with file, line and key."""


class UnknownAdapter(ConfigurationError, LookupError):
    """No adapter has this name, built in or in the user's or the project's folder."""


class AdapterNotReady(BridgeError, TimeoutError):
    """The program was started and never came to its first prompt, or its adapter's probe failed."""

    exit_code = 4


class SessionRefused(BridgeError, ValueError):
    """A setup's own rules refuse to start a session; the exit code is the one of its controller."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class SourceUnavailable(BridgeError, OSError):
    """A tracker that tasks come from doesn't answer, or the program that speaks with it isn't there."""

    exit_code = 4


class SandboxUnavailable(BridgeError, OSError):
    """The namespaces that keep a real CLI from the network can't be made here."""

    exit_code = 4


class StateUnreadable(ConfigurationError):
    """A loop's state file holds something that is no state."""


class LoopRefused(BridgeError):
    """A loop may not start as things are: its circuit is open, or the state is that of another task."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class IncompleteInput(ConfigurationError):
    """A command has open brackets, strings or comments; nothing was sent."""


class LineTooLong(ConfigurationError):
    """A line that the terminal would cut, and the adapter has no other way in."""


class SessionBusy(BridgeError, BlockingIOError):
    """An earlier command of the session has not ended, or there is none to wait for."""


class SessionEnded(BridgeError, ConnectionError):
    """The program of the session has ended, or the session was closed."""
