"""What the loop reports to its host: one stream of small facts. Who prints, renders; the loop prints nothing.

Some are recorded by the store and never yielded: CrewStands, LoopInterrupted, ReviewStands, RunOpened, RunNote,
TurnPrepared, TurnRecorded.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from bridge.base.json_ready import members
from bridge.base.process.stopping import StopRequested
from bridge.base.records import dataclass
from bridge.base.wording import duration, one_line, plural
from bridge.loop.engine.policy import Verdict
from bridge.loop.engine.turn_records import NO_TURNS, Totals
from bridge.loop.turn.tool import Event as LoopEvent
from bridge.loop.turn.tool import HookText, Notice, OutputText, ProgramEnded, RunProgress, event_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from bridge.loop.engine.findings import Opinion
    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.plan import Plan
    from bridge.loop.engine.policy import Decision
    from bridge.loop.engine.run_record import RunRecord
    from bridge.loop.engine.state import LoopState
    from bridge.loop.engine.turn_records import TurnRecord
    from bridge.loop.turn.check import Checked
    from bridge.scripts.stream.analysis import PermanentFailure
    from bridge.scripts.stream.events.base import Usage

__all__ = [
    "CheckEnded",
    "CheckProgress",
    "CheckStarted",
    "DenialHelp",
    "HookText",
    "IterationEnded",
    "IterationStarted",
    "LeftoversEnded",
    "LogLine",
    "LoopEnded",
    "LoopEvent",
    "LoopInterrupted",
    "MessageGiven",
    "Notice",
    "OutputText",
    "ProgramEnded",
    "ReviewTurnEnded",
    "ReviewTurnStarted",
    "RunProgress",
    "SessionRotated",
    "ToolChanged",
    "Waiting",
    "interruption",
]


@dataclass(frozen=True, slots=True)
class IterationStarted(LoopEvent):
    """A run of the CLI is about to start.

    Attributes:
        iteration: counts from 1.
        argv: the command, as the driver built it.
        session_id: the session that it resumes, or None.
        live: its events are shown as they come.
        plan: the fix plan before the run, or None without one.
        log: file that gets its raw stdout.
        state: where the loop stands.
        head: the commit that is checked out, or ''.
        prompt: the prompt file, as the tool gets to see it. context: what it is told beside.
    """

    iteration: int
    argv: tuple[str, ...]
    session_id: str | None
    live: bool
    plan: Plan | None
    log: Path
    state: LoopState
    head: str = ""
    prompt: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class IterationEnded(LoopEvent):
    """A run is over, and what follows from it.

    Attributes:
        iteration: which one.
        outcome: what it came to.
        decision: what follows.
        seconds: how long it took.
        log: its raw stdout.
        state: where the loop stands now.
        stderr: its stderr, or None.
        sessions: sessions are resumed in this loop.
        turn: the same, summed up for the records.
        session_id: the session that it resumed, or None.
        worked: it changed files, or its plan; None: nobody can tell.
        took: what else it did that people have to know, such as ``the plan is gone``.
    """

    iteration: int
    outcome: Outcome
    decision: Decision
    seconds: float
    log: Path
    state: LoopState
    stderr: Path | None = None
    sessions: bool = False
    turn: TurnRecord | None = None
    session_id: str | None = None
    worked: bool | None = None
    took: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChanged(Notice):
    """Another tool runs the next turns.

    Attributes:
        tool, before: which, and which one did, such as ``driver codex``.
        why: what for, in words.
    """

    tool: str
    before: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRotated(Notice):
    """The context of the session is full to its bound: the next turn begins a fresh one.

    Attributes:
        iteration: after which.
        context_tokens: that it holds. context_window: that it can hold; None: unknown.
        tool: whose session it was, such as ``driver codex``.
    """

    iteration: int
    context_tokens: float
    context_window: float | None
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageGiven(Notice):
    """The turn that begins is given a message of the loop's user.

    Attributes:
        message: its text, as it was sent.
    """

    message: str


@dataclass(frozen=True, slots=True)
class CrewStands(LoopEvent):
    """How the loop's tools stand behind a turn, for a run that goes on with this one. Recorded, never yielded."""

    document: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class TasksStand(LoopEvent):
    """How the tasks of a source stand that a loop after the other works on. Recorded, never yielded."""

    document: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class CheckStarted(LoopEvent):
    """The check begins; `log` gets what it prints, `iteration` is the one before, 0: none.

    Attributes:
        of_setup: the setup's own settings ask for it.
    """

    iteration: int
    command: str
    log: Path
    of_setup: bool = False

    def __str__(self) -> str:
        return f"check `{one_line(self.command, 80)}` started"


@dataclass(frozen=True, slots=True)
class CheckProgress(LoopEvent):
    """The check is still under way; comes about every second."""

    iteration: int
    elapsed: float
    last_line: str


@dataclass(frozen=True, slots=True)
class CheckEnded(LoopEvent):
    """The check is over.

    Attributes:
        iteration: the one before it; 0: none.
        command: what was run.
        log: what it printed.
        checked: what came of it.
        of_setup: the setup's own settings ask for it.
    """

    iteration: int
    command: str
    log: Path
    checked: Checked
    of_setup: bool = False

    def __str__(self) -> str:
        why, took = self.checked.why, duration(self.checked.seconds)
        name = f"check `{one_line(self.command, 80)}`"
        return f"{name} failed: it {why}, after {took} · {self.log}" if why else f"{name} passed in {took}"


@dataclass(frozen=True, slots=True)
class ReviewTurnStarted(LoopEvent):
    """Another tool reviews what was done up to this iteration; `turn` is its record as it begins."""

    iteration: int
    tool: str
    turn: TurnRecord

    def __str__(self) -> str:
        return f"review by {self.tool} started"


@dataclass(frozen=True, slots=True)
class ReviewTurnEnded(LoopEvent):
    """That review is over.

    Attributes:
        iteration: the one before it.
        tool: whose it was.
        opinion: what came of it.
        turn: its record, without what it used.
        outcome: of its turn.
    """

    iteration: int
    tool: str
    opinion: Opinion
    turn: TurnRecord
    outcome: Outcome

    def __str__(self) -> str:
        found = self.opinion.findings
        said = plural(len(found), "finding") if found else "no issues found" if found == () else self.opinion.why
        names = ", ".join(map(one_line, self.opinion.changed[:5]))
        changed = f"; it has changed {names}" if names else ""
        return f"review by {self.tool} took {duration(self.turn.seconds)}: {said}{changed} · {self.turn.log}"


@dataclass(frozen=True, slots=True)
class ReviewStands(LoopEvent):
    """What was reviewed, and what is to be told yet, for a run that goes on with this one; never yielded."""

    document: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class LogLine(LoopEvent):
    """A line of the setup's own log, without its newline, as its controller prints it."""

    text: str


@dataclass(frozen=True, slots=True)
class DenialHelp(LoopEvent):
    """The agent was refused a tool, for the first time in this loop: what its driver says can be done.

    Attributes:
        iteration: the run in which it was.
        refused: the tools.
        text: lines for people, without the last newline; '' when the driver says nothing.
    """

    iteration: int
    refused: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Waiting(LoopEvent):
    """The loop waits. Comes at the beginning, and about every second until it is over.

    Attributes:
        iteration: the last one.
        reason: ``pause``, ``paused`` (by its user), ``retry``, ``write_timeout``, ``permission_denied``,
            ``api_limit`` or ``rate_limit``.
        detail: a sentence for people.
        until: when it goes on.
        left: seconds until then.
        first: this is the beginning.
        state: where the loop stands.
    """

    iteration: int
    reason: str
    detail: str
    until: datetime
    left: float
    first: bool
    state: LoopState


@dataclass(frozen=True, slots=True)
class LeftoversEnded(LoopEvent):
    """What the tool had left running was ended; `groups` counts its process groups."""

    groups: int

    def __str__(self) -> str:
        return f"What the agent had left running was ended: {plural(self.groups, 'process group')}"


@dataclass(frozen=True, slots=True)
class ReviewStarted(LoopEvent):
    """A review that the setup itself has begins."""

    iteration: int
    argv: tuple[str, ...]

    def __str__(self) -> str:
        return "review started"


@dataclass(frozen=True, slots=True)
class ReviewEnded(LoopEvent):
    """A review has run.

    Attributes:
        iteration: the one that was reviewed.
        findings: JSON text of what it found, or None.
        head: the commit that was reviewed.
        output: what it printed: stdout, then stderr.
        status: its exit status.
    """

    iteration: int
    findings: str | None
    head: str
    output: bytes
    status: int


@dataclass(frozen=True, slots=True)
class LoopEnded(LoopEvent):
    """The loop is over: complete, or incomplete for `reason`.

    Attributes:
        totals: sums its turns up.
        status: the exit code that such an end has, where it isn't the usual one of its verdict, or None.
        permanent: the failure that no repetition mends with which its last turn ended, or None.
        idle: turns in a row, up to its end, that came to nothing.
    """

    verdict: Verdict
    reason: str
    detail: str
    iterations: int
    seconds: float
    state: LoopState
    totals: Totals = NO_TURNS
    status: int | None = None
    permanent: PermanentFailure | None = None
    idle: int = 0

    @property
    def exit_code(self) -> int:
        """The exit code of a loop that ends like this: `status`, else that of its verdict."""
        return self.status if self.status is not None else int(self.verdict is not Verdict.COMPLETE)

    def to_dict(self) -> dict[str, Any]:
        """See `Event.to_dict`; instead of `status` there is ``exit_code``."""
        known = members(self, without=("status",)) | {"exit_code": self.exit_code}
        return {"event": event_name(type(self)), **known}


@dataclass(frozen=True, slots=True)
class LoopInterrupted(LoopEvent):
    """The loop was ended in the middle. Recorded, never yielded: whoever interrupted knows.

    Attributes:
        action: ``interrupted`` or ``unexpected_exit``.
        reason: a signal's name, ``closed``, or the error's.
        iteration: where it was.
        error: the error, or None.
        state: where the loop stands.
        turn: the turn that was under way, or None.
    """

    action: str
    reason: str
    iteration: int
    error: BaseException | None
    state: LoopState
    turn: TurnRecord | None = None


@dataclass(frozen=True, slots=True)
class RunOpened(LoopEvent):
    """The project is ours; `before` is the run before this one, or None."""

    before: RunRecord | None


@dataclass(frozen=True, slots=True)
class TurnPrepared(LoopEvent):
    """All that a turn depends on is read; whether there is to be one is decided next."""

    state: LoopState


@dataclass(frozen=True, slots=True)
class TurnRecorded(LoopEvent):
    """A turn is over, however it ended; `usage` is what its CLI says that it used, or None."""

    turn: TurnRecord
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class RunNote(LoopEvent):
    """The run ``began``, ``waited``, ``checked`` or ``ended``; another ``tool`` took over.

    Attributes:
        name: one of these.
        at: seconds since the epoch.
        facts: what else the line of ``runs.jsonl`` has.
    """

    name: str
    at: float
    facts: Mapping[str, object]


def interruption(error: BaseException) -> tuple[str, str]:
    """Name the action and the exit reason for a loop that ends in the middle."""
    if isinstance(error, StopRequested):
        return "interrupted", "stopped"
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", "SIGINT"
    if isinstance(error, SystemExit):  # what the command line makes of other signals
        number = error.code - 128 if isinstance(error.code, int) else 0
        return "interrupted", signal.Signals(number).name if number in signal.valid_signals() else "exit"
    if isinstance(error, GeneratorExit):
        return "interrupted", "closed"
    return "unexpected_exit", type(error).__name__
