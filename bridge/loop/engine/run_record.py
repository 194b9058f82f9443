"""Runs by id: ``.ralph_bridge.json`` says which loop is at work, or was, where it stands, and how it ended.

What a crashed run has left can so be told from what a living one says (trap T7). Each loop at work also leaves a
record where ``watch --all`` finds it, until it ends: in ``$XDG_STATE_HOME/ralph-bridge/loops/``. No loop depends on
those: one that can't be written isn't.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base import timestamps
from bridge.base.amounts import amount, whole
from bridge.base.files import LEFTOVER, keep_private, make_private
from bridge.base.json_files import delete, read_object, usable, write_json
from bridge.base.process import leftovers
from bridge.base.process.table import Identity, alive, identify
from bridge.base.records import dataclass
from bridge.base.resources import state_folder
from bridge.errors import BridgeError
from bridge.loop.engine.turn_records import NOTHING, SESSIONS, Spent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FILE = ".ralph_bridge.json"


@dataclass(frozen=True, slots=True)
class Pause:
    """The loop waits.

    Attributes:
        reason: ``retry``, ``api_limit``, ``rate_limit``, ...
        detail: a sentence for people.
        until: when it goes on, in seconds since the epoch.
    """

    reason: str
    detail: str
    until: float


@dataclass(frozen=True, slots=True)
class Look:
    """What was done is looked at.

    Attributes:
        kind: ``check`` or ``review``.
        by: the check's command, or the tool that reviews.
        since: when that began, in seconds since the epoch.
    """

    kind: str
    by: str
    since: float


@dataclass(frozen=True, slots=True)
class SessionContext:
    """How full the context of the session was behind the last turn that said so.

    Attributes:
        tokens: that it holds.
        window: that it can hold; None: unknown.
        rotated: that was too much: the next turn begins a fresh session.
    """

    tokens: float
    window: float | None
    rotated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run of the loop.

    Attributes:
        run_id: unlike that of any other run.
        pid, started, boot: the loop's process, see :class:`~bridge.base.process.table.Identity`.
        since: when it began, in seconds since the epoch.
        command: its command line.
        agent: the same three of the tool's process, or None.
        end: why it ended, when it ended in order; else None.
        detail: the same for people.
        tool: what it runs, such as ``driver codex``.
        turn: the turn that is under way, or was the last one; 0 before the first.
        turn_began: when that one began, in seconds since the epoch.
        pause: the loop waits; None: it doesn't.
        look: a check or a review is under way; None: none is.
        spent: tokens and money that it has used, those of the runs that it goes on with included.
        caps: what it may use, by the names of :class:`bridge.loop.engine.caps.Caps`.
        context: how full its session is; None: not known.
        changed: when this was last written, in seconds since the epoch.
        trace: where its spans belong, as ``TRACEPARENT`` has it; ''.
        task: which of several tasks it is about, for people; ''.
        setup: the kind of setup that it is a loop of, where other kinds keep their state in the same folder; ''.
    """

    run_id: str
    pid: int
    started: str
    boot: str
    since: float
    command: str
    agent: Identity | None = None
    end: str | None = None
    tool: str = ""
    turn: int = 0
    turn_began: float = 0.0
    pause: Pause | None = None
    look: Look | None = None
    spent: Spent = NOTHING
    caps: dict[str, float] = field(default_factory=dict)
    context: SessionContext | None = None
    changed: float = field(default=0.0, compare=False)
    detail: str = ""
    trace: str = ""
    task: str = ""
    setup: str = ""

    @property
    def alive(self) -> bool:
        return alive(Identity(self.pid, self.started, self.boot))

    @property
    def cut_off(self) -> bool:
        """Whether it was killed, or ended by a signal or an error: who starts the loop again goes on with it."""
        return self.end is None or self.end == "interrupted" or self.end.startswith(("SIG", "error:"))


def read_run(folder: Path) -> RunRecord | None:
    record = read_object(folder / FILE) or {}
    agent, pause, look = record.get("agent"), record.get("pause"), record.get("look")
    with suppress(TypeError, ValueError, KeyError, OverflowError, AttributeError):
        return RunRecord(
            run_id=str(record["run_id"]),
            pid=int(record["pid"]),
            started=str(record["started"]),
            boot=str(record["boot"]),
            since=timestamps.parse_iso(record["since"]) or 0.0,
            command=str(record["command"]),
            agent=Identity(int(agent["pid"]), str(agent["started"]), str(agent["boot"])) if agent else None,
            end=None if record.get("end") is None else str(record["end"]),
            tool=str(record.get("tool") or ""),
            turn=whole(record.get("turn")) or 0,
            turn_began=timestamps.parse_iso(record.get("turn_began")) or 0.0,
            pause=Pause(str(pause["reason"]), str(pause["detail"]), timestamps.parse_iso(pause["until"]) or 0.0)
            if pause
            else None,
            look=Look(str(look["kind"]), str(look["by"]), timestamps.parse_iso(look["since"]) or 0.0)
            if look
            else None,
            spent=_spent(record.get("spent")),
            caps={name: float(cap) for name, value in (record.get("caps") or {}).items() if (cap := amount(value))},
            context=_context(record.get("context")),
            changed=timestamps.parse_iso(record.get("changed")) or 0.0,
            detail=str(record.get("detail") or ""),
            trace=str(record.get("trace") or ""),
            task=str(record.get("task") or "")[:300],
            setup=str(record.get("setup") or ""),
        )
    return None


def _context(found: Any) -> SessionContext | None:
    tokens = amount(found.get("tokens")) if isinstance(found, dict) else None
    return (
        None if tokens is None else SessionContext(tokens, amount(found.get("window")), bool(found.get("rotated")))
    )


def _spent(found: Any) -> Spent:
    if not isinstance(found, dict):
        return NOTHING
    cost, tokens, hour = (float(amount(found.get(name)) or 0) for name in ("cost_usd", "tokens", "hour_tokens"))
    return Spent(cost, tokens, str(found.get("hour")), hour, tuple(_counts(found.get("sessions"))))


def _counts(found: Any) -> Iterator[tuple[str, tuple[float, ...]]]:
    for each in found[-SESSIONS:] if isinstance(found, list) else ():
        if isinstance(each, list) and len(each) == 2 and isinstance(each[1], list):
            yield str(each[0]), tuple(float(amount(count) or 0) for count in (*each[1], 0, 0, 0)[:3])


def begin_run(
    folder: Path,
    *,
    command: Sequence[str],
    now: float,
    tool: str = "",
    spent: Spent = NOTHING,
    task: str = "",
    setup: str = "",
) -> RunRecord:
    """Begin a run, with the project's lock held, and write its record.

    Args:
        folder: the folder of the loop's state; it exists.
        command: the command line, for whoever finds the lock held.
        spent: what the run before it had used, as far as that counts for this one.
        task: which of several tasks it is about.
        setup: see :class:`RunRecord`.
    """
    me = identify()
    run = RunRecord(
        run_id=f"{int(now)}-{os.urandom(4).hex()}",
        **me._asdict(),
        since=now,
        command=" ".join(command)[:500],
        tool=tool,
        spent=spent,
        task=task,
        setup=setup,
    )
    write_run(folder, run, now=now)
    return run


def write_run(folder: Path, run: RunRecord, *, now: float, **changes: Any) -> RunRecord:
    run = replace(run, **changes)
    record: dict[str, Any] = {
        "schema": 1,
        **asdict(run),
        "since": timestamps.iso(run.since),
        "turn_began": timestamps.iso(run.turn_began),
        "changed": timestamps.iso(now),
    }
    record["spent"] = run.spent._asdict()
    record["agent"] = run.agent._asdict() if run.agent else None
    if run.pause is not None:
        record["pause"]["until"] = timestamps.iso(run.pause.until)
    if run.look is not None:
        record["look"]["since"] = timestamps.iso(run.look.since)
    write_json(folder / FILE, record, mode=0o600)  # the command line in it may hold what is private
    return run


def end_leftovers(project: Path, before: RunRecord | None) -> tuple[str, ...]:
    """End what the tool of a run that did not end in order has left; one that did has seen to its own.

    Args:
        before: the last run, or None.

    Returns:
        What people should be told.
    """
    if before is None or before.end is not None:
        return ()
    known = [before.agent.pid] if before.agent is not None and alive(before.agent) else []
    ended = leftovers.end(project, known, leftovers.ALL_MARKS)
    return (f"an agent that run {before.run_id} had left behind was ended",) if ended else ()


def sweep(*folders: Path) -> None:
    for folder in folders:
        with usable(folder):
            for name in os.listdir(folder) if folder.is_dir() else ():
                if LEFTOVER.fullmatch(name):
                    delete(folder / name)


# -- the loops of this machine's user -----------------------------------------------------------------


class Registered(NamedTuple):
    """A loop that says that it is at work.

    Attributes:
        run_id: of its run.
        process: its own.
        project: its project's folder.
        state: the folder of its lock and its record.
    """

    run_id: str
    process: Identity
    project: Path
    state: Path


def registry() -> Path:
    """The folder of the records; it need not exist.

    Raises:
        bridge.errors.ConfigurationError: nobody knows the user's home.
    """
    return state_folder() / "loops"


@contextmanager
def registered(run: RunRecord, project: Path, state: Path) -> Iterator[None]:
    path: Path | None = None
    with suppress(BridgeError, OSError):
        path = registry() / f"{run.run_id}.json"
        make_private(path.parent)
        with suppress(OSError):  # one of an earlier version; not a link of the user's
            keep_private(state_folder())
        _sweep(path.parent)
        process = {"pid": run.pid, "started": run.started, "boot": run.boot}
        write_json(path, {"schema": 1, "run": run.run_id, **process, "project": f"{project}", "state": f"{state}"})
    try:
        yield
    finally:
        if path is not None:
            with suppress(BridgeError):
                delete(path)


def loops(folder: Path) -> list[Registered]:
    return [found for path in _records(folder) if (found := _read(path)) is not None and alive(found.process)]


def _sweep(folder: Path) -> None:
    for path in _records(folder):
        found = _read(path)
        if found is None or not alive(found.process):
            delete(path)


def _records(folder: Path) -> list[Path]:
    """The files of the records, the oldest first; ids of one second tell nothing about their order."""
    found: list[tuple[int, Path]] = []
    for path in folder.glob("*.json"):
        with suppress(OSError):  # its loop has ended just now
            found.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(found)]


def _read(path: Path) -> Registered | None:
    with suppress(BridgeError, KeyError, TypeError, ValueError):
        record = read_object(path) or {}
        process = Identity(int(record["pid"]), str(record["started"]), str(record["boot"]))
        return Registered(str(record["run"]), process, Path(record["project"]), Path(record["state"]))
    return None
