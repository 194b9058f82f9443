"""``wiggum start``: the files that a loop needs, and whether it goes on or begins."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError, LoopRefused, StateUnreadable
from bridge.files import write_atomic
from bridge.setups.wiggum import breaker as breakers
from bridge.setups.wiggum import files, turns
from bridge.setups.wiggum.breaker import BreakerSettings, cooled_at
from bridge.setups.wiggum.policy import EXIT_CODES, closed, stamp
from bridge.setups.wiggum.prompt import TEMPLATES, filled, template
from bridge.setups.wiggum.state import Checkpointing, Mode, State

if TYPE_CHECKING:
    from datetime import datetime

    from bridge.git.work import Probe
    from bridge.setups.wiggum.layout import Layout

__all__ = ["Prepared", "Request", "prepare"]

_NAME = 120
_OWN = (".claude/ralph-state.json", ".claude/ralph/", ".claude/.ralph-*", ".claude/ralph-loop.local.md")
_TRIPS = ("no_file_changes", "repeated_error", "output_decline", "stuck")


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for; None stands for "as before, else the default".

    Attributes:
        description: the task, in words.
        mode: who keeps the agent going.
        promise, max_iterations, max_minutes, breaker, checkpoints: see :class:`~bridge.setups.wiggum.state.State`.
        tool: likewise.
        session_id: the session that asks, or None.
        resume: go on with whatever state there is.
        fresh: begin anew, whatever state there is.
        force: write the templates anew; what was there is kept aside.
    """

    description: str | None = None
    mode: Mode = "outer"
    promise: str | None = None
    max_iterations: int | None = None
    max_minutes: float | None = None
    breaker: BreakerSettings | None = None
    checkpoints: Checkpointing | None = None
    tool: str | None = None
    session_id: str | None = None
    resume: bool = False
    fresh: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """A loop that may start: its state, saved; what people should know; whether it goes on."""

    state: State
    notices: tuple[str, ...]
    resumed: bool


def prepare(layout: Layout, probe: Probe, request: Request, now: datetime) -> Prepared:
    """Make everything ready for the first turn, or for the next one of a loop that was left.

    Raises:
        ConfigurationError: there is no task, or the promise is none.
        LoopRefused: the state is another task's or session's, or its circuit is open.
        ProjectUnusable: a file can't be written.
    """
    _check(layout, request)
    before, notices = _before(layout, request, now)
    state = None if before is None or request.fresh else _continued(layout, before, request, now)
    if state is None and before is not None and layout.state.exists():
        files.set_aside(layout, layout.state, stamp(now))
    _ready(layout, probe)
    files.uncancel(layout)
    notices += _templates(layout, request, now)
    if before is None or state is None:
        return _saved(layout, probe, _new(layout, request, now), notices, now)
    # A turn of the outer loop was killed. A session's may be under way: only its stop counts it.
    state, told = turns.recover(layout, probe, state, now) if before.mode == "outer" else (state, "")
    notices += [f"the loop goes on behind iteration {state.iteration}", *filter(None, [told])]
    return _saved(layout, probe, state, notices, now, resumed=True)


def _saved(
    layout: Layout, probe: Probe, state: State, notices: list[str], now: datetime, *, resumed: bool = False
) -> Prepared:
    if 0 < state.max_iterations <= state.iteration:
        over = closed(state, "max_iterations", f"maximum iterations ({state.max_iterations}) reached", now)
        files.save(layout, over)
        files.archive(layout, over)
        raise LoopRefused(
            f"all {state.max_iterations} iterations of this loop are used up\n"
            "  next: --max-iterations with a larger number, or --fresh to begin anew",
            EXIT_CODES["max_iterations"],
        )
    if probe.git is None:
        notices.append("no git repository here: no checkpoints; progress is told by the files' sizes and times")
    if state.mode == "hook" and state.turn is None:
        state = turns.begin(layout, probe, state, now)  # the turn that is under way in the session
    if f"<promise>{state.completion_promise}</promise>" not in (files.read_text(layout.prompt) or ""):
        notices.append(
            f"PROMPT.md doesn't say <promise>{state.completion_promise}</promise>: the agent may never give it"
        )
    files.save(layout, state)
    return Prepared(state, tuple(notices), resumed)


def _check(layout: Layout, request: Request) -> None:
    promise = request.promise
    if promise is not None and (not promise.strip() or "</promise>" in promise):
        raise ConfigurationError(f"--completion-promise {promise!r}: expected a text, such as DONE")
    if request.description is not None and not request.description.strip():
        raise ConfigurationError("the description is empty\n  next: describe the task, or leave it out")
    if request.description is None and not (files.read_text(layout.prompt) or "").strip():
        raise ConfigurationError(
            f"there is no task: {layout.prompt} is missing or empty\n"
            '  next: ralph-bridge wiggum start "what is to be done"'
        )


def _before(layout: Layout, request: Request, now: datetime) -> tuple[State | None, list[str]]:
    """Read the state of an earlier loop; one that can't be read is kept aside, nobody knows whose it was."""
    try:
        return files.load(layout), []
    except StateUnreadable as error:
        if request.resume:
            raise
        kept = files.set_aside(layout, layout.state, stamp(now))
        return None, [f"{str(error).splitlines()[0]}; it is kept as {kept}, the loop begins anew"]


def _continued(layout: Layout, before: State, request: Request, now: datetime) -> State | None:
    """Give the state to go on with; None to begin anew."""
    same = request.resume or _same_task(layout, before, request)
    if before.outcome is not None and not request.resume and not (same and before.outcome in _TRIPS):
        return None
    if not same:
        raise LoopRefused(
            f"{layout.state} is that of another task, in iteration {before.iteration}: {before.task_name or '?'}\n"
            "  next: --resume to go on with it, or --fresh to begin anew (the old state is kept aside)"
        )
    if _theirs(before, request):
        raise LoopRefused(
            f"this loop belongs to session {before.session_id}\n  next: --resume takes it over, --fresh begins anew"
        )
    breaker = breakers.prepare(before.breaker, request.breaker or before.breaker_settings, now)
    if breaker.is_open:
        until = cooled_at(breaker, before.breaker_settings)
        again = f"wait until {stamp(until)}, or " if until else ""
        raise LoopRefused(
            f"circuit breaker OPEN since {breaker.opened_at}: {breaker.reason}\n"
            f"  next: {again}ralph-bridge wiggum reset, or --fresh to begin anew",
            EXIT_CODES.get(before.outcome or breaker.trip, 1),
        )
    return _with_request(
        replace(before, breaker=breaker, outcome=None, reason="", exit_code=None, ended_at=None, blocks=0), request
    )


def _theirs(before: State, request: Request) -> bool:
    """Say whether another session may be at it just now."""
    both = before.mode == request.mode == "hook" and before.outcome is None
    named = before.session_id is not None and request.session_id is not None
    return both and named and before.session_id != request.session_id and not request.resume


def _with_request(state: State, request: Request) -> State:
    """Let what was asked for win over what the state says."""
    promised = request.promise is not None
    return replace(
        state,
        mode=request.mode,
        max_iterations=state.max_iterations if request.max_iterations is None else request.max_iterations,
        max_minutes=state.max_minutes if request.max_minutes is None else request.max_minutes,
        completion_promise=request.promise if request.promise is not None else state.completion_promise,
        plan_completes=state.plan_completes and not promised and request.mode == "outer",
        breaker_settings=request.breaker or state.breaker_settings,
        checkpoints=request.checkpoints or state.checkpoints,
        tool=request.tool or state.tool,
        session_id=request.session_id if request.mode == "hook" else None,
    )


def _new(layout: Layout, request: Request, now: datetime) -> State:
    prompt = files.read_text(layout.prompt) or ""
    items = files.read_plan(layout)
    state = State(
        task_name=_task_name(request, prompt),
        task_hash=_hash(request.description or prompt),
        prompt_hash=_hash(prompt),
        run_id=stamp(now).replace("-", "").replace(":", "") + "-" + os.urandom(2).hex(),
        started_at=stamp(now),
        updated_at=stamp(now),
        # A promise that was named is what completes the loop; without one, a plan that is done will do.
        plan_completes=request.promise is None and request.mode == "outer",
        remaining_items=len(items.todo),
        total_items=items.total,
        completed_items=items.done,
    )
    return _with_request(state, request)


def _same_task(layout: Layout, before: State, request: Request) -> bool:
    # What older writers leave out can't tell tasks apart.
    if request.description is not None:
        name = _task_name(request, "")
        return (
            before.task_hash == _hash(request.description) if before.task_hash else before.task_name in ("", name)
        )
    return before.prompt_hash in ("", _hash(files.read_text(layout.prompt) or ""))


def _hash(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _task_name(request: Request, prompt: str) -> str:
    lines = [line.strip(" #") for line in (request.description or prompt).splitlines()]
    first = next(filter(None, lines), "the task").removeprefix("Task:").strip()
    return first if len(first) <= _NAME else first[: _NAME - 3] + "..."


def _ready(layout: Layout, probe: Probe) -> None:
    """Make the folders, and keep git from taking the loop's own files for work."""
    with files.usable():
        layout.folder.mkdir(parents=True, exist_ok=True)
        write_atomic(layout.folder / ".gitignore", "*\n")
    if probe.git is not None:
        probe.git.exclude(*_OWN)


def _templates(layout: Layout, request: Request, now: datetime) -> list[str]:
    """Write the files that are missing; with `force`, all that a description is for."""
    notices = []
    description = (request.description or "").strip()
    values = {
        "task_name": _task_name(request, files.read_text(layout.prompt) or ""),
        "objective": description,
        "iteration_count": "1",
        "last_action": "none yet",
        "remaining_count": "see fix_plan.md",
        "completion_promise": request.promise or State().completion_promise,
    }
    for name in TEMPLATES:
        path = layout.project / name
        if path.exists() and request.force and description:
            notices.append(f"{name} is written anew; the old one is {files.set_aside(layout, path, stamp(now))}")
        if not path.exists():
            with files.usable():
                write_atomic(path, filled(template(name), values))
        elif name == "PROMPT.md" and description:
            text = files.read_text(path) or ""
            if " ".join(description.split()) not in " ".join(text.split()):
                notices.append(
                    "PROMPT.md is kept as it is: the description only names the task (--force rewrites it)"
                )
    with files.usable():
        (layout.project / "specs").mkdir(exist_ok=True)
    return notices
