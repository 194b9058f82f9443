"""What a loop stands on and a turn may take from under it: prompt and plan, its branch, a git with nothing open."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bridge.base.files import ANYWHERE, read_bytes
from bridge.base.git.left_open import git_dir, is_detached, locks, remove_stale_locks, unfinished
from bridge.base.wording import plural
from bridge.errors import BridgeError
from bridge.loop.engine.policy import NOT_DONE, PLAN_COMPLETE, Decision, Verdict
from bridge.loop.engine.stages.stage import Stage
from bridge.loop.engine.standstill import NOT_READY, PROMPT_GONE

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from bridge.loop.engine.context import LoopContext
    from bridge.loop.engine.events import LoopEvent
    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.stages.stage import Events, TurnReport

_DETACHED = "none (detached HEAD)"
_TOLD = 3  # losses
_BLANK = 64 * 1024
"""Bytes of a prompt that are read to see whether there is anything in it."""


def _removed(before: tuple[int, int] | None, now: tuple[int, int] | None) -> int:
    """Count the open tasks that a plan has lost: done ones, and all, before and now.

    One that went alone may have been done: some agents strike out what is done and others tick it, but few do both.
    """
    if before is None or now is None or now[0] < before[0]:
        return 0
    lost = before[1] - now[1]
    return lost if lost > (now[0] == before[0]) else 0


class GitLock(Stage):
    """Locks of git's that were left behind by a git which ended in a turn, or with it."""

    def open(self) -> Iterable[str]:
        before = self.loop.active.before
        if before is not None and before.end is None and before.turn_began > 0:  # its host was killed in this turn
            yield from self._removed(before.turn, before.turn_began, " of the run before")

    def ran(self, turn: Turn, started: float) -> Events:
        return self._removed(turn.request.number, started)

    def _removed(self, turn: int, since: float, of: str = "") -> Iterable[str]:
        for name in remove_stale_locks(git_dir(self.loop.settings.project), since):
            yield f"turn {turn}{of} left .git/{name} behind: nobody held it, it is removed"


class PromptPresence(Stage):
    """The prompt: no repetition brings it back."""

    _was_there = False

    def may_begin(self) -> Decision | None:
        project = self.loop.settings.project
        path = project / self.loop.settings.prompt
        with suppress(OSError, BridgeError):
            there = path.is_file() and bool(read_bytes(path, _BLANK, root=ANYWHERE).strip())
            if there or not self._was_there:
                self._was_there = there
                return None
            what = "empty" if path.exists() else "gone"
            name = os.path.relpath(path, project)
            detail = f"{name} is {what} since turn {self.loop.number} · next: bring it back (git stash list)"
            return Decision(Verdict.INCOMPLETE, PROMPT_GONE, detail, status=NOT_READY)
        return None


class Ground(Stage):
    def __init__(self, loop: LoopContext[Any]) -> None:
        super().__init__(loop)
        self._project = loop.settings.project
        self._turn = 0
        self._plan: tuple[int, int] | None = None  # tasks that are done, and all
        self._plan_gone = 0  # the turn since which it is
        self._how_gone = ""
        self._first: str | None = None
        self._branch = self._head = ""
        self._moved = 0
        self._git_gone = 0  # the turn since which it is
        self._undone = 0  # open tasks that turns took out of the plan, less those that came back
        self._lost: list[str] = []
        self._open: tuple[str, ...] = ()
        self._sentences: tuple[str, ...] = ()

    def open(self) -> Iterator[str]:
        """Say what keeps agents from committing, or their commits from being found."""
        folder = git_dir(self._project)
        if not folder.exists():
            return
        if is_detached(self._project) and not unfinished(self._project):
            yield "detached HEAD: what is committed here is on no branch · next: git switch -c NAME"
        for lock in locks(folder):
            yield f"there is a {lock}: nobody can commit · next: end the git that holds it, else delete it"
        if self.loop.repository.is_refused():
            step = f"git config --global --add safe.directory {shlex.quote(str(folder.parent))}"
            yield f"git works with nothing here: the files are another user's · next: {step}"
        elif not self.loop.repository.has_identity():
            step = "git config user.name NAME && git config user.email ADDRESS"
            yield f"git has no user.name and user.email here: agents can't commit · next: {step}"

    def before_turn(self) -> Events:
        """Say what is in the middle in git that wasn't before."""
        self._plan_is_gone()
        found = unfinished(self._project)
        since = f" since turn {self._turn}" if self._turn else ""
        for what in found:
            if what not in self._open:
                yield f"{what} is in the middle here{since}: see git status"
        self._open = found

    def counted(self, report: TurnReport, outcome: Outcome) -> None:
        """Look what it did: for its line, and the same in sentences."""
        del outcome
        tree, changes = report.turn.tree, report.turn.changes
        self._turn = turn = report.turn.request.number
        sentences = []
        planned = self._plan
        if self._plan_is_gone():
            self._plan_gone = turn
            report.took.append(f"the plan {self._how_gone}")
            sentences.append(f"the fix plan {self._how_gone} since turn {turn}: nothing says what is left")
        elif lost := _removed(planned, self._plan):
            report.took.append(f"{plural(lost, 'open task')} left the plan")
            sentences.append(f"turn {turn} took {plural(lost, 'open task')} out of the plan: nobody has done that")
            self._lost.append(sentences[-1].partition(":")[0])
            self._undone += lost
        elif planned and self._plan:
            self._undone = max(self._undone - max(self._plan[1] - planned[1], 0), 0)
        if tree is not None and self._first is None:
            self._first, self._head = tree.branch, tree.head
        if tree is not None and changes is None and not git_dir(self._project).exists():
            self._git_gone = turn
            report.took.append("git's folder is gone")
            sentences.append(f"git's folder is gone since turn {turn}: nothing that was committed is here")
        if tree is not None and changes is not None:
            self._branch = changes.branch
            stayed = changes.branch == tree.branch
            lost = self.loop.repository.taken_back(tree.head, changes.head) if stayed and changes.committed else 0
            if lost:
                report.took.append(f"{plural(lost, 'commit')} taken back")
                at = f"{changes.branch or 'HEAD'} was at {tree.head[:10]}"
                sentences.append(f"turn {turn} took {plural(lost, 'commit')} back: {at}")
                self._lost.append(sentences[-1])
            if not stayed:
                self._moved = turn
                before, now = tree.branch or _DETACHED, changes.branch or _DETACHED
                report.took.append(f"branch {before} → {now}")
                sentences.append(f"turn {turn} went from branch {before} to {now}: what follows is committed there")
        self._sentences = tuple(sentences)

    def after_turn(self, report: TurnReport, outcome: Outcome, decision: Decision) -> Events:
        del report, outcome, decision
        return self._sentences

    def _plan_is_gone(self) -> bool:
        before, self._plan = self._plan, self.loop.handler.progress()
        if self._plan is not None and self._plan[1]:
            self._plan_gone = 0
            return False
        if before is None or not before[1]:
            return False
        self._how_gone = "is gone" if self._plan is None else "has no tasks"
        return True

    def may_end(self, decision: Decision) -> Generator[LoopEvent | str, None, Decision]:
        """A loop whose plan is gone isn't complete because its turns are used up, nor one by its plan where
        that has lost more open tasks than were done.
        """
        yield from ()
        if decision.verdict is not Verdict.COMPLETE:
            return decision
        if decision.reason == PLAN_COMPLETE and self._plan and self._undone > self._plan[0]:
            return replace(decision, verdict=Verdict.INCOMPLETE)
        if decision.reason not in NOT_DONE or not self._plan_gone:
            return decision
        status = 0 if decision.status is None else decision.status
        return replace(decision, verdict=Verdict.INCOMPLETE, status=status)

    def _agent_pushes(self) -> bool:
        return self.loop.repository.has_pushed(self.loop.now() - self.loop.elapsed())

    def last_words(self) -> str:
        """Say at the end what isn't as it was, as part of a sentence; or ''."""
        found = [f"the fix plan {self._how_gone} since turn {self._plan_gone}"] if self._plan_gone else []
        found += [f"git's folder is gone since turn {self._git_gone}"] if self._git_gone else []
        found += self._lost[-_TOLD:]
        if self._first is not None and (self.loop.handler.pushes() or self._agent_pushes()):
            here = self.loop.repository.kept_here(self._head)
            one = "commit of this run stays here: no remote has taken it"
            several = "commits of this run stay here: no remote has taken them"
            found += [plural(here, one, several)] if here else []
        if self._moved and self._first is not None and self._branch != self._first:
            now = f"branch {self._branch} is" if self._branch else "no branch (detached HEAD) is"
            found.append(f"{now} checked out since turn {self._moved}, and not {self._first or 'what was'}")
        found += [f"{what} is in the middle here" for what in unfinished(self._project) if self._turn]
        return "; ".join(found)
