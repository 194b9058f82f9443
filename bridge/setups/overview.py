"""The loops of a project, whatever their setup: which one is at work, or ran last, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from bridge import timestamps
from bridge.errors import ConfigurationError
from bridge.loop.follow import last_words
from bridge.loop.runs import read_run
from bridge.loop.standing import standing
from bridge.setups.dot_ralph.folder import locate, own_files
from bridge.setups.plain import settings as plain
from bridge.setups.ralph_loop import store as ralph_loop
from bridge.setups.wiggum import files as wiggum
from bridge.setups.wiggum.files import Layout

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bridge.git.repository import Files
    from bridge.loop.standing import Standing
    from bridge.setups.dot_ralph.folder import Folder
    from bridge.setups.model import Setup

Kind = Literal["plain", "bmalph", "ralph-loop", "frankbria", "wiggum"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class LoopPlace:
    """A loop that a project has, or could have.

    Attributes:
        kind: of its setup.
        project: the project's folder.
        state: the folder of its lock and its record.
        setup: where it is one that is detected.
    """

    kind: Kind
    project: Path
    state: Path
    setup: Setup | None = None

    @property
    def logs(self) -> Path:
        """The folder of the logs, with the records of turns and runs."""
        return self.state if self.kind == "ralph-loop" else self.state / "logs"

    @property
    def files(self) -> Files:
        """Which files of the project are the loop's own, and so no work."""
        match self.kind:
            case "plain":
                return plain.FILES
            case "wiggum":
                return wiggum.FILES
            case "ralph-loop":
                return ralph_loop.own_files(self.state.parent, self.project)
            case _:
                return own_files(locate(self.project))

    @property
    def texts(self) -> tuple[Path, ...]:
        """What the agent says: the newest file of each kind that there is."""
        match self.kind:
            case "ralph-loop":
                return _newest(self.state, "session-*.log")
            case "wiggum":
                return _newest(self.state / "logs", "iteration_*.log")
            case _:
                return (self.state / "live.log",)

    @property
    def steps(self) -> Path | None:
        """A log of its steps, where there is one for people."""
        return self.state / "logs" / "loop.log" if self.kind == "wiggum" else None

    @property
    def last_active(self) -> float:
        """When it was last at work, as far as its files tell, in seconds since the epoch; 0: never."""
        run = read_run(self.state)
        return max(run.changed if run else 0.0, _written(self._signs))

    @property
    def _signs(self) -> tuple[Path, ...]:
        match self.kind:
            case "ralph-loop":
                return self.texts
            case "wiggum":
                layout = Layout(self.project)
                return (layout.state, layout.plugin, layout.folder / "archive")
            case _:
                return (self.state / "status.json",)


def the_loop(project: Path, kind: str, setup: Setup | None = None) -> LoopPlace:
    """Return the loop of one kind.

    Args:
        project: the project's folder.
        kind: one of `KINDS`.
        setup: of a ralph-loop or bmalph project.
    """
    if kind == "wiggum":
        return LoopPlace("wiggum", project, Layout(project).folder)
    if kind == "ralph-loop" and setup is not None:
        return LoopPlace("ralph-loop", project, setup.home / "logs", setup)
    if kind == "frankbria":
        return LoopPlace("frankbria", project, project / ".ralph", setup)
    return LoopPlace("bmalph" if kind == "bmalph" else "plain", project, locate(project).path, setup)


def loop_at(project: Path, state: Path) -> LoopPlace | None:
    """Return the loop of a project whose state lies in that folder; None: it has none there."""
    return next((each for each in _loops(project) if each.state == state), None)


def find_loop(project: Path) -> LoopPlace | None:
    """Return the loop that is at work in a project, else the one that ran last, else None.

    Raises:
        bridge.errors.ProjectUnusable: a lock can't be looked at.
    """
    found = _loops(project)
    for each in found:
        if standing(each.state).running:
            return each
    last = max(found, key=lambda each: each.last_active)
    return last if last.last_active else None


def _loops(project: Path) -> list[LoopPlace]:
    """Every loop that a project has, or could have."""
    from bridge.setups import detect

    found = [the_loop(project, _kind(setup), setup) for setup in detect(project)]
    if not any(each.kind in ("plain", "bmalph", "frankbria") for each in found):
        found.append(the_loop(project, "plain"))
    return [*found, the_loop(project, "wiggum")]


def _kind(setup: Setup) -> str:
    from bridge.setups.bmalph.layout import look

    bare = setup.name == "bmalph" and look(locate(setup.project)).flavour == "bare"
    return "plain" if bare else setup.name


def overview(loop: LoopPlace, now: float) -> dict[str, Any]:
    """Return where a loop stands, ready for JSON: what its setup's overview says, and of every setup alike

    setup, running, state (``none`` has run yet, ``starting``, ``running``, ``waiting``, ``ended``, ``killed``;
    ``session``: a session keeps it going), turn (under way, or the last one), tool, holder{pid, since, command},
    waiting{reason, detail, until}, ended{reason, at, detail} (of a killed one the reason is None, and `at` its last
    sign of life), last (the last sentence of the agent while it is at work).

    Args:
        loop: which one.
        now: the time.

    Raises:
        bridge.errors.BridgeError: its state can't be read.
    """
    where = standing(loop.state)  # first: a loop writes its files before it lets go of its lock
    seen, older = _own(loop, now)
    common = _common(where, _written(loop.texts))
    if older is not None and not where.running and _knows_more(older, where):
        over = older.state in ("ended", "killed")
        detail = where.run.detail if where.run is not None and where.run.end == older.reason else ""
        common |= {"state": older.state, "ended": _ended(older.reason, older.at, detail) if over else None}
    if seen["running"] and not where.running:  # the original controller, which has no lock of ours
        common |= {"state": "running", "ended": None, "turn": None, "tool": None, "holder": seen["holder"]}
    common["running"] = where.running or seen["running"]
    common["last"] = last_words(*loop.texts) if common["state"] == "running" else None
    if "stale" in seen:
        common["stale"] = seen["stale"] and not where.running
    return seen | {"setup": loop.kind} | common


def _knows_more(older: _Older, where: Standing) -> bool:
    """Whether what a setup's own files say is newer than our record."""
    if where.run is None:
        return True
    return older.at >= where.run.changed and not where.word == older.state == "killed"


def _common(where: Standing, written: float) -> dict[str, Any]:
    run = where.run if where.word != "starting" else None
    holder = run if where.running else None
    pause = run.pause if run is not None and where.word == "waiting" else None
    ended = None
    if run is not None and where.word == "ended":
        ended = _ended(run.end, run.changed, run.detail)
    elif run is not None and where.word == "killed":
        ended = _ended(None, max(run.changed, written))
    return {
        "state": where.word,
        "turn": run.turn if run and run.turn else None,
        "tool": run.tool if run and run.tool else None,
        "holder": None
        if not where.running
        else {
            "pid": holder.pid if holder else None,
            "since": timestamps.iso(holder.since) if holder else None,
            "command": holder.command if holder else None,
        },
        "waiting": pause and {"reason": pause.reason, "detail": pause.detail, "until": timestamps.iso(pause.until)},
        "ended": ended,
    }


def _ended(reason: str | None, at: float, detail: str = "") -> dict[str, Any]:
    return {"reason": reason, "at": timestamps.iso(at), "detail": detail or None}


class _Older(NamedTuple):
    """What a setup's own files say of a loop that our record may not know of."""

    state: str
    reason: str | None
    at: float


_Own = tuple[dict[str, Any], _Older | None]


def _own(loop: LoopPlace, now: float) -> _Own:
    """The overview of a loop's setup; and what its files say of its end."""
    if loop.kind == "wiggum":
        return _wiggum(loop)
    if loop.kind == "ralph-loop":
        return _ralph_loop(loop)
    from bridge.setups.bmalph.overview import overview as bmalph

    seen = bmalph(_folder(loop), now)
    at = timestamps.parse_iso(seen["updated"])
    if at is None:
        return seen, None
    if seen["stale"]:
        return seen, _Older("killed", None, at)
    return seen, _Older("ended", seen["exit_reason"], at) if seen["exit_reason"] and not _has_record(loop) else None


def _folder(loop: LoopPlace) -> Folder:
    if loop.kind == "frankbria":
        from bridge.setups.frankbria.layout import folder_of

        return folder_of(loop.project)
    return locate(loop.project)


def _ralph_loop(loop: LoopPlace) -> _Own:
    from bridge.setups.ralph_loop.overview import last_session
    from bridge.setups.ralph_loop.overview import overview as ralph_loop

    if loop.setup is None:
        raise ConfigurationError(f"{loop.project} holds no ralph-loop setup")
    seen, last = ralph_loop(loop.setup), last_session(loop.setup.home)
    run = read_run(loop.state)
    # A log that our record doesn't know of is that of a session of the original controller.
    if last is None or (run is not None and last.began.timestamp() <= run.changed + 2):
        return seen, None
    return seen, _Older("ended" if last.ending else "killed", last.ending or None, _written([last.log]))


def _wiggum(loop: LoopPlace) -> _Own:
    from bridge.setups.wiggum.controls import overview as wiggum

    seen = wiggum(Layout(loop.project))
    if seen["iteration"] is None:
        return seen, None
    at = timestamps.parse_iso(seen["updated_at"]) or 0.0
    if seen["mode"] == "hook" and not seen["outcome"]:
        return seen, _Older("session", None, float("inf"))
    if seen["outcome"]:  # it may have been closed by hand since
        return seen, _Older("ended", seen["outcome"], at)
    return seen, None if _has_record(loop) else _Older("killed", None, at)


def _has_record(loop: LoopPlace) -> bool:
    return read_run(loop.state) is not None


def _newest(folder: Path, pattern: str) -> tuple[Path, ...]:
    # By time: numbers begin anew with each run.
    newest = max(folder.glob(pattern), key=lambda path: (_written([path]), path.name), default=None)
    return () if newest is None else (newest,)


def _written(paths: Iterable[Path]) -> float:
    times = [0.0]
    for path in paths:
        try:
            times.append(path.stat().st_mtime)
        except OSError:
            continue
    return max(times)
