"""Where a swarm stands, and what can be done about it, for people and programs who look. Nothing is written."""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge import errors
from bridge.base import timestamps
from bridge.base.amounts import whole
from bridge.base.files import lenient, open_file
from bridge.base.git.repository import find_repository
from bridge.loop.engine.lock import standing
from bridge.loop.sandbox.admitted import OF_SWARMS
from bridge.loop.swarm.folder import asked_to_stop
from bridge.loop.swarm.swarm_record import PULLED, read_swarm
from bridge.scripts.stream.analysis import PermanentReason

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.base.git.repository import Repository
    from bridge.loop.swarm.swarm_record import SwarmRecord, TaskRecord

NEXT_STEPS = {
    "conflict": "merge {branch} by hand, or `ralph-bridge swarm resume {run} --retry conflict`",
    "check failed": "look at {log}; mend {branch}, or `ralph-bridge swarm resume {run} --retry 'check failed'`",
    "incomplete": "look at {branch}, then `ralph-bridge swarm resume {run} --retry incomplete`",
    "timeout": "look at {branch}, then `ralph-bridge swarm resume {run} --retry timeout`",
    "failed": "look at {log}, then `ralph-bridge swarm resume {run} --retry failed`",
    "lost": "look at {branch}, then `ralph-bridge swarm resume {run} --retry lost`",
    "not pushed": "see to that, then `ralph-bridge swarm resume {run}`; by hand: git push origin {pull}",
    "checks failed": "look at {url}; `ralph-bridge swarm resume {run}` looks at it again, and with"
    " `--retry 'checks failed'` has it mended again",
    "unfinished": "see to that at {url}; `ralph-bridge swarm resume {run}` looks at it again",
    "closed": "`ralph-bridge swarm resume {run} --retry closed` begins it anew",
    "interrupted": "`ralph-bridge swarm resume {run}` goes on",
    "skipped": "see to what it needs, then `ralph-bridge swarm resume {run}`",
    "": "`ralph-bridge swarm resume {run}` starts it",
}
"""What can be done about a task that isn't merged."""

_PULL = ("number", "url", "state", "draft")
_TAIL = 32 * 1024
"""Bytes at the end of a worker's events that are looked at for its last words."""


PERMANENT = frozenset(PermanentReason)
"""Why a task ends whose CLI can't be used as it is: no other task will get further."""


def unfit(task: TaskRecord) -> int:
    """The exit code (2, 4) of what kept a task's loop from beginning, or from using its CLI, as it will
    others; else 0."""
    if task.outcome == "incomplete" and task.reason in PERMANENT:
        return 4
    if task.outcome != "failed" or task.turns:
        return 0
    code = getattr(getattr(errors, task.reason, None), "exit_code", 0)
    return code if code in (2, 4) else 0


def next_step(record: SwarmRecord, task: TaskRecord, folder: Path) -> str:
    log = folder / "tasks" / task.task.id / ("check.log" if task.outcome == "check failed" else "worker.log")
    ended = {"done": task.outcome, "watched": "interrupted"}.get(task.step, "")
    step = NEXT_STEPS.get(ended, NEXT_STEPS[""])
    return step.format(url=task.pull.get("url"), branch=task.branch, pull=task.pull_branch, run=record.run, log=log)


def outcome_of(task: dict[str, Any]) -> str:
    """What became of a task, as :func:`shown` gives it, in words; of a pull request what became of that."""
    pull = task["pull_request"]
    if pull and task["step"] == "watched":
        return f"pull request #{pull['number']}, checks {task['checks'] or 'unknown'}"
    if not pull or task["outcome"] != PULLED:
        return str(task["outcome"] or task["step"])
    state = "draft" if pull["draft"] and pull["state"] == "OPEN" else pull["state"].lower()
    return f"pull request #{pull['number']}, {state}"


def shown(record: SwarmRecord, folder: Path) -> dict[str, Any]:
    where = standing(folder)
    tasks = []
    for each in record.tasks:
        events = folder / "tasks" / each.task.id / "events.jsonl"
        live = _live(events) if each.step == "running" else {}
        lost = each.step == "running" and not where.running
        seconds = each.seconds_by(_last_sign(events, each.began or 0.0) if lost else time.time())
        tasks.append(
            {
                "id": each.task.id,
                "title": each.task.title,
                "needs": list(each.task.needs),
                "step": "interrupted" if lost else each.step,
                "outcome": each.outcome or None,
                "reason": each.reason or None,
                "detail": each.detail or None,
                "attempt": each.attempt,
                "worker": each.worker if each.worker >= 0 else None,
                "turn": live.get("turn") or each.turns or None,
                "turns": each.turns,
                "last": live.get("last"),
                "seconds": None if seconds is None else round(seconds, 3),
                "cost_usd": each.cost_usd,
                "tokens": each.tokens,
                "branch": each.branch or None,
                "kept": [*each.older, *each.kept],
                "tree": each.tree or None,
                "unsaved": each.unsaved or None,
                "merge": each.merge or None,
                "pull_request": {name: each.pull.get(name) for name in _PULL} if each.pull else None,
                "checks": each.checks or None,
                "rounds": each.rounds,
                "said": each.said or None,
                "untold": each.untold or None,
                "next": None
                if each.merged or each.step in ("running", "saved") or (each.step == "watched" and where.running)
                else next_step(record, each, folder),
            }
        )
    return {
        "run": record.run,
        "state": where.word,
        "holder": where.run.pid if where.running and where.run is not None else None,
        "project": record.project,
        "branch": record.branch,
        "base": record.base,
        "began": timestamps.iso(record.began),
        "ended": None if record.ended is None else timestamps.iso(record.ended),
        "end": record.end,
        "jobs": record.jobs,
        "stopping": asked_to_stop(folder) or None,
        "merged": sum(each.merged for each in record.tasks),
        "cost_usd": record.cost_usd,
        "tokens": record.tokens,
        "into": record.into or None,
        "landed": record.landed or None,
        "source": record.source or None,
        "write_back": record.write_back,
        "pull_requests": {"repository": record.repository, "draft": record.draft, "watch": record.watch}
        if record.pull_requests
        else None,
        "tasks": tasks,
    }


# -- of a single loop ----------------------------------------------------------------------------------


def pull_folder(common: Path, branch: str) -> Path:
    """Where `run --pull-request` puts down how a branch stands, in the git folder that all work trees share."""
    return common / OF_SWARMS / "pull" / hashlib.sha256(branch.encode("utf-8", "replace")).hexdigest()[:16]


def pull_of(folder: Path) -> dict[str, Any] | None:
    """The pull request of the branch that is checked out, as `run --pull-request` has put it down; None: none."""
    git, common = _where_pulls_are(folder)
    return None if git is None or common is None else _pull(common, git.branch())


def pulls_of(folder: Path) -> Callable[[str, float], dict[str, Any] | None]:
    """Give what finds the pull request of a branch, by its name, for a run that began then (seconds since the
    epoch): one that isn't newer than that run. git is asked once.
    """
    _git, common = _where_pulls_are(folder)
    return lambda branch, began: None if common is None else _pull(common, branch, began)


def _where_pulls_are(folder: Path) -> tuple[Repository | None, Path | None]:
    git = find_repository(folder)
    common = "" if git is None else git.run("rev-parse", "--path-format=absolute", "--git-common-dir").text
    return git, Path(common) if common and (Path(common) / OF_SWARMS).is_dir() else None


def _pull(common: Path, branch: str, since: float | None = None) -> dict[str, Any] | None:
    record = read_swarm(pull_folder(common, branch))
    if record is None or not (task := record.tasks[0]).pull:
        return None
    if since is not None and (task.began or 0.0) > since:
        return None
    facts = {name: getattr(task, name) or None for name in ("checks", "step", "outcome", "detail")}
    return {name: task.pull[name] for name in _PULL} | facts | {"rounds": task.rounds}


def _last_sign(events: Path, began: float) -> float:
    """When a worker has reported last."""
    with suppress(OSError):
        return max(events.stat().st_mtime, began)
    return began


def _live(events: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in _last_lines(events):
        with suppress(ValueError, AttributeError, RecursionError):
            event = json.loads(line)
            if event.get("event") in ("turn", "line"):
                found["turn"] = whole(event.get("turn")) or found.get("turn")
                found["last"] = str(event.get("text") or "") or found.get("last")
    return found


def _last_lines(path: Path) -> list[bytes]:
    with lenient(), open_file(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _TAIL, 0))
        return file.read().splitlines()[-50:]
    return []
