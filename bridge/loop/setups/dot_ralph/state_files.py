"""The state files in ``.ralph``, as a table that bmalph and frankbria share: what each gets on which event."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from bridge.base import timestamps
from bridge.base.json_files import as_object, parse_json, to_json
from bridge.base.records import dataclass
from bridge.loop.engine.events import (
    IterationEnded,
    IterationStarted,
    LoopEnded,
    LoopEvent,
    LoopInterrupted,
    RunOpened,
    RunProgress,
    TurnPrepared,
    Waiting,
)
from bridge.loop.engine.policy import LIMITS
from bridge.loop.engine.store import LEAVE, StateFile, Store
from bridge.loop.setups.dot_ralph import breaker_files, files, session_files
from bridge.loop.setups.dot_ralph.breaker_files import BreakerSet
from bridge.loop.setups.dot_ralph.exits import ARRAYS, read_signals, write_signals
from bridge.loop.setups.dot_ralph.session_files import SessionReset, loop_of, reset_reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.loop.engine.store import Document, Facts
    from bridge.loop.setups.dot_ralph.common import CommonSettings
    from bridge.loop.setups.dot_ralph.folder import Folder

StatusWord = Literal["running", "halted", "stopped", "completed", "success", "graceful_exit", "paused", "error"]
"""What readers of ``status.json`` (bmalph's dashboard, monitors) know; all else is "corrupt" there (trap T22)."""

STATUS_WORDS = frozenset(get_args(StatusWord))
SPINNER = ("⠋", "⠙", "⠹", "⠸")
NO_SIGNALS = to_json({name: [] for name in ARRAYS}, compact=True) + "\n"
_ENDS = (IterationEnded, LoopEnded, LoopInterrupted)
_EVERY = 60.0
"""Seconds between two writes of status.json while the loop waits: a sign of life, no more."""
_HEARTBEAT = (".heartbeat_marker", ".write_heartbeat_pid", ".write_heartbeat_seen", ".write_heartbeat_triggered")


@dataclass(frozen=True, slots=True)
class SignalsCleared(LoopEvent):
    """Exit signals of an earlier run are dropped by hand."""


@dataclass(frozen=True, slots=True)
class CrashCleared(LoopEvent):
    """What a run has left that did not end in order is cleared away.

    The original can't tell what a crashed run has left from what a living one says: exit signals of the crash end
    the next run before it starts (trap T7). So exit signals and the analysis go, and ``progress.json`` says that
    the run failed. The count of the hour, sessions (the next run resumes), the breaker with its cooldown, the
    summary of changes, findings and gates stay.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What ``status.json`` says.

    Attributes:
        loop: the iteration, from 1; 0 before the first.
        action: what the loop did last, in the original's words.
        word: where it stands.
        reason: why the loop ended; ``""`` while it hasn't.
        reset: when calls are possible again, in seconds since the epoch; None: at the full hour.
        code: exit code of the run, where that is known.
    """

    loop: int
    action: str
    word: StatusWord
    reason: str = ""
    reset: float | None = None
    code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSetup:
    """What the documents of a loop are made from beside its events, and in what they differ from loop to loop.

    Attributes:
        folder: of the loop.
        settings: of the project; None: nothing but the session and the breaker are written, by hand.
        driver: name of the driver, for metrics.
        started: when this run of the loop began; the run id of its metrics.
        reset: why an iteration or the loop ends the session with it; '' where it doesn't.
        status: what ``status.json`` says behind an iteration, where the loop goes on, or behind the loop.
        further: keys of ``status.json`` that only this loop's has; of the facts and the exit code of the run.
        names_signals: the name of a signal that ends the loop is its exit reason.
    """

    folder: Folder
    settings: CommonSettings | None = None
    driver: str = ""
    started: str = ""
    reset: Callable[[Any], str] = lambda _event: ""
    status: Callable[[Facts], Status | None] = lambda _facts: None
    further: Callable[[Facts, int | None], dict[str, object]] = lambda _facts, _code: {}
    names_signals: bool = True


# -- calls, progress, what a turn leaves --------------------------------------------------------------


def calls_of(facts: Facts) -> files.Calls:
    """Give the calls of this clock hour, as the files have them."""
    found = files.Calls.read(facts.read(files.CALLS), facts.read(files.HOUR))
    return found.at(datetime.fromtimestamp(facts.now))


def new_hour(facts: Facts) -> bool:
    return (facts.read(files.HOUR) or "").strip() != timestamps.hour(facts.now)


def none_in_new_hour(facts: Facts) -> Document:
    return "0\n" if new_hour(facts) else LEAVE


def tokens(facts: Facts) -> Document:
    return none_in_new_hour(facts) if facts.setup.folder.shapes.tokens else LEAVE


def hour(facts: Facts) -> Document:
    return f"{timestamps.hour(facts.now)}\n" if new_hour(facts) else LEAVE


def running(facts: Facts) -> Document:
    """Give ``progress.json`` while a run lasts; valid JSON whatever the CLI prints (trap T10)."""
    event = facts.event
    return {
        "status": "executing",
        "indicator": SPINNER[event.count % len(SPINNER)],
        "elapsed_seconds": int(event.elapsed),
        "last_output": event.last_line.encode("utf-8", "replace")[:80].decode("utf-8", "ignore"),
        "timestamp": timestamps.local(facts.now),
    }


def finished(status: str, now: float, **more: object) -> str:
    """Give ``progress.json`` at the end of a run."""
    return to_json({"status": status, **more, "timestamp": timestamps.local(now)}, compact=True) + "\n"


def output_length(facts: Facts) -> Document:
    outcome = facts.event.outcome
    if outcome.failure is not None or outcome.analysis is None or outcome.analysis.output_format != "text":
        return LEAVE
    return f"{outcome.analysis.output_length}\n"


def analysis_dropped(facts: Facts) -> Document:
    return None if isinstance(facts.event, CrashCleared) or reset_reason(facts) else LEAVE


def signals(facts: Facts) -> Document:
    event, text = facts.event, facts.read(files.SIGNALS)
    if isinstance(event, TurnPrepared):
        return NO_SIGNALS if text is None else LEAVE
    if isinstance(event, CrashCleared | SignalsCleared):
        return NO_SIGNALS if read_signals(text) else LEAVE
    if reset_reason(facts):
        return NO_SIGNALS if text is not None else LEAVE
    believed = isinstance(event, IterationEnded) and event.outcome.failure is None
    return write_signals(event.state.signals) if believed else LEAVE


def progress_cut_off(facts: Facts) -> Document:
    running = (as_object(parse_json(facts.read("progress.json"))) or {}).get("status") == "executing"
    return finished("failed", facts.now) if running else LEAVE


# -- status.json ---------------------------------------------------------------------------------------


def status_file(facts: Facts) -> Document:
    """Give ``status.json``, for dashboards, ``doctor`` and ``status``."""
    found = _standing(facts)
    if found is None:
        return LEAVE
    reset = timestamps.next_hour(facts.now) if found.reset is None else found.reset
    return {
        "timestamp": timestamps.iso(facts.now),
        "loop_count": found.loop,
        "calls_made_this_hour": calls_of(facts).count,
        "max_calls_per_hour": facts.setup.settings.max_calls_per_hour,
        "last_action": found.action,
        "status": found.word,
        "exit_reason": found.reason,
        "next_reset": timestamps.clock(reset),
        **facts.setup.further(facts, found.code),
    }


def _standing(facts: Facts) -> Status | None:
    """Say where the loop stands; None: the file stays as it is."""
    event, setup = facts.event, facts.setup
    match event:
        case IterationStarted():
            return Status(loop=event.iteration, action="executing", word="running")
        case Waiting():  # it says so (trap F12), and is written anew once a minute
            if event.reason not in LIMITS or not (event.first or _is_old(facts)):
                return None
            until = event.until.timestamp()
            return Status(loop=event.iteration, action=event.reason, word="paused", reset=until)
        case LoopInterrupted():
            signal = event.action == "interrupted"
            reason = "" if signal and not setup.names_signals else event.reason
            action = "interrupted" if signal else "unexpected_exit"
            return Status(loop=loop_of(event), action=action, word="stopped", reason=reason)
    found: Status | None = setup.status(facts)
    return found


def _is_old(facts: Facts) -> bool:
    written = timestamps.parse_iso((as_object(parse_json(facts.read("status.json"))) or {}).get("timestamp"))
    return written is None or facts.now - written >= _EVERY


def exit_code(event: IterationEnded) -> int:
    """Give the exit code as the original's shell would have it: 124 after a timeout, 128 + N after a signal."""
    status = event.outcome.status
    if event.outcome.timed_out or event.outcome.idle:
        return 124
    return 128 - status if status < 0 else status


def exit_label(status: int) -> str:
    """Name an exit status as the original does.

    >>> exit_label(124), exit_label(7)
    ('timed out', 'error (exit 7)')
    """
    names = {
        0: "completed",
        1: "error",
        124: "timed out",
        130: "interrupted (SIGINT)",
        137: "killed (OOM or SIGKILL)",
        143: "terminated (SIGTERM)",
    }
    return names.get(status, f"error (exit {status})")


# -- the table -----------------------------------------------------------------------------------------

_RESETS = (SessionReset, *_ENDS)
_BREAKER = (TurnPrepared, IterationStarted, IterationEnded, BreakerSet)
FIRST = (
    *(StateFile(name, (RunOpened,), lambda _facts: None) for name in _HEARTBEAT),
    # In this order: after a crash in between, the count is thrown away again.
    StateFile(files.CALLS, (TurnPrepared,), none_in_new_hour),
    StateFile(files.TOKENS, (TurnPrepared,), tokens),
    StateFile(files.HOUR, (TurnPrepared,), hour),
    StateFile(".loop_start_sha", (IterationStarted,), lambda facts: f"{facts.event.head}\n"),
    StateFile("progress.json", (RunProgress,), running),
    StateFile("progress.json", (LoopInterrupted, CrashCleared), progress_cut_off),
)  # fmt: skip
"""What both loops write before their own files."""

LAST = (
    StateFile(".last_output_length", (IterationEnded,), output_length),
    StateFile(files.SIGNALS, (TurnPrepared, CrashCleared, SignalsCleared, *_RESETS), signals),
    StateFile(files.ANALYSIS, (CrashCleared, *_RESETS), analysis_dropped),
    StateFile(session_files.AGENT_SESSION, (TurnPrepared, *_RESETS), session_files.agent_session),
    StateFile(session_files.SESSION, (RunOpened, TurnPrepared, *_RESETS), session_files.session),
    StateFile(session_files.SESSION_HISTORY, _RESETS, session_files.session_history),
    StateFile(breaker_files.FILE, (*_BREAKER, LoopEnded), breaker_files.state_document),
    StateFile(breaker_files.HISTORY, _BREAKER, breaker_files.history_document),
    StateFile("status.json", (IterationStarted, *_ENDS, Waiting), status_file),
)  # fmt: skip
"""What both write behind them."""


def by_hand(folder: Folder, now: float, *events: LoopEvent) -> None:
    """Reset what is asked for, while no loop is at work."""
    store = Store(folder.path, (*FIRST, *LAST), setup=FolderSetup(folder=folder), now=lambda: now)
    for event in events:
        store.record(event)
