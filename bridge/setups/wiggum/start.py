"""``wiggum start``: the files that a loop needs, and whether it goes on or begins."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError, LoopRefused, StateUnreadable
from bridge.files import write_atomic
from bridge.setups.wiggum import breaker as breakers
from bridge.setups.wiggum import files, turns
from bridge.setups.wiggum.breaker import BreakerSettings, cooled_at, timestamp
from bridge.setups.wiggum.policy import EXIT_CODES, all_done, closed
from bridge.setups.wiggum.state import Checkpointing, EnvironmentDefaults, Mode, State, is_promise
from bridge.setups.wiggum.task import TaskFiles, digest, name_of, settle, write

if TYPE_CHECKING:
    from datetime import datetime

    from bridge.git.work import Probe
    from bridge.setups.wiggum.files import Layout


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
        environment: what stands for a promise and iterations that nobody has named.
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
    environment: EnvironmentDefaults = EnvironmentDefaults()  # noqa: RUF009
    session_id: str | None = None
    resume: bool = False
    fresh: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """A loop that may start, or is over: its state, saved, and what people should know."""

    state: State
    notices: tuple[str, ...]


def prepare(layout: Layout, probe: Probe, request: Request, now: datetime) -> Prepared:
    """Make everything ready for the first turn, or for the next one of a loop that was left.

    Raises:
        ConfigurationError: there is no task, or the promise is none.
        LoopRefused: the state is another task's or session's, or its circuit is open.
        ProjectUnusable: a file can't be written.
    """
    try:
        return _prepare(layout, probe, request, now)
    except LoopRefused as error:
        if layout.folder.is_dir():
            files.log(layout, f"start is refused: {error}", "WARN")
        raise


def _prepare(layout: Layout, probe: Probe, request: Request, now: datetime) -> Prepared:
    _check(request)
    before, unreadable = _before(layout, request)
    if before is not None and (over := _over(layout, before, request)):
        return _saved(layout, probe, closed(before, "plan_complete", over, now), [], now)
    _check_task(layout, request)
    state = None if before is None or request.fresh else _continued(layout, before, request, now)
    if state is None:
        most, promise, _ = request.environment
        if request.max_iterations is None:
            request = replace(request, max_iterations=most)
        if request.promise is None:
            request = replace(request, promise=promise)
    else:
        state = request.environment.applied_to(state)
    promise = request.promise
    if promise is None and state is not None and "completion_promise" in state.by_default:
        promise = request.environment.promise
    task = settle(layout, replace(request, promise=promise), before, state)
    notices = []
    if state is None and layout.state.exists():
        kept = files.set_aside(layout, layout.state, timestamp(now))
        if unreadable:
            notices.append(f"{unreadable}; it is kept as {kept}, the loop begins anew")
    _ready(layout, probe)
    files.clear_cancel(layout)
    notices += write(layout, task, timestamp(now))
    if state is None or before is None:
        state = _new(layout, request, task, now)
    else:
        state = _with_task(state, before, task)
        recovered = ""
        if before.mode == "outer":
            # A turn of the outer loop was killed. A session's may be under way: only its stop counts it.
            state, recovered = turns.recover(layout, probe, state, now)
        notices += [f"the loop goes on behind iteration {state.iteration}", *filter(None, [recovered])]
    return _saved(layout, probe, state, notices, now)


def _with_task(state: State, before: State, task: TaskFiles) -> State:
    """Put into a state that goes on what PROMPT.md has become."""
    hashed = digest(task.prompt)
    return replace(
        state,
        completion_promise=task.promise,
        by_default=tuple(each for each in state.by_default if not task.adopted or each != "completion_promise"),
        prompt_hash=hashed,
        task_hash=hashed if before.task_hash and before.task_hash == before.prompt_hash else before.task_hash,
    )


def _saved(layout: Layout, probe: Probe, state: State, notices: list[str], now: datetime) -> Prepared:
    if state.outcome is not None:
        files.finish(layout, state)
        for notice in notices:
            files.log(layout, notice, "WARN")
        files.log(layout, f"iteration {state.iteration}: the loop ends, {state.outcome}: {state.reason}")
        return Prepared(state, tuple(notices))
    if 0 < state.max_iterations <= state.iteration:
        over = closed(state, "max_iterations", f"maximum iterations ({state.max_iterations}) reached", now)
        files.finish(layout, over)
        raise LoopRefused(
            f"all {state.max_iterations} iterations of this loop are used up\n"
            "  next: --max-iterations with a larger number, or --fresh to begin anew",
            EXIT_CODES["max_iterations"],
        )
    if probe.git is None:
        notices.append("no git repository here: no checkpoints; progress is told by the files' sizes and times")
    most = f"at most {state.max_iterations} iterations" if state.max_iterations else "any number of iterations"
    files.log(
        layout,
        f"{state.mode} loop {state.run_id or '?'} starts behind iteration {state.iteration}: {most},"
        f" promise {state.completion_promise!r}, task: {state.task_name}",
    )
    for notice in notices:
        files.log(layout, notice, "WARN")
    if state.mode == "hook" and state.turn is None:
        files.log(layout, f"iteration {state.iteration + 1} begins")
        state = turns.begin(layout, probe, state, now)  # the turn that is under way in the session
    files.save(layout, state)
    return Prepared(state, tuple(notices))


def _over(layout: Layout, before: State, request: Request) -> str:
    """Return why the loop to go on with is over already, though nobody has written that down; else ''."""
    if before.outcome is not None or request.fresh:
        return ""
    return all_done(before, files.read_plan(layout)) if _same_task(layout, before, request) else ""


def _check(request: Request) -> None:
    promise = request.promise
    if promise is not None and not is_promise(promise):
        raise ConfigurationError(f"--completion-promise {promise!r}: expected a text, such as DONE")
    if request.description is not None and not request.description.strip():
        raise ConfigurationError("the description is empty\n  next: describe the task, or leave it out")


def _check_task(layout: Layout, request: Request) -> None:
    if request.description is None and not (files.read_text(layout.prompt) or "").strip():
        raise ConfigurationError(
            f"there is no task: {layout.prompt} is missing or empty\n"
            '  next: ralph-bridge wiggum start "what is to be done"'
        )


def _before(layout: Layout, request: Request) -> tuple[State | None, str]:
    """Read the state of the active or the last loop; where it can't be read, return why."""
    try:
        return files.latest_state(layout), ""
    except StateUnreadable as error:
        if request.resume:
            raise
        return None, str(error).splitlines()[0]


def _continued(layout: Layout, before: State, request: Request, now: datetime) -> State | None:
    """Return the state to go on with; None to begin anew."""
    same = _same_task(layout, before, request)
    if not same and request.resume and request.description is not None:
        raise LoopRefused(
            f"--resume goes on with another task than the one described: {before.task_name or '?'}\n"
            "  next: leave the description out, or begin anew with --fresh"
        )
    same = same or request.resume
    if before.outcome is None and not same and all_done(before, files.read_plan(layout)):
        return None  # it is over, though nobody has said so
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
    breaker = breakers.before_start(before.breaker, request.breaker or before.breaker_settings, now)
    if breaker.is_open:
        until = cooled_at(breaker, before.breaker_settings)
        again = f"wait until {timestamp(until)}, or " if until else ""
        raise LoopRefused(
            f"circuit breaker OPEN since {breaker.opened_at}: {breaker.reason}\n"
            f"  next: {again}ralph-bridge reset, or --fresh to begin anew",
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
    named = {
        name
        for name, value in (("max_iterations", request.max_iterations), ("completion_promise", request.promise))
        if value is not None
    }
    return replace(
        state,
        mode=request.mode,
        max_iterations=state.max_iterations if request.max_iterations is None else request.max_iterations,
        max_minutes=state.max_minutes if request.max_minutes is None else request.max_minutes,
        completion_promise=state.completion_promise if request.promise is None else request.promise,
        by_default=tuple(each for each in state.by_default if each not in named),
        # A promise that was named is what completes the loop; without one, a plan that is done will do.
        plan_completes=state.plan_completes
        and request.promise is None
        and (request.mode == "outer" or not state.run_id),
        breaker_settings=request.breaker or state.breaker_settings,
        checkpoints=request.checkpoints or state.checkpoints,
        tool=request.tool or state.tool,
        session_id=request.session_id if request.mode == "hook" else None,
    )


def _new(layout: Layout, request: Request, task: TaskFiles, now: datetime) -> State:
    items = files.read_plan(layout)
    unnamed = ("max_iterations",) if task.adopted else ("max_iterations", "completion_promise")
    state = State(
        task_name=name_of(request.description or task.prompt),
        task_hash=digest(request.description or task.prompt),
        prompt_hash=digest(task.prompt),
        run_id=timestamp(now).replace("-", "").replace(":", "") + "-" + os.urandom(2).hex(),
        started_at=timestamp(now),
        updated_at=timestamp(now),
        completion_promise=task.promise,
        by_default=unnamed,
        plan_completes=True,
        remaining_items=len(items.todo),
        total_items=items.total,
        completed_items=items.done,
    )
    return _with_request(state, request)


def _same_task(layout: Layout, before: State, request: Request) -> bool:
    # What older writers leave out can't tell tasks apart.
    if request.description is not None:
        name = name_of(request.description)
        if before.task_hash:
            return before.task_hash == digest(request.description)
        return before.task_name in ("", name)
    return before.prompt_hash in ("", digest(files.read_text(layout.prompt) or ""))


def _ready(layout: Layout, probe: Probe) -> None:
    """Make the folders, and keep git from taking the loop's own files for work."""
    with files.usable():
        layout.folder.mkdir(parents=True, exist_ok=True)
        write_atomic(layout.folder / ".gitignore", "*\n")
    if probe.git is not None:
        probe.git.exclude(*_OWN)
