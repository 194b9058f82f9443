"""``wiggum start``: the files that a loop needs, and whether it goes on or begins."""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base.files import ANYWHERE, make_folder, usable, write_atomic
from bridge.base.wording import plural
from bridge.errors import ConfigurationError, LoopRefused, StateUnreadable
from bridge.loop.setups.projects import project_lock
from bridge.loop.setups.wiggum import breaker as breakers
from bridge.loop.setups.wiggum import files, turns
from bridge.loop.setups.wiggum.breaker import Trip, cooled_at, timestamp
from bridge.loop.setups.wiggum.files import FILES
from bridge.loop.setups.wiggum.policy import EXIT_CODES, Ending, all_done, closed
from bridge.loop.setups.wiggum.state import DEFAULTED, WiggumState, is_promise
from bridge.loop.setups.wiggum.task import StartRequest, TaskFiles, digest, name_of, settle, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from bridge.base.git.work import WorkDetector
    from bridge.loop.setups.wiggum.files import Layout

_KEPT = ("max_iterations", "max_minutes", "completion_promise", "breaker_settings", "checkpoints", "tool")
"""What is as before where it isn't asked for."""


@dataclass(frozen=True, slots=True)
class Prepared:
    state: WiggumState
    notices: tuple[str, ...]


def prepare(layout: Layout, probe: WorkDetector, request: StartRequest, now: datetime) -> Prepared:
    """Make everything ready for the first turn, or for the next one of a loop that was left.

    Raises:
        ConfigurationError: there is no task, or the promise is none.
        LoopRefused: the state is another task's or session's, or its circuit is open.
    """
    with _refusals_logged(layout):
        return _Start(layout, probe, request, now).prepare()


def check(layout: Layout, probe: WorkDetector, request: StartRequest, now: datetime) -> bool:
    """Whether a start would come to a turn; False: its plan is done. Refuses what `prepare` would.

    Nothing is written but a line of the log, where there is one: a start that is refused changes nothing.
    """
    lock = project_lock(layout.folder, layout.project) if layout.folder.is_dir() else nullcontext()
    with lock, _refusals_logged(layout):
        return not _Start(layout, probe, request, now).decide().over


@contextmanager
def _refusals_logged(layout: Layout) -> Iterator[None]:
    try:
        yield
    except LoopRefused as error:
        if layout.folder.is_dir():
            files.log(layout, f"start is refused: {error}", "WARN")
        raise


class _Decided(NamedTuple):
    """What a start comes to; nothing is written yet."""

    before: WiggumState | None  # of the active or the last loop
    unreadable: str  # why that can't be read, or ''
    over: str = ""  # why the loop to go on with is over, though nobody wrote it down; nothing else is decided then
    state: WiggumState | None = None  # what the loop goes on with; None: it begins anew
    task: TaskFiles | None = None  # what the files will be


class _Start:
    def __init__(self, layout: Layout, probe: WorkDetector, request: StartRequest, now: datetime) -> None:
        self.layout = layout
        self.probe = probe
        self.request = request
        self.now = now
        self.notices: list[str] = []

    def decide(self) -> _Decided:
        layout, request = self.layout, self.request
        self._check_options()
        before, unreadable = self._before()
        if before is not None and (over := self._over(before)):
            return _Decided(before, unreadable, over)
        self._check_task()
        state = None if before is None or request.fresh else self._continued(before)
        task = settle(layout, self._with_environment(state), before, state)
        return _Decided(before, unreadable, state=state, task=task)

    def prepare(self) -> Prepared:
        layout, (before, unreadable, over, state, task) = self.layout, self.decide()
        if task is None:
            assert before is not None
            return self._saved(closed(before, Ending.PLAN_COMPLETE, over, self.now))
        if state is None and layout.state.exists():
            kept = files.set_aside(layout, layout.state, timestamp(self.now))
            if unreadable:
                self.notices.append(f"{unreadable}; it is kept as {kept}, the loop begins anew")
        with usable(layout.folder):
            make_folder(layout.folder)
            write_atomic(layout.folder / ".gitignore", "*\n")
        if self.probe.git is not None:
            self.probe.git.exclude(*FILES.own)  # git must not take the loop's own files for work
        files.clear_cancel(layout)
        # Another program's state may count the items without a plan: a new one would deny them.
        counts = state is not None and not state.run_id and state.total_items > 0
        self.notices += write(layout, task, timestamp(self.now), plan=not counts)
        if state is None or before is None:
            return self._saved(self._new(task))
        state = _with_task(state, before, task)
        recovered = ""
        if before.mode == "outer":
            # A turn of the outer loop was killed. A session's may be under way: only its stop counts it.
            state, recovered = turns.recover(layout, self.probe, state, self.now)
        goes_on = f"the loop goes on behind iteration {state.iteration}"
        self.notices += filter(None, [goes_on, recovered])
        return self._saved(state)

    def _check_options(self) -> None:
        promise, description = self.request.completion_promise, self.request.description
        if promise is not None and not is_promise(promise):
            raise ConfigurationError(f"--completion-promise {promise!r}: expected a text, such as DONE")
        if description is not None and not description.strip():
            raise ConfigurationError("the description is empty\n  next: describe the task, or leave it out")

    def _check_task(self) -> None:
        prompt = self.layout.prompt
        if self.request.description is None and not (files.read_text(prompt, root=ANYWHERE) or "").strip():
            raise ConfigurationError(
                f"there is no task: {prompt} is missing or empty\n"
                '  next: ralph-bridge wiggum start "what is to be done"'
            )

    def _before(self) -> tuple[WiggumState | None, str]:
        """Read the state of the active or the last loop; where it can't be read, return why."""
        try:
            return files.latest_state(self.layout), ""
        except StateUnreadable as error:
            if self.request.resume:
                raise
            return None, str(error).splitlines()[0]

    def _over(self, before: WiggumState) -> str:
        """Return why the loop to go on with is over already, though nobody has written that down; else ''."""
        if before.outcome is not None or self.request.fresh or not self._is_same_task(before):
            return ""
        return all_done(before, files.read_plan(self.layout))

    def _is_same_task(self, before: WiggumState) -> bool:
        # What older writers leave out can't tell tasks apart.
        description = self.request.description
        if description is None:
            return before.prompt_hash in ("", digest(files.read_text(self.layout.prompt, root=ANYWHERE) or ""))
        if before.task_hash:
            return before.task_hash == digest(description)
        return before.task_name in ("", name_of(description))

    def _continued(self, before: WiggumState) -> WiggumState | None:
        """Return the state to go on with; None to begin anew."""
        request = self.request
        same = self._is_same_task(before)
        if not same and request.resume and request.description is not None:
            raise LoopRefused(
                f"--resume goes on with another task than the one described: {before.task_name or '?'}\n"
                "  next: leave the description out, or begin anew with --fresh"
            )
        same = same or request.resume
        if before.outcome is None and not same and all_done(before, files.read_plan(self.layout)):
            return None  # it is over, though nobody has said so
        if before.outcome is not None and not request.resume and not (same and before.outcome in list(Trip)):
            return None
        if not same:
            raise LoopRefused(
                f"{self.layout.state} is that of another task, in iteration {before.iteration}:"
                f" {before.task_name or '?'}\n"
                "  next: --resume to go on with it, or --fresh to begin anew (the old state is kept aside)"
            )
        if self._is_another_session_s(before):
            raise LoopRefused(
                f"this loop belongs to session {before.session_id}\n"
                "  next: --resume takes it over, --fresh begins anew"
            )
        limits = request.breaker_settings or before.breaker_settings
        breaker = breakers.before_start(before.breaker, limits, self.now)
        if breaker.is_open:
            until = cooled_at(breaker, before.breaker_settings)
            again = f"wait until {timestamp(until)}, or " if until else ""
            raise LoopRefused(
                f"circuit breaker OPEN since {breaker.opened_at}: {breaker.reason}\n"
                f"  next: {again}ralph-bridge reset, or --fresh to begin anew",
                EXIT_CODES.get(before.outcome or breaker.trip, 1),
            )
        active = replace(before, breaker=breaker, outcome=None, reason="", exit_code=None, ended_at=None, blocks=0)
        state = request.environment.applied_to(_with_request(active, request))
        # One that has reached its own limit, which nobody has written down, is closed instead.
        closes = before.outcome is None and state.max_iterations == before.max_iterations
        if _used_up(state) and not closes:
            raise _limit_refusal(state)
        return state

    def _is_another_session_s(self, before: WiggumState) -> bool:
        """Say whether another session may be running the loop just now."""
        request = self.request
        both = before.mode == request.mode == "hook" and before.outcome is None
        named = before.session_id is not None and request.session_id is not None
        return both and named and before.session_id != request.session_id and not request.resume

    def _with_environment(self, state: WiggumState | None) -> StartRequest:
        """Let the environment stand for what the options leave out; a loop that goes on keeps what was named."""
        unnamed = DEFAULTED if state is None else state.by_default
        missing = [name for name in DEFAULTED if name in unnamed and getattr(self.request, name) is None]
        found = replace(self.request, **{name: getattr(self.request.environment, name) for name in missing})
        if state is None:
            self.request = found
        return found

    def _new(self, task: TaskFiles) -> WiggumState:
        items, now = files.read_plan(self.layout), timestamp(self.now)
        description = self.request.description or task.prompt
        state = WiggumState(
            task_name=name_of(description),
            task_hash=digest(description),
            prompt_hash=digest(task.prompt),
            run_id=now.replace("-", "").replace(":", "") + "-" + os.urandom(2).hex(),
            started_at=now,
            updated_at=now,
            completion_promise=task.promise,
            by_default=tuple(each for each in DEFAULTED if not task.adopted or each != "completion_promise"),
            plan_completes=True,
            remaining_items=len(items.todo),
            total_items=items.total,
            completed_items=items.done,
        )
        return _with_request(state, self.request)

    def _saved(self, state: WiggumState) -> Prepared:
        layout = self.layout
        if state.outcome is not None:
            files.finish(layout, state)
            self._log_notices()
            files.log(layout, f"iteration {state.iteration}: the loop ends, {state.outcome}: {state.reason}")
            return Prepared(state, tuple(self.notices))
        if _used_up(state):
            used_up = f"maximum iterations ({state.max_iterations}) reached"
            files.finish(layout, closed(state, Ending.MAX_ITERATIONS, used_up, self.now))
            raise _limit_refusal(state)
        if self.probe.git is None:
            self.notices.append(
                "no git repository here: no checkpoints; work is seen by the files' sizes and times"
            )
        most = f"at most {state.max_iterations} iterations" if state.max_iterations else "any number of iterations"
        files.log(
            layout,
            f"{state.mode} loop {state.run_id or '?'} starts behind iteration {state.iteration}: {most},"
            f" promise {state.completion_promise!r}, task: {state.task_name}",
        )
        self._log_notices()
        if state.mode == "hook" and state.turn is None:
            files.log(layout, f"iteration {state.iteration + 1} begins")
            state = turns.begin(layout, self.probe, state, self.now)  # the turn that is under way in the session
        files.save(layout, state)
        return Prepared(state, tuple(self.notices))

    def _log_notices(self) -> None:
        for notice in self.notices:
            files.log(self.layout, notice, "WARN")


def _used_up(state: WiggumState) -> bool:
    return 0 < state.max_iterations <= state.iteration


def _limit_refusal(state: WiggumState) -> LoopRefused:
    return LoopRefused(
        f"the loop is behind iteration {state.iteration}: a limit of {plural(state.max_iterations, 'iteration')} is"
        " used up\n  next: --max-iterations with a larger number, or --fresh to begin anew",
        EXIT_CODES[Ending.MAX_ITERATIONS],
    )


def _with_task(state: WiggumState, before: WiggumState, task: TaskFiles) -> WiggumState:
    hashed = digest(task.prompt)
    return replace(
        state,
        completion_promise=task.promise,
        by_default=tuple(each for each in state.by_default if not task.adopted or each != "completion_promise"),
        prompt_hash=hashed,
        task_hash=hashed if before.task_hash and before.task_hash == before.prompt_hash else before.task_hash,
    )


def _with_request(state: WiggumState, request: StartRequest) -> WiggumState:
    named: dict[str, Any] = {name: value for name in _KEPT if (value := getattr(request, name)) is not None}
    return replace(
        state,
        **named,
        mode=request.mode,
        by_default=tuple(each for each in state.by_default if each not in named),
        # A promise that was named is what completes the loop; without one, a plan that is done will do.
        plan_completes=state.plan_completes
        and request.completion_promise is None
        and (request.mode == "outer" or not state.run_id),
        session_id=request.session_id if request.mode == "hook" else None,
    )
