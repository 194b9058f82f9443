"""The loops of a project, whatever their setup: which one is at work, or ran last, and where it stands."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from bridge.base import timestamps
from bridge.base.files import stays_inside
from bridge.loop.engine.inbox import Inbox
from bridge.loop.engine.lock import standing
from bridge.loop.engine.logs import last_words
from bridge.loop.engine.run_record import read_run
from bridge.loop.engine.set_aside import Aside
from bridge.loop.setups import PLAIN, detect, kinds
from bridge.loop.setups.setup_kind import written

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.base.git.repository import Files
    from bridge.loop.engine.lock import Standing
    from bridge.loop.setups.setup_kind import Older, Setup, SetupKind


@dataclass(frozen=True, slots=True)
class LoopPlace:
    """A loop that a project has, or could have; `state` is the folder of its lock and its record."""

    kind: str
    project: Path
    state: Path
    setup: Setup | None = None

    @property
    def own(self) -> SetupKind:
        return kinds()[self.kind]

    @property
    def logs(self) -> Path:
        return self.state / self.own.logs

    @property
    def files(self) -> Files:
        return self.own.own_files(self.project, self.project if self.setup is None else self.setup.home)

    @property
    def texts(self) -> tuple[Path, ...]:
        return self.own.texts(self.state)

    @property
    def steps(self) -> Path | None:
        return self.state / self.own.steps if self.own.steps else None

    @property
    def last_active(self) -> float:
        """When it was last at work, as far as its files tell, in seconds since the epoch; 0: never."""
        run = read_run(self.state)
        return max(run.changed if run else 0.0, written(self.own.traces(self.project, self.state)))


def the_loop(project: Path, kind: str, setup: Setup | None = None) -> LoopPlace:
    return LoopPlace(kind, project, kinds()[kind].state(project, setup), setup)


def loop_at(project: Path, state: Path) -> LoopPlace | None:
    """The loop of a project whose state lies in that folder; None: it has none there."""
    found = next((each for each in _loops(project) if each.state == state), None)
    return found and _as_recorded(found)


def find_loop(project: Path) -> LoopPlace | None:
    """The loop that is at work in a project, else the one that ran last, else None."""
    found = _loops(project)
    for each in found:
        if standing(each.state).running:
            return _as_recorded(each)
    last = max(found, key=lambda each: each.last_active)
    return _as_recorded(last) if last.last_active else None


def _as_recorded(loop: LoopPlace) -> LoopPlace:
    """The same, of the kind that its last run says, where that one keeps its state in this folder, too."""
    run, every = read_run(loop.state), kinds()
    if run is None or run.setup == loop.kind or run.setup not in every:
        return loop
    return (
        loop
        if every[run.setup].state(loop.project, None) != loop.state
        else replace(loop, kind=run.setup, setup=None)
    )


def _loops(project: Path) -> list[LoopPlace]:
    setups = detect(project)
    found = [the_loop(project, PLAIN if setup.bare else setup.name, setup) for setup in setups]
    plain = the_loop(project, PLAIN)
    if not any(each.state == plain.state for each in found):
        found.append(plain)
    begun = [name for name, kind in kinds().items() if kind.installation is None and name != PLAIN]
    # No loop keeps its state where a link leads out; but whoever has that loop alone is to be told why.
    others = [the_loop(project, name) for name in begun]
    return found + [each for each in others if not setups or stays_inside(each.state, root=project)]


def overview(loop: LoopPlace, now: float) -> dict[str, Any]:
    """Return where a loop stands, ready for JSON: what its setup's overview says, and of every setup alike

    setup, running, state (``none`` has run yet, ``starting``, ``running``, ``waiting``, ``ended``, ``killed``;
    ``session``: a session keeps it going), turn (under way, or the last one), tool, task (of several),
    holder{pid, since, command}, waiting{reason, detail, until}, look{kind (``check``, ``review``), by, since}
    (under way), aside (files of the user's that a task's loop, since killed, has put aside),
    context{tokens, window, rotated} (of the session behind the last turn, where its CLI says so),
    ended{reason, at, detail} (of a killed one the reason is None, and `at` its last sign of life),
    last (the agent's last sentence while it is at work),
    messages and pause (what waits for its next turn, see :meth:`bridge.loop.engine.inbox.Inbox.overview`).
    """
    where = standing(loop.state)  # first: a loop writes its files before it lets go of its lock
    seen, older = loop.own.overview(loop.project, loop.setup, loop.state, now)
    common = _common(where, written(loop.texts))
    if older is not None and not where.running and _knows_more(older, where):
        over = older.state in ("ended", "killed")
        detail = where.run.detail if where.run is not None and where.run.end == older.reason else ""
        common |= {"state": older.state, "ended": _ended(older.reason, older.at, detail) if over else None}
    if seen["running"] and not where.running:  # the original controller, which has no lock of ours
        common |= {
            "state": "running",
            "ended": None,
            "turn": None,
            "tool": None,
            "task": None,
            "holder": seen["holder"],
        }
    common["running"] = where.running or seen["running"]
    common["last"] = last_words(*loop.texts) if common["state"] == "running" else None
    common["aside"] = Aside(loop.project, loop.state).forgotten()
    if "stale" in seen:
        common["stale"] = seen["stale"] and not where.running
    common |= Inbox(loop.logs).overview(now, running=common["running"])
    return seen | {"setup": loop.kind} | common


def _knows_more(older: Older, where: Standing) -> bool:
    """Whether what a setup's own files say is newer than our record."""
    if where.run is None:
        return True
    return older.at >= where.run.changed and not where.word == older.state == "killed"


def _common(where: Standing, written: float) -> dict[str, Any]:
    run = where.run if where.word != "starting" else None
    holder = run if where.running else None
    look = run.look if run is not None and where.word == "running" else None
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
        "task": run.task if run and run.task else None,
        "holder": None
        if not where.running
        else {
            "pid": holder.pid if holder else None,
            "since": timestamps.iso(holder.since) if holder else None,
            "command": holder.command if holder else None,
        },
        "waiting": pause and {"reason": pause.reason, "detail": pause.detail, "until": timestamps.iso(pause.until)},
        "context": run and run.context and asdict(run.context),
        "look": look and {"kind": look.kind, "by": look.by, "since": timestamps.iso(look.since)},
        "ended": ended,
    }


def _ended(reason: str | None, at: float, detail: str = "") -> dict[str, Any]:
    return {"reason": reason, "at": timestamps.iso(at), "detail": detail or None}
