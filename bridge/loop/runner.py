"""The one loop, the same for every setup: load, decide, run a turn, decide, record, wait.

Whatever keeps a loop alive through a night is here: the project's lock and record, a deadline for each turn, pauses
between turns that failed, the records of turns and their totals, the end of what the tool has left running. What
differs from setup to setup is asked of a policy (:mod:`bridge.loop.policy`) and a handler
(:mod:`bridge.loop.handler`), whose files the store writes (:mod:`bridge.loop.store`).
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bridge.errors import BridgeError
from bridge.git.repository import Repository
from bridge.loop.caps import Tally
from bridge.loop.crew import Crew
from bridge.loop.events import (
    CheckEnded,
    CheckStarted,
    CrewStands,
    DenialHelp,
    IterationEnded,
    IterationStarted,
    LeftoversEnded,
    LoopEnded,
    LoopEvent,
    LoopInterrupted,
    MessageGiven,
    Notice,
    OutputText,
    ReviewEnded,
    ReviewStands,
    ReviewStarted,
    ReviewTurnEnded,
    ReviewTurnStarted,
    RunNote,
    RunOpened,
    RunProgress,
    ToolChanged,
    TurnPrepared,
    TurnRecorded,
    Waiting,
    interruption,
)
from bridge.loop.gates import Asked, Gates
from bridge.loop.handler import Turn, WallClock
from bridge.loop.inbox import Inbox, words_for
from bridge.loop.notify import Notifier
from bridge.loop.observers import Observers, RunFacts
from bridge.loop.outcome import Outcome, answer_of
from bridge.loop.plan import without
from bridge.loop.policy import Decision, LoopState, Moment, Verdict
from bridge.loop.records import TurnRecord, begun, interrupted
from bridge.loop.review import Reviewer
from bridge.loop.runs import Pause
from bridge.loop.standstill import Standstill, WorkWatch, sentence
from bridge.loop.store import CREW, REVIEW
from bridge.records import read_object
from bridge.turn.tool import Command, CommandBuilt, run_turn
from bridge.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Generator

    from bridge.git.tree import TreeState
    from bridge.loop.active import ActiveRun
    from bridge.loop.handler import Clock, TurnHandler
    from bridge.loop.inbox import Message
    from bridge.loop.plan import Plan
    from bridge.loop.policy import Policy
    from bridge.loop.settings import LoopSettings
    from bridge.sandbox.guard import Guard
    from bridge.stream.analysis import PermanentFailure
    from bridge.turn.tool import Tool, TurnRequest, TurnResult

S = TypeVar("S", bound=LoopState)
O = TypeVar("O", bound=Outcome)  # noqa: E741

_SLICE = 1.0
"""Seconds between two events while the loop waits."""


def run_loop(
    tool: Tool,
    policy: Policy[S, O],
    handler: TurnHandler[S, O],
    settings: LoopSettings,
    *,
    active: ActiveRun,
    state: S,
    clock: Clock | None = None,
) -> Generator[LoopEvent, None, None]:
    """Run a loop to its end, yielding what happens; the last event is a :class:`LoopEnded`.

    Close the generator (``contextlib.closing``) when you leave early: that ends the tool's process group.

    Args:
        tool: runs the turns.
        policy: decides.
        handler: does what the setup has around a turn; its store writes the setup's files.
        settings: how to run it.
        active: holds the project while the loop runs; entered here unless it is already.
        state: where the loop begins.
        clock: the time; None for the real one.

    Raises:
        bridge.errors.ProjectBusy: another loop is at work in the project.
        bridge.errors.BridgeError: the tool failed in the first turn, a file can't be written.
    """
    yield from _Loop(tool, policy, handler, settings, active, state, clock or WallClock()).run()


class _Loop(Generic[S, O]):
    def __init__(
        self,
        tool: Tool,
        policy: Policy[S, O],
        handler: TurnHandler[S, O],
        settings: LoopSettings,
        active: ActiveRun,
        state: S,
        clock: Clock,
    ) -> None:
        self.tool = tool
        self.crew = Crew(tool, settings)
        self.policy = policy
        self.handler, self.store = handler, handler.store
        self.settings = settings
        self.active = active
        self.state = state
        self.clock = clock
        self.repository = Repository(settings.project, settings.files, env=settings.env)
        self.sessions = self.helped = self.turned = False
        self.standstill = Standstill()
        self.permanent: PermanentFailure | None = None
        self.under_way: TurnRecord | None = None
        self.begun = 0
        self.began = clock.monotonic()
        box = settings.box
        self.guard: Guard | None = None if box is None else box.guard(self.store.logs)
        wanted = settings.gates.review if settings.gates else None
        folder, logs = self.store.folder, self.store.logs
        self.reviewer: Reviewer | None = None
        if wanted is not None:
            self.reviewer = Reviewer(wanted, settings, folder, logs, self.repository, clock.now)
        self.gates = Gates(settings, logs, self.reviewer)
        self.reviews: list[tuple[TurnRecord, Outcome]] = []
        self.inbox = Inbox(logs)

    def run(self) -> Generator[LoopEvent, None, None]:
        facts = {"project": str(self.settings.project), "tool": self._shown(self.tool.name)}
        self.observers = Observers(Notifier(facts, self.settings.env or os.environ))
        with self.crew, self.reviewer or nullcontext(), self.active:
            self.crew.check()
            left: tuple[str, ...] = ()
            if self.settings.box is not None:  # before its records are begun, which name it
                self.active.uses(self._shown(self.active.tool))
                left = self.settings.box.clear(self.settings.environment)
            self._observed()
            self.store.open(self.active, self.state)
            if not self.crew.alone:
                goes_on = self.active.before is not None and self.active.before.cut_off
                self.crew.take_over(read_object(self.store.folder / CREW), self._now(), goes_on=goes_on)
            self.gates.take_over(read_object(self.store.folder / REVIEW))
            before = self.active.before
            self.inbox.begin(goes_on=before is not None and before.end is None)
            notices = [*self.handler.open(self.active)]
            if self.reviewer is not None and self.reviewer.name == self.tool.name:
                notices.append(f"the review is by the tool of the loop itself, {self.tool.name}")
            self._record(RunOpened(self.active.before))
            self.active.capped(self.settings.caps.named())
            self.tally = Tally(self.settings.caps, self.active.spent)
            self._note("began", **self._beginning())
            try:
                try:
                    yield from map(Notice, (*left, *notices))
                    decision = yield from self._iterations()
                except BaseException as error:
                    ending = None if isinstance(error, GeneratorExit) else self.handler.ended_by(error)
                    self._interrupted(error, ending)
                    if ending is None:
                        raise
                    decision = ending
                end = yield from self._finish(decision)
                self.observers.close()
                for line in self.observers.problems():
                    yield from self._tell(Notice(line))
            finally:
                self.handler.close()
                self.observers.close()
        yield end

    def _observed(self) -> None:
        before = self.active.before
        facts = RunFacts(
            run_id=self.active.run_id,
            project=self.settings.project,
            tool=self.active.tool,
            before=before.trace if before is not None and before.cut_off else "",
            traced=self.active.traced,
        )
        self.observers.add(observe(facts) for observe in self.settings.observers)

    def _beginning(self) -> dict[str, Any]:
        facts = {"tool": self.active.tool, "head": self.repository.head(), "branch": self.repository.branch()}
        return facts | ({"task": self.active.task} if self.active.task else {})

    def _record(self, event: LoopEvent) -> None:
        self.observers.take(event)
        self.store.record(event)

    def _finish(self, decision: Decision) -> Generator[LoopEvent, None, LoopEnded]:
        """End what is left running, put down the end: also where a signal comes meanwhile."""
        try:
            yield from self._end_leftovers()
        except BaseException:
            with suppress(BridgeError):
                end = self._ended(decision)
                self._history_ends(end.verdict.value, end.reason, end.detail)
                self.store.record(end)
                deque(self.handler.follow_up(end), maxlen=0)
            raise
        end = self._ended(decision)
        self.observers.take(end)  # first: whatever can't be written, somebody gets to know that it is over
        self._history_ends(end.verdict.value, end.reason, end.detail)
        self.store.record(end)
        yield from self.handler.follow_up(end)
        return end

    def _ended(self, decision: Decision) -> LoopEnded:
        self.active.over(decision.reason, decision.detail)
        return LoopEnded(
            decision.verdict,
            decision.reason,
            decision.detail,
            self.state.iteration,
            self._elapsed(),
            self.state,
            self.tally.totals,
            decision.status,
            self.permanent if decision.verdict is Verdict.INCOMPLETE else None,
            self.standstill.idle,
        )

    def _interrupted(self, error: BaseException, ending: Decision | None) -> None:
        """Put down that the loop ends in the middle; what can't be written now is no reason to hide why."""
        action, reason = interruption(error)
        if ending is not None and isinstance(error, Exception):
            reason = ending.reason
        turn = None
        with suppress(BridgeError):
            for line in self.guard.after(self.begun) if self.guard is not None else ():
                self.store.record(Notice(line))
        with suppress(BridgeError):
            self._keep_reviews()
        with suppress(BridgeError):
            if self.under_way is not None:
                turn = self._keep(interrupted(self.under_way, reason, self._now()))
        self.under_way = None
        if ending is not None:  # it is told of as a loop that has ended: in the iteration that was begun last
            self.state = replace(self.state, iteration=max(self.state.iteration, self.begun))
            return
        if action == "interrupted":
            self.active.over(reason)
        with suppress(BridgeError):
            self._history_ends("interrupted", reason, "" if action == "interrupted" else str(error))
        try:
            with suppress(BridgeError):
                deque(self._end_leftovers(), maxlen=0)
        finally:  # a second signal may have come
            interrupted_by = LoopInterrupted(action, reason, self.state.iteration, error, self.state, turn)
            self.observers.take(interrupted_by)
            with suppress(BridgeError):
                self.store.record(interrupted_by)
                deque(self.handler.follow_up(interrupted_by), maxlen=0)

    def _end_leftovers(self) -> Generator[LoopEvent, None, None]:
        if groups := self.active.end_leftovers():
            yield from self._tell(LeftoversEnded(groups))

    def _iterations(self) -> Generator[LoopEvent, None, Decision]:
        self.sessions = self.settings.resume and self.tool.supports_sessions()
        while True:
            self.active.renew()
            self.state, wrong = self.handler.load(self.state)
            self._record(TurnPrepared(self.state))
            for line in (*wrong, *self.observers.problems()):
                yield from self._tell(Notice(line))
            skipped = self.inbox.skipped()
            plan = without(self.handler.read_plan(), skipped)
            self.state, decision = self.policy.begin(self.state, plan, self._moment(doubted=self.gates.doubts))
            if (yield from self._refused(decision, self.state.iteration)):
                continue
            self._keep_reviews()
            if decision.verdict is Verdict.CONTINUE and not decision.wait:
                now = self._now()
                decision = (
                    self._capped()
                    or self._paused(now)
                    or self.crew.wait(now)
                    or (yield from self._iterate(plan, skipped))
                )
            if decision.verdict is Verdict.CONTINUE and decision.wait and (capped := self._capped()):
                decision = capped  # rather than wait for a turn that may not start
            if decision.verdict is not Verdict.CONTINUE:
                if skipped:
                    names = "; ".join(one_line(each, 80) for each in skipped)
                    yield from self._tell(Notice(f"left alone, as its user has asked: {names}"))
                return self.gates.told(decision)
            yield from self._wait(decision)

    def _capped(self) -> Decision | None:
        return self.settings.caps.reached(self.tally.spent, self.tally.untold, self.clock.now())

    def _paused(self, now: float) -> Decision | None:
        most = self.settings.limits.max_seconds  # then the policy has its say, which may be a last turn
        return None if most is not None and self._elapsed() >= most else self.inbox.wait(now)

    def _given(self, messages: tuple[Message, ...]) -> Generator[LoopEvent, None, None]:
        for each in messages:
            text = f"this turn is given the message: {one_line(each.text, 300)}"
            yield from self._tell(MessageGiven(text, message=each.text))

    def _iterate(self, plan: Plan | None, skipped: tuple[str, ...]) -> Generator[LoopEvent, None, Decision]:
        yield from self._change_tools(plan)
        messages = self.inbox.next()
        sessions = self.settings.resume and self.tool.supports_sessions()
        session = self.crew.session(self.tool.name, self.state.session_id) if sessions else None
        tree = self.repository.look()
        watch = WorkWatch(self.settings, self.handler.progress, tree)
        request = replace(
            self.handler.begin_turn(self.state, plan, session),
            first=not self.turned,
            added="\n\n".join(filter(None, (self.gates.words, words_for(messages, skipped)))),
            timeout=self._turn_seconds(),
            on_start=self.active.program,
            on_output=self.handler.show,
            on_notice=self.handler.hook_is_slow,
            on_line=self.observers.line if self.settings.observers else None,
            exports=self.observers.variables,
        )
        yield from self._given(messages)
        began = self.clock.monotonic()
        command, result = yield from self._turn(request, plan, tree)
        self.turned = True
        yield from self._undone(request.number)
        turn = Turn(
            tool=self.tool,
            request=request,
            command=command,
            result=result,
            plan=plan,
            sessions=sessions,
            now=self.clock.now(),
            seconds_left=self._turn_seconds(),
            repository=self.repository,
            tree=tree,
        )
        outcome = self.handler.take_in(self.state, turn)
        if result.left is not None:
            self._counted(turn, outcome, self.clock.monotonic() - began, self._now())
            self.under_way = None
            raise result.left
        if not result.shown and (words := answer_of(outcome)):
            yield from self._tell(OutputText(request.number, words))
        real = self.handler.check(outcome, turn)
        if real.failure is None or real.timed_out:  # else it may not have come to hear of them
            self.inbox.done(messages)
        before, own_session = self.state, self.state.session_id
        outcome = self.crew.took(self.tool.name, real, self._now(), own_session=own_session)
        outcome = replace(outcome, plan=without(outcome.plan, self.inbox.skipped()))
        self.gates.ran(outcome)
        self.state, decision = self.policy.decide(before, outcome, self._moment())
        worked = watch.worked(turn, outcome) if self.settings.limits.max_idle else None
        self.standstill, self.permanent = self.standstill.after(outcome, worked), outcome.permanent
        cli = os.path.basename(command.argv[0]) if command.argv else self.tool.name
        decision = self._judged(decision, outcome, cli)
        ended, seconds = self._now(), self.clock.monotonic() - began
        try:
            if (yield from self._refused(decision, request.number, outcome)):
                outcome = outcome.not_complete()
                self.state, decision = self.policy.decide(before, outcome, self._moment(doubted=True))
                decision = self._judged(decision, outcome, cli)
        except BaseException:  # while the check ran: what the turn was is known
            self._counted(turn, real, seconds, ended)
            self._keep_reviews()
            self.under_way = None
            raise
        for line in self.handler.keep(self.state, outcome, decision):
            yield from self._tell(Notice(line))
        spent = self.tally.spent
        record = self._counted(turn, real, seconds, ended)
        self._keep_reviews()
        if not self.crew.alone:
            self.store.record(CrewStands(self.crew.document()))
        for line in self.settings.caps.warnings(spent, self.tally.spent):
            yield from self._tell(Notice(line))
        self.under_way = None
        yield from self._tell(
            IterationEnded(
                iteration=request.number,
                outcome=outcome,
                decision=decision,
                seconds=seconds,
                log=request.logs.for_people,
                state=self.state,
                stderr=request.logs.stderr,
                sessions=self.sessions,
                turn=record,
                session_id=request.session if self.tool is self.crew.own else own_session,
                worked=watch.worked(turn, outcome),
            )
        )
        yield from self._advise(request.number, outcome, decision, cli)
        if decision.verdict is Verdict.CONTINUE and decision.reason == "":
            self.state = yield from self._between(outcome, turn)
        yield from self._undone(request.number, walk=False)
        return decision

    def _advise(self, number: int, outcome: O, decision: Decision, cli: str) -> Generator[LoopEvent, None, None]:
        """Say what people can do about a turn that could not do what it wanted."""
        if outcome.permanent and self.standstill.permanent == 1 and decision.verdict is Verdict.CONTINUE:
            once = "; it is tried once more" if self.settings.limits.permanent_failures else ""
            yield from self._tell(Notice(f"{sentence(outcome.permanent, cli)}{once}"))
        if outcome.denied and not self.helped:
            self.helped = True
            refused = outcome.analysis.denied_commands if outcome.analysis else ()
            yield from self._tell(DenialHelp(number, refused, self.tool.denial_help()))

    def _judged(self, decision: Decision, outcome: O, cli: str) -> Decision:
        decision = self.standstill.judge(decision, outcome, self.settings.limits, cli)
        return self.crew.instead(decision, self.tool.name, self._now())

    def _refused(
        self, decision: Decision, number: int, outcome: O | None = None
    ) -> Generator[LoopEvent, None, bool]:
        """Have the gates look, where they want to; say whether a loop that calls itself complete isn't."""
        if self.gates.wants(decision, outcome, number):
            capped = self._capped()
            why = (capped.detail or capped.reason) if capped else ""
            progress, variables = self.handler.progress(), self.observers.variables
            asked = Asked(progress, self._turn_seconds(), why, self.active.program, variables)
            looking = self.gates.look(number, decision, asked)
            with closing(looking):
                for event in looking:
                    self.active.renew()
                    yield from self._tell(event)
                    self._take_look(event)
                    if outcome is not None and self.handler.stopped():
                        return True  # the next look at the loop's files ends it
            yield from self._undone(number)
        refused = self.gates.refuses(decision, outcome)
        if (document := self.gates.document()) is not None:
            self._record(ReviewStands(document))
        return refused

    def _take_look(self, event: LoopEvent) -> None:
        """Note what the gates have seen; reviews are counted behind the turn that they were about."""
        if isinstance(event, CheckEnded):
            status, why, seconds, _ = event.checked
            log = os.path.relpath(event.log, self.settings.project)
            self._note("checked", turn=event.iteration, status=status, why=why, seconds=round(seconds, 3), log=log)
        elif isinstance(event, ReviewTurnStarted):
            self.reviews.append((event.turn, Outcome()))
        elif isinstance(event, ReviewTurnEnded):
            self.reviews[-1] = (event.turn, event.outcome)

    def _keep_reviews(self) -> None:
        for record, outcome in self.reviews:
            cut_off = record.result == "interrupted"
            self._keep(interrupted(record, "", self._now()) if cut_off else record, outcome)
        self.reviews.clear()

    def _change_tools(self, plan: Plan | None) -> Generator[LoopEvent, None, None]:
        """Have the tool whose turn it is at work from now on."""
        before, now = self.crew.at_work, self._now()
        name = self.crew.choose(plan, now) or before
        if name == before:
            return
        why = self.crew.why(name, now)
        self.crew.at_work, self.tool = name, self.crew.tool(name)
        self.active.uses(self._shown(name))
        self._note("tool", tool=name, before=before, why=why)
        yield from self._tell(
            ToolChanged(f"{name} takes over from {before}: {why}", tool=name, before=before, why=why)
        )

    def _shown(self, name: str) -> str:
        return name if self.settings.box is None else f"{name} in {self.settings.box.name}"

    def _undone(self, turn: int, *, walk: bool = True) -> Generator[LoopEvent, None, None]:
        """Put back what a turn in a box had no business to change, before anybody reads it."""
        if self.guard is not None:
            for line in self.guard.after(turn, walk=walk):
                yield from self._tell(Notice(line))

    def _turn(
        self, request: TurnRequest, plan: Plan | None, tree: TreeState | None
    ) -> Generator[LoopEvent, None, tuple[Command, TurnResult]]:
        command = Command()
        events = run_turn(self.tool, request)
        with closing(events):
            while True:
                try:
                    event = next(events)
                except StopIteration as stop:
                    return command, stop.value
                if isinstance(event, CommandBuilt):
                    command = event.command
                    event = self._started(request, command, plan, tree)
                elif isinstance(event, RunProgress):
                    self.active.renew()
                yield from self._tell(event)

    def _started(
        self, request: TurnRequest, command: Command, plan: Plan | None, tree: TreeState | None
    ) -> IterationStarted:
        output = request.logs.for_people
        self.active.turn(request.number)
        self.begun = request.number
        self.under_way = replace(
            begun(request.number, self._now(), output, self.settings.project), tool=self._recorded_tool()
        )
        head = tree.head if tree else ""
        return IterationStarted(
            iteration=request.number,
            argv=command.argv,
            session_id=request.session,
            live=command.live,
            plan=plan,
            log=output,
            state=self.state,
            head=head,
            prompt=request.prompt,
            context=request.context,
        )

    def _between(self, outcome: O, turn: Turn) -> Generator[LoopEvent, None, S]:
        events = self.handler.between(self.state, outcome, turn)
        with closing(events):
            while True:
                try:
                    event = next(events)
                except StopIteration as stop:
                    state: S = stop.value
                    return state
                yield from self._tell(event)

    def _counted(self, turn: Turn, outcome: O, seconds: float, ended: float) -> TurnRecord:
        record = turn.record(
            outcome, seconds, now=ended, plan=self.handler.progress(), project=self.settings.project
        )
        return self._keep(replace(record, tool=self._recorded_tool()), outcome)

    def _recorded_tool(self) -> str:
        return "" if self.crew.alone else self._shown(self.tool.name)

    def _keep(self, record: TurnRecord, outcome: Outcome | None = None) -> TurnRecord:
        usage = outcome.analysis.usage if outcome is not None and outcome.analysis else None
        resumed = outcome is not None and outcome.resumed
        caps = self.crew.caps(record.tool.partition(" in ")[0] or self.tool.name)
        record = self.tally.add(record, usage, self.clock.now(), resumed=resumed, caps=caps)
        self.crew.spent(record)
        self.active.spends(self.tally.spent)
        self._record(TurnRecorded(record, usage))
        return record

    def _wait(self, decision: Decision) -> Generator[LoopEvent, None, None]:
        """Wait, visibly: an event about every second, and none when there is nothing to wait for."""
        left = decision.wait
        if left <= 0:
            return
        until, began = self.clock.now() + timedelta(seconds=left), self.clock.monotonic()
        reason, most = decision.reason or "pause", self.settings.limits.max_seconds
        first, waited_from = True, self._now()
        self.active.waiting(Pause(reason, decision.detail, until.timestamp()))
        try:
            while left > 0 and not self.handler.stopped() and not (most is not None and self._elapsed() >= most):
                if self.inbox.goes_on(reason, self._now()):
                    break
                yield from self._tell(
                    Waiting(self.state.iteration, reason, decision.detail, until, left, first, self.state)
                )
                first = False
                self.clock.wait(min(left, _SLICE))
                # One of the clocks may be set back meanwhile, the other stands still while the machine sleeps.
                passed = self.clock.monotonic() - began
                left = min((until - self.clock.now()).total_seconds(), decision.wait - passed)
        finally:
            waited = round(self._now() - waited_from, 3)
            self._note("waited", at=waited_from, reason=reason, detail=decision.detail, seconds=waited)
        self.active.waiting(None)

    def _tell(self, event: LoopEvent) -> Generator[LoopEvent, None, None]:
        match event:
            case CheckStarted():
                self.active.looks("check", event.command)
            case ReviewTurnStarted():
                self.active.looks("review", event.tool)
            case ReviewStarted():
                self.active.looks("review", " ".join(event.argv[:1]))
            case CheckEnded() | ReviewTurnEnded() | ReviewEnded():
                self.active.looks()
        self._record(event)
        further = self.handler.follow_up(event)
        yield event
        yield from further

    def _turn_seconds(self) -> float | None:
        most, timeout = self.settings.limits.max_seconds, self.settings.timeout
        if most is None:
            return timeout
        left = max(most - self._elapsed(), 0.0)
        return left if timeout is None else min(left, timeout)

    def _history_ends(self, verdict: str, reason: str, detail: str) -> None:
        self._note("ended", verdict=verdict, reason=reason, detail=detail, head=self.repository.head())

    def _note(self, name: str, *, at: float | None = None, **facts: object) -> None:
        if at is None:
            facts["plan"] = self.handler.progress()
        self._record(RunNote(name, self._now() if at is None else at, facts))

    def _now(self) -> float:
        return self.clock.now().timestamp()

    def _moment(self, *, doubted: bool = False) -> Moment:
        return Moment(self.clock.now(), self._elapsed(), doubted)

    def _elapsed(self) -> float:
        return self.clock.monotonic() - self.began
