"""One call of a tool: a request goes in, what the tool did comes out, and what it shows meanwhile are events."""

from __future__ import annotations

import os
import re
from contextlib import closing, suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from bridge.base.files import open_file
from bridge.base.json_ready import members
from bridge.base.process.leftovers import MARK
from bridge.base.process.program import Graces
from bridge.base.records import dataclass
from bridge.loop.turn.logs import TURN_LOG_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping
    from pathlib import Path

    from bridge.loop.sandbox.box import Box
    from bridge.scripts.stream.analysis import Analysis, RunFacts

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")

_STDERR_TAIL = 64 * 1024
NOT_STARTED = 127
"""Status of a turn whose program could not be started, as a shell has it."""


# -- what goes in ------------------------------------------------------------------------------------


class TurnLogs(NamedTuple):
    """Files of one turn.

    Attributes:
        output: its stdout.
        stderr: its stderr; None: it goes where the host's goes.
        stream: the whole stream of a live run, if that is kept beside its result.
        kept: where people find later what it showed; None: in `output`, which no further turn overwrites.
    """

    output: Path
    stderr: Path | None = None
    stream: Path | None = None
    kept: Path | None = None

    @property
    def for_people(self) -> Path:
        return self.kept or self.output


def _nothing(_value: object) -> None: ...


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """What a tool is asked to do in one turn.

    Attributes:
        number: of the iteration, from 1.
        prompt: the prompt file as the tool gets to see it, relative to the project or absolute.
        logs: where its output goes.
        context: what the agent is told beside its prompt.
        added: what it is told in this turn alone, by whichever way its tool has.
        session: the session to resume, or None.
        attempt: how often this iteration was tried before.
        first: no turn of this loop has run yet: what can't be started is an error and not a failed turn.
        timeout: seconds that it may take; None: any number.
        broken: why it can't be done, which makes it a failed turn; or ''.
        variables: globals for the script of an agent.
        on_start: gets the process id of the tool when it has started, and None when it has ended.
        on_output: gets what the tool prints, as it comes: the filtered text of a live run, else its raw output.
        on_line: gets each line that the tool prints, as it is; maybe from another thread. None: nobody wants them.
        exports: gives further variables for the tool's environment, when its command is known.
        on_notice: gets at once, from another thread, what follows as a :class:`Notice` as soon as it can.
    """

    number: int
    prompt: str
    logs: TurnLogs
    context: str = ""
    added: str = ""
    session: str | None = None
    attempt: int = 0
    first: bool = True
    timeout: float | None = None
    broken: str = ""
    variables: Mapping[str, str | int] = field(default_factory=dict)
    on_start: Callable[[int | None], None] = _nothing
    on_output: Callable[[bytes], None] = _nothing
    on_notice: Callable[[str], None] = _nothing
    on_line: Callable[[bytes], None] | None = None
    exports: Callable[[], Mapping[str, str]] = dict


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSettings:
    """How the turns of a loop are run.

    Attributes:
        project: the project's folder; the tool runs in it.
        env: environment of the tool; None for this process's own.
        live: show events as they come, where the tool can.
        resume: resume the session of the turn before.
        graces: how long the tool may take to obey each signal.
        turn_log_bytes: of what a turn prints, the beginning and the end are kept; 0: all of it.
        write_timeout: seconds without a written file after which a turn is ended, or None.
        heartbeat_seconds: how often to look for written files.
        poll_seconds: how often :class:`RunProgress` comes.
        max_silence: seconds without any output after which a turn is ended, or None.
        hook_seconds: how long a hook of an agent may take before and after its program.
        stdin: the prompt is given there, by a driver that knows how.
        model: that a driver's CLI is to use, ``NAME[:EFFORT]``; '': as it does by itself.
        box: what turns run in; None: this machine.
    """

    project: Path
    env: Mapping[str, str] | None = None
    live: bool = True
    resume: bool = True
    graces: Graces = field(default_factory=Graces)
    turn_log_bytes: int = TURN_LOG_BYTES
    write_timeout: float | None = None
    heartbeat_seconds: float = 30.0
    poll_seconds: float = 2.0
    max_silence: float | None = None
    hook_seconds: float = 600.0
    stdin: bool = False
    model: str = ""
    box: Box | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What the tool's process gets, with the mark by which what it leaves running is found."""
        return {**(os.environ if self.env is None else self.env), MARK: str(self.project)}


@dataclass(frozen=True, slots=True)
class Command:
    """What one turn runs.

    Attributes:
        argv: the command line; empty when it can't be run.
        stdin: what it reads there; None: nothing.
        live: its events are shown as they come.
        broken: why it can't be run, or ''.
        absent: the program that isn't there, if that is why; it may be again.
        note: what is to be said of it, or ''.
    """

    argv: tuple[str, ...] = ()
    stdin: bytes | None = None
    live: bool = False
    broken: str = ""
    absent: str = ""
    note: str = ""


# -- what comes out ----------------------------------------------------------------------------------


class Output(Protocol):
    def finish(self, facts: RunFacts) -> Analysis: ...


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What a tool did in one turn.

    Attributes:
        status: exit status, or minus the number of the signal that ended it; 127: it could not be started. 0 or 1,
            as its answer says, of a CLI that had answered and was ended because it stayed.
        output: what it printed, taken in.
        timed_out: it was ended because it ran for too long.
        idle: it was ended because it wrote no file for too long.
        mute: it was ended because it printed nothing for too long.
        stderr: the end of what it wrote to stderr.
        response: an agent's own words, as its script finds them; None: the output has to tell.
        result: the last line of a live stream that is a result, or None.
        shown: some of its text was shown already.
        left: what ended the loop when all this was known: an agent's last hook called ``exit``, or a signal came
            while it ran.
    """

    status: int
    output: Output
    timed_out: bool = False
    idle: bool = False
    mute: bool = False
    stderr: bytes = b""
    response: str | None = None
    result: bytes | None = None
    shown: bool = False
    left: BaseException | None = None


# -- what happens meanwhile --------------------------------------------------------------------------


class Event:
    """Something that a turn, or a loop, tells its host. Who prints, renders; nothing here prints."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Give it ready for JSON: `event` names its kind, such as ``turn_ended``, then come its fields.

        Paths are text, enums their values, points in time ISO 8601, durations seconds. The names stay
        (docs/events.md).
        """
        return {"event": event_name(type(self)), **members(self)}


@dataclass(frozen=True, slots=True)
class CommandBuilt(Event):
    """The turn's command is known, and about to be started."""

    command: Command


@dataclass(frozen=True, slots=True)
class OutputText(Event):
    """Text for the reader's eyes: a piece in live mode, else the whole answer."""

    iteration: int
    text: str


@dataclass(frozen=True, slots=True)
class HookText(Event):
    """What a hook of an agent printed beside its program: `error` for stderr."""

    text: str
    error: bool = False


@dataclass(frozen=True, slots=True)
class ProgramEnded(Event):
    """An agent's program has ended, and its hook for afterwards is about to be called."""

    status: int
    response: str
    timed_out: bool = False
    mute: bool = False


@dataclass(frozen=True, slots=True)
class RunProgress(Event):
    """A turn is still under way.

    Attributes:
        iteration: which one.
        elapsed: seconds since it began.
        last_line: the last sentence of its text in a live run, else the last line that it printed, or ''.
        tool: what it is using, as far as that shows, or ''.
        count: how many of these there were in this turn, from 0.
    """

    iteration: int
    elapsed: float
    last_line: str
    tool: str
    count: int


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """Something that was worked around, or that people want to know."""

    text: str


def event_name(kind: type[Event]) -> str:
    """Name a kind of event, as its class is named.

    >>> event_name(CommandBuilt)
    'command_built'
    """
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


# -- the call ----------------------------------------------------------------------------------------


class Tool(Protocol):
    """What runs turns: a driver's CLI (:class:`bridge.loop.turn.driver.DriverTool`), or an agent script
    (:class:`bridge.loop.turn.agent.AgentTool`).

    Attributes:
        name: such as ``driver codex``.
    """

    name: str

    def supports_sessions(self) -> bool:
        return False

    def try_model(self) -> None:
        """See whether it can be told the model that is asked for; raises ConfigurationError if it can't."""
        return

    def prepare(self, request: TurnRequest) -> Command: ...

    def run(self, command: Command, request: TurnRequest) -> Generator[Event, None, TurnResult]: ...

    def recover_session_id(self, output_file: str) -> str | None:  # noqa: ARG002
        return None

    def denial_help(self) -> str:
        """Say what can be done about refused tools; '' without advice."""
        return ""


def _give_up(_why: str) -> Generator[Event, None, bool]:
    yield from ()
    return False


def run_turn(
    tool: Tool, request: TurnRequest, again: Callable[[str], Generator[Event, None, bool]] = _give_up
) -> Generator[Event, None, TurnResult]:
    """Run one turn. Its command is an event; close the generator to end the tool with all that it started.

    Args:
        again: waits for a program that isn't there, told why; whether it is to be looked for again.

    Raises:
        bridge.errors.HookError: a hook failed, in the first turn; or called ``exit``.
        bridge.errors.ProgramNotFound, ProgramNotStarted: in the first turn; later that is a failed turn.
        bridge.errors.ArgumentTooLong: the system would refuse the command line.
        bridge.errors.ConfigurationError: the tool built no command.
        bridge.errors.BridgeError: a file can't be written, the process doesn't end.
    """
    command = Command(broken=request.broken) if request.broken else tool.prepare(request)
    while command.absent and (yield from again(command.broken or f"{command.absent} was not found on PATH")):
        command = tool.prepare(request)
    yield CommandBuilt(command)
    if command.broken:
        return not_started(command.broken)
    running = tool.run(command, request)
    with closing(running):
        return (yield from running)


def mapped(events: Generator[A, None, R], each: Callable[[A], Iterable[B]]) -> Generator[B, None, R]:
    """Give what `each` makes of what comes, and return what they return."""
    with closing(events):
        while True:
            try:
                event = next(events)
            except StopIteration as stop:
                result: R = stop.value
                return result
            yield from each(event)


def not_started(why: str) -> TurnResult:
    """Say that a turn could not be started, as a shell would."""
    from bridge.scripts.stream.analysis import Analyzer

    return TurnResult(NOT_STARTED, Analyzer(), stderr=why.encode("utf-8", "replace"))


def first_line(error: BaseException) -> str:
    """What is wrong; the lines behind it say what to do."""
    return str(error).split("\n", 1)[0]


def stderr_tail(path: Path | None) -> bytes:
    if path is not None:
        with suppress(FileNotFoundError, NotADirectoryError), open_file(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _STDERR_TAIL))
            return file.read()
    return b""
