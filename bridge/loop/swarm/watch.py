"""What becomes of pull requests: they are looked at beside the work, one after the other, and it is decided what
follows.

Nothing is remembered between two looks but what stands in the record: a host that is killed decides the same again.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bridge.base.process.ask import ended_when
from bridge.base.wording import one_line, plural
from bridge.errors import BridgeError
from bridge.loop.engine.loop_settings import numbers
from bridge.loop.swarm.checks import OnGitHub, requests
from bridge.loop.swarm.pulls import OPEN
from bridge.loop.swarm.swarm_record import CHECKS_FAILED, CLOSED, PULLED, UNFINISHED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from bridge.loop.swarm.checks import Review, Seen
    from bridge.loop.swarm.pulls import PullRequests
    from bridge.loop.swarm.swarm_record import SwarmRecord, TaskRecord

POLL = "RALPH_BRIDGE_POLL_SECONDS"
"""Variable: seconds between two looks at a pull request, at first; three times as long later."""
_SECONDS = 20.0
_UNSTARTED = 3
"""Looks, in time, after which a commit without any check is one that nobody checks."""

UNCHANGED = "unchanged"
"""Reason of a task that is watched, when a turn that was to mend it has changed nothing."""
_NOTHING = "a turn that was to mend it has changed nothing"

Kind = Literal["wait", "mend", "update", "merge", "done", "over"]


class Decision(NamedTuple):
    """What follows from a look.

    Attributes:
        kind: ``wait``; ``mend``: its task gets a turn; ``update``: it takes in the branch that it goes into;
            ``merge``; ``done``; ``over``: nothing more can be done for it.
        about: ``checks``, ``review``, ``conflict``, ``foreign`` (somebody else has pushed), ``merge`` (it is
            refused), ``closed``, ``unreachable``; ''.
        detail: a sentence for people.
        outcome: of ``over``: as in :class:`~bridge.loop.swarm.swarm_record.TaskRecord`.
        reviews: of ``mend``: that are to be answered.
    """

    kind: Kind
    about: str = ""
    detail: str = ""
    outcome: str = ""
    reviews: tuple[Review, ...] = ()


class Standing(NamedTuple):
    """What is decided by: a pull request as it is seen, and what is known of it here.

    Attributes:
        waited: seconds since it was pushed last, or since a host goes on.
        early: seconds in which checks may still begin.
        refused: why a merge was refused, when all stood as it does now; ''.
    """

    seen: Seen
    task: TaskRecord
    record: SwarmRecord
    waited: float
    early: float
    refused: str = ""

    @property
    def late(self) -> bool:
        return self.waited >= self.record.watch_seconds

    def over(self, about: str, why: str, outcome: str = UNFINISHED) -> Decision:
        return Decision("over", about, why, outcome)

    def until_late(self, about: str, why: str) -> Decision:
        """Wait as long as that is asked for."""
        if not self.late:
            return Decision("wait", about, why)
        return self.over(about, f"{why}, after {plural(round(self.record.watch_seconds / 60), 'minute')}")

    def mend(self, about: str, why: str, outcome: str = UNFINISHED, reviews: tuple[Review, ...] = ()) -> Decision:
        """Give it to a turn, if there is one left, and the one before has found something to change."""
        most = self.record.fix_rounds
        if self.task.reason == UNCHANGED:
            return self.over(about, f"{why}; {_NOTHING}", outcome)
        if self.task.rounds < most:
            return Decision("mend", about, why, reviews=reviews)
        used = f"used up: {plural(most, 'turn')} to mend it" if most else "no turn is to mend it"
        return self.over(about, f"{why}; {used}", outcome)


_REVIEWS = {"REVIEW_REQUIRED": "a review is required", "CHANGES_REQUESTED": "changes are requested"}


def decide(standing: Standing) -> Decision:
    """What is to be done about a pull request. Pure."""
    for stage in (_gone, _conflicting, _checked, _reviewed):
        if (found := stage(standing)) is not None:
            return found
    return _mergeable(standing)


def _gone(it: Standing) -> Decision | None:
    state, head = it.seen.pull["state"], it.seen.pull["head"]
    if state != OPEN:
        return Decision("done", "closed" if state == "CLOSED" else "", f"it is {state.lower()}")
    if head in ("", it.task.merge):
        return None
    if head == it.task.pushed:
        return it.until_late("checks", "GitHub has yet to see what is pushed")
    return it.over("foreign", f"others have pushed {head[:10]} to it: it is theirs now")


def _conflicting(it: Standing) -> Decision | None:
    if it.seen.mergeable == "UNKNOWN" and it.waited < min(it.early, it.record.watch_seconds):
        return Decision("wait", "conflict", "waits for GitHub to say whether it can be merged")
    if it.seen.mergeable != "CONFLICTING":
        return None
    if it.task.onto:
        return it.over("conflict", f"it conflicts with {it.task.onto}")
    return it.mend("conflict", f"it conflicts with {it.record.into}")


def _checked(it: Standing) -> Decision | None:
    """All checks are waited for, and then all that came back is given to one turn."""
    seen = it.seen
    pending, failed = seen.named("pending"), seen.named("fail")
    if pending and not it.late:
        return Decision("wait", "checks", f"waits for checks: {pending}")
    # One that is required, and has yet to be reported, blocks; so does a review.
    unreported = seen.status == "BLOCKED" and seen.decision not in _REVIEWS
    if it.waited < min(it.early, it.record.watch_seconds) and (unreported or not seen.checks) and not failed:
        return Decision("wait", "checks", "waits for checks to begin")
    asking = tuple(each for each in seen.reviews if each.id not in it.task.answered)
    who = ", ".join(dict.fromkeys(each.login for each in asking))
    words = "; ".join([*[f"checks failed: {failed}"] * bool(failed), *[f"{who} asked for changes"] * bool(who)])
    if failed:
        return it.mend("checks", words, CHECKS_FAILED, asking)
    if asking:
        return it.mend("review", words, reviews=asking)
    if cancelled := seen.named("cancel"):
        return it.over("checks", f"checks were cancelled: {cancelled}", CHECKS_FAILED)
    return it.until_late("checks", f"checks are pending: {pending}") if pending else None


def _reviewed(it: Standing) -> Decision | None:
    why = _REVIEWS.get(it.seen.decision)
    return it.until_late("review", why) if why and (it.record.merge or it.record.reviews) else None


def _mergeable(it: Standing) -> Decision:
    if not it.record.merge or it.task.onto:
        return Decision("done", detail="checks have passed" if it.seen.checks else "there are no checks")
    if it.refused:
        return it.until_late("merge", f"it can't be merged: {it.refused}")
    if it.seen.status == "BEHIND":
        return Decision("update", "merge", f"{it.record.into} has gone on")
    return Decision("merge")


class Looked(NamedTuple):
    """What a look has brought.

    Attributes:
        pull: the pull request; {}: it couldn't be asked.
        checks: ``none``, ``pending``, ``failed``, ``passed``; ''.
        told: of ``mend``: what the task is told.
        since: the commit of the branch to merge into that it has to take in; ''.
    """

    decision: Decision
    pull: dict[str, Any]
    checks: str = ""
    told: str = ""
    since: str = ""


# -- what is put down of it ----------------------------------------------------------------------------


def begin_watching(task: TaskRecord) -> None:
    """Its pull request is open: from now on what becomes of it is waited for."""
    task.step, task.outcome, task.reason, task.detail = "watched", "", "", ""
    task.checks, task.watched = "", time.time()


def look_again(record: SwarmRecord, pulls: PullRequests | None, retry: Collection[str]) -> Iterator[str]:
    """See what people have done with the pull requests of a swarm that goes on; those to be watched are so again.

    Args:
        record: of the swarm.
        pulls: where they are asked; None: there are none.
        retry: outcomes of tasks that get another attempt.

    Returns:
        What can't be asked, a sentence each.
    """
    for task in record.tasks:
        if task.step == "watched":
            task.watched = time.time()
        settled = task.step == "done" and task.outcome in (PULLED, CLOSED, CHECKS_FAILED, UNFINISHED)
        if pulls is None or not settled or not task.pull or task.pull["state"] == "MERGED":
            continue
        try:
            task.pull = pulls.find(task.pull_branch) or task.pull
        except BridgeError as error:
            yield f"what became of pull requests can't be asked: {str(error).splitlines()[0]}"
            return
        closed, again = task.pull["state"] == "CLOSED", task.outcome in retry
        task.outcome = CLOSED if closed else PULLED
        task.detail = f"{task.pull['url']} was closed, and not merged" if closed else ""
        if record.watch and task.pull["state"] == OPEN:
            task.rounds = 0 if again else task.rounds
            begin_watching(task)


def follow(task: TaskRecord, looked: Looked, record: SwarmRecord) -> str:
    """Put down what a look has brought, and what follows from it; gives what is to be said of that, '' for nothing
    new. The step is then ``watched`` still, ``waiting`` for a turn, ``saved``, or ``done``."""
    decision, before = looked.decision, (task.detail, task.checks, task.pull)
    task.pull = {**(looked.pull or task.pull)}
    task.checks, task.detail = looked.checks or task.checks, decision.detail
    if decision.kind == "wait":
        return "" if (task.detail, task.checks, task.pull) == before else task.detail
    if decision.kind in ("mend", "update"):
        task.since = looked.since or task.since
        task.pushed, task.merge = task.merge, ""
        task.step = "saved"
        if decision.kind == "update":
            return f"{decision.detail}, and is taken in"
        task.step, task.told = "waiting", looked.told
        task.rounds, task.round = task.rounds + 1, decision.about
        task.answered += [each.id for each in decision.reviews]
        return f"{decision.detail}; turn {task.rounds} of {record.fix_rounds} to mend it begins"
    task.step, task.outcome = "done", decision.outcome or (CLOSED if decision.about == "closed" else PULLED)
    task.reason = decision.about
    task.unticked = [*task.task.boxes] if task.merged else []
    return decision.detail


def unchanged(task: TaskRecord) -> str:
    """A turn that was to mend it has changed nothing: it is looked at once more, as a check may be flaky."""
    begin_watching(task)
    task.merge = task.pushed
    task.reason = UNCHANGED if task.round != "review" else ""
    return _NOTHING


# -- looking -------------------------------------------------------------------------------------------


class Watch:
    """Looks at one pull request at a time. Where they stand is in the record, which the host's own thread changes.

    Args:
        refresh: fetches the branch that they go into, and gives its commit.
        stopped: whether the host wants to end.

    Attributes:
        under_way: what is being looked at.
    """

    def __init__(
        self, folder: Path, record: SwarmRecord, *, refresh: Callable[[], str], stopped: Callable[[], bool]
    ) -> None:
        self._record = record
        self._github = OnGitHub(folder, record.repository)
        self._refresh = refresh
        self._stopped = stopped
        self._pool = ThreadPoolExecutor(1)
        self._pause = max(numbers(os.environ, {"poll": POLL}).get("poll", _SECONDS), 0.01)
        self._due: dict[str, tuple[float, float]] = {}
        self._refused: dict[str, tuple[Seen, str]] = {}
        self.under_way: tuple[Future[Looked], TaskRecord] | None = None

    def begin(self) -> bool:
        """Begin with the one that is due first; whether any is watched."""
        watched = [each for each in self._record.tasks if each.step == "watched"]
        if watched and self.under_way is None:
            task = min(watched, key=self._when)
            if self._when(task) <= time.monotonic():
                self.under_way = self._pool.submit(self._look, task), task
        return bool(watched)

    def _when(self, task: TaskRecord) -> float:
        return self._due.get(task.task.id, (0.0, 0.0))[0]

    def take_in(self) -> tuple[TaskRecord, Looked] | None:
        """What the look has brought, once that is known."""
        if self.under_way is None or not self.under_way[0].done():
            return None
        (future, task), self.under_way = self.under_way, None
        looked, first = future.result(), self._pause
        _, pause = self._due.pop(task.task.id, (0.0, first))
        if looked.decision.kind == "wait":
            self._due[task.task.id] = time.monotonic() + pause, min(pause * 1.2, 3 * first)
        return task, looked

    def close(self) -> None:
        self._pool.shutdown()

    # -- in the other thread -------------------------------------------------------------------------------

    def _look(self, task: TaskRecord) -> Looked:
        waited = time.time() - (task.watched or 0.0)
        try:
            with ended_when(self._stopped):
                return self._looked(task, waited)
        except BridgeError as error:
            why = f"GitHub can't be asked: {one_line(str(error).partition(chr(10))[0])}"
            late = waited >= self._record.watch_seconds
            return Looked(Decision("over" if late else "wait", "unreachable", why, UNFINISHED), {})

    def _looked(self, task: TaskRecord, waited: float) -> Looked:
        number, record, name = task.pull["number"], self._record, task.task.id
        seen = self._github.look(number, reviews=record.reviews)
        before, refused = self._refused.get(name, (None, ""))
        standing = Standing(seen, task, record, waited, _UNSTARTED * self._pause, refused if before == seen else "")
        decision = decide(standing)
        if decision.kind == "merge":
            refused = self._github.merge(number, task.merge) or "it is in a queue"
            seen = self._github.look(number, reviews=record.reviews)  # its answer may have been lost
            self._refused[name] = seen, refused
            decision = decide(standing._replace(seen=seen, refused=refused))
        told = tip = ""
        if seen.pull["state"] == "MERGED":
            with suppress(BridgeError):  # what begins later begins with what was there before
                self._refresh()
        elif decision.kind in ("mend", "update"):
            tip = self._refresh()
            told = self._told(decision, seen, tip) if decision.kind == "mend" else ""
        elif decision.about == "review":
            self._ask_again(task, seen)
        since = tip if decision.kind == "update" or decision.about == "conflict" else ""
        checks = _summary(standing.seen) if standing.seen.pull["state"] == OPEN else ""
        return Looked(decision, seen.pull, checks, told, since)

    def _told(self, decision: Decision, seen: Seen, tip: str) -> str:
        parts = []
        if decision.about == "conflict":
            parts.append(
                f"Its pull request conflicts with {self._record.into}, where others have worked meanwhile. In\n"
                f"your work tree, run `git merge {tip}`, resolve the conflicts so that both are kept, and commit."
            )
        if decision.about == "checks":
            parts.append(self._github.failures(seen.checks))
        if decision.reviews:
            parts.append(requests(decision.reviews))
        return "\n\n".join([f"What you did is proposed: {seen.pull['url']}. It is in your work tree.", *parts])

    def _ask_again(self, task: TaskRecord, seen: Seen) -> None:
        """Ask those whose reviews were answered to look again, unless they are asked."""
        asked = {each.login for each in seen.reviews if each.id in task.answered and not each.id.startswith("C")}
        if seen.decision == "CHANGES_REQUESTED" and (missing := sorted(asked - seen.requested)):
            self._github.ask_again(seen.pull["number"], missing)


def _summary(seen: Seen) -> str:
    buckets = {each.bucket for each in seen.checks}
    if not buckets:
        return "none"
    return "pending" if "pending" in buckets else "failed" if buckets & {"fail", "cancel"} else "passed"
