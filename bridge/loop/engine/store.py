"""The files of a loop: a kind of setup declares them (where, on which events, from what), one store writes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from bridge.base import json_files, timestamps
from bridge.base.files import make_folder, usable
from bridge.base.records import dataclass
from bridge.loop.engine.events import (
    CrewStands,
    DenialHelp,
    IterationEnded,
    IterationStarted,
    LoopEvent,
    LoopInterrupted,
    ReviewStands,
    ReviewTurnEnded,
    RunNote,
    TasksStand,
    TurnRecorded,
)
from bridge.loop.engine.findings import FINDINGS, report_of
from bridge.loop.engine.logs import USUAL, Level, LiveLog, append_line, log_line
from bridge.loop.engine.run_record import sweep
from bridge.loop.engine.turn_records import KEPT, MOST_BYTES, RUNS, TURNS, turn_line

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.engine.active_run import ActiveRun


class Leave(Enum):
    LEAVE = auto()


LEAVE = Leave.LEAVE
Document = str | bytes | Mapping[str, object] | list[Any] | None | Leave
"""What a file gets: text, JSON, or None: it is removed. Of a log, a line that is appended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a document is made from.

    Attributes:
        event: one of those that the file is declared for.
        state: where the loop stands.
        setup: what the kind has given the store: its settings, for one.
        now: the time, in seconds since the epoch.
        run: the id of the run, and what it runs, such as ``driver codex``.
        read: gives what a file in the loop's folder holds by now; None without one.
    """

    event: Any
    state: Any
    setup: Any
    now: float
    run: tuple[str, str]
    read: Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class StateFile:
    """One file of a loop.

    Attributes:
        name: its path in the loop's folder; fields of the event in braces are filled in.
        events: on which of them it is written.
        document: says what it gets.
        most: of a log, which is appended to: the size at which it is put aside as ``NAME.1``, 0: never. None: it
            is no log, and replaced as a whole.
        kept: how many of those there are.
    """

    name: str
    events: tuple[type[LoopEvent], ...]
    document: Callable[[Facts], Document]
    most: int | None = None
    kept: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLog:
    """The log that people read.

    Attributes:
        name: its path in the loop's folder.
        lines: gives the lines that follow from an event.
        most, kept: see :class:`StateFile`.
    """

    name: str = "logs/ralph.log"
    lines: Callable[[Facts], Iterable[tuple[Level, str]]]
    most: int = 10 * 1024 * 1024
    kept: int = 4


def _run_line(facts: Facts) -> Document:
    note, run = facts.event, facts.run[0]
    return {"schema": 1, "run": run, "event": note.name, "at": timestamps.iso_precise(note.at), **note.facts}


def _findings(facts: Facts) -> Document:
    event = facts.event
    found = event.opinion.findings
    return LEAVE if found is None else report_of(found, event.tool, event.iteration)


_RECORDS = (
    StateFile(TURNS, (TurnRecorded,), lambda facts: turn_line(facts.event.turn, *facts.run), MOST_BYTES, KEPT),
    StateFile(RUNS, (RunNote,), _run_line, MOST_BYTES, KEPT),
)
"""Of every loop, in the folder of its logs."""

CREW = ".ralph_bridge.crew.json"
REVIEW = ".ralph_bridge.review.json"
TASKS = ".ralph_bridge.tasks.json"
_STATE = (
    StateFile(CREW, (CrewStands,), lambda facts: facts.event.document),
    StateFile(REVIEW, (ReviewStands,), lambda facts: facts.event.document),
    StateFile(TASKS, (TasksStand,), lambda facts: facts.event.document),
    StateFile(FINDINGS, (ReviewTurnEnded,), _findings),
)
"""Of every loop, in its folder."""


class Store:
    """Writes the files of one run, each atomically, in the order of their table, before anybody sees the event.

    Args:
        folder: of the loop's state.
        files: the kind's table.
        setup: for its documents.
        log: the log that people read; None: the kind has none of this form.
        live: of what the tool says while it says it, if there is a log of that: the title of a turn, with ``{}``.
        live_name: of that log, in the folder.
        now: the time, in seconds since the epoch.
        on_log: is given each line of the log with its level.
        logs: the folder of the logs, which gets the records of turns and runs; None: the usual one.

    Raises:
        bridge.errors.ProjectUnusable: (all methods) a file can't be written.
    """

    def __init__(
        self,
        folder: Path,
        files: Iterable[StateFile] = (),
        *,
        setup: object = None,
        log: LoopLog | None = None,
        live: str = "",
        live_name: str = USUAL.live,
        now: Callable[[], float] = time.time,
        on_log: Callable[[Level, str], None] = lambda _level, _line: None,
        logs: Path | None = None,
    ) -> None:
        self.folder = folder
        self.logs = folder / "logs" if logs is None else logs
        self.now = now
        self._tables = ((self.logs, _RECORDS), (folder, (*_STATE, *files)))
        self._setup = setup
        self._log = log
        self._title = live
        self._live = LiveLog(folder / live_name, now=now)
        self._on_log = on_log
        self.run = ("", "")
        self._state: Any = None

    def open(self, active: ActiveRun, state: object) -> None:
        """Begin a run; temporary files of one that was killed are swept up."""
        self.run, self._state = (active.run_id, active.tool), state
        with usable("the folder for logs"):
            make_folder(self.logs)
        sweep(self.folder, self.logs)

    def record(self, event: LoopEvent) -> None:
        self._state = getattr(event, "state", self._state)
        if isinstance(event, IterationStarted) and self._title:
            self._live.begin(self._title.format(event.iteration))
        elif isinstance(event, IterationEnded | LoopInterrupted):
            self._live.close()
        facts = self._facts(event)
        for folder, files in self._tables:
            for file in files:
                if isinstance(event, file.events):
                    path = folder / file.name.format(**_fields(event)) if "{" in file.name else folder / file.name
                    _write(path, file, file.document(facts))
        if self._log is not None:
            for level, line in self._log.lines(facts):
                self.log(level, line, quiet=isinstance(event, DenialHelp))

    def log(self, level: Level, line: str, *, quiet: bool = False) -> None:
        """Write a line to the log; `quiet`: it is shown already."""
        assert self._log is not None
        path, log = self.folder / self._log.name, self._log
        written = log_line(path, level, line, self.now(), max_bytes=log.most, keep=log.kept)
        if not quiet:
            self._on_log(level, written)

    def show(self, data: bytes) -> None:
        self._live.write(data)

    def close(self) -> None:
        self._live.close()

    def _facts(self, event: LoopEvent) -> Facts:
        return Facts(
            event=event,
            state=self._state,
            setup=self._setup,
            now=self.now(),
            run=self.run,
            read=lambda name: json_files.read_text(self.folder / name),
        )


def _fields(event: LoopEvent) -> dict[str, object]:
    return {each: getattr(event, each) for each in event.__dataclass_fields__}  # type: ignore[attr-defined]


def _write(path: Path, file: StateFile, document: Document) -> None:
    if document is LEAVE:
        return
    if file.most is not None:
        line = document if isinstance(document, str) else json_files.to_json(document, compact=True)
        append_line(path, line, max_bytes=file.most, keep=file.kept)
    elif document is None:
        json_files.delete(path)
    elif isinstance(document, str | bytes):
        json_files.write_text(path, document)
    else:
        json_files.write_json(path, document)
