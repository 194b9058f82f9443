"""A loop that gets nowhere: failures that no repetition mends, and turns that come to nothing. Pure.

The same for every setup; how many of them are enough is a matter of its :class:`~bridge.loop.engine.policy.Limits`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bridge.base.clis import find_cli, login_step
from bridge.base.git.work import WorkDetector
from bridge.base.patterns import lazy
from bridge.base.records import dataclass
from bridge.base.wording import one_line, plural
from bridge.loop.engine.policy import Decision, Verdict
from bridge.loop.turn.progress import last_sentence
from bridge.loop.turn.tool import NOT_STARTED
from bridge.scripts.stream.analysis.model import PermanentReason
from bridge.scripts.stream.analysis.permanent import may_pass

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.base.git.tree import TreeState
    from bridge.loop.engine.handler import Turn
    from bridge.loop.engine.loop_settings import LoopSettings
    from bridge.loop.engine.outcome import Outcome
    from bridge.loop.engine.policy import Limits
    from bridge.scripts.stream.analysis.model import PermanentFailure

IDLE = "no_file_changes"
"""Why a loop ends whose turns come to nothing."""

SAME = "same_failure"
"""Why a loop ends whose tool fails in the same way, and at once, each time."""

PROMPT_GONE = "prompt_gone"
"""Why a loop ends whose prompt is there no more."""

REASONS = frozenset((IDLE, SAME, PROMPT_GONE, *PermanentReason))
"""Why a loop ends that gets nowhere."""

NOT_READY = 4
"""Exit code for what the environment lacks."""

_AT_ONCE = 20.0
"""Seconds within which a tool fails that can't work here at all."""

_MUTE = 2
"""How many times as often a failure has to come that says nothing: it may have been another one each time."""

_GIVEN_UP = ("max_iterations", "consecutive_failures")
_BLOCK = lazy(r"-*RALPH_STATUS-*.*", re.DOTALL)
_SENTENCES = lazy(r"(?<=[.!?\u2026])[*_\"')]*\s+|\n+|(?<=[\u3002\uff01\uff1f])")
_AROUND = " \t*_>#-\"'`()"
_LOOKED_AT = 4096
_WORDS = 200

_WHAT = {
    PermanentReason.NOT_LOGGED_IN: "{cli} is not logged in",
    PermanentReason.KEY_REFUSED: "{cli}'s key or login is refused",
    PermanentReason.NO_CREDIT: "{cli}'s credit is used up",
    PermanentReason.SUBSCRIPTION_ENDED: "{cli}'s subscription or account is not active",
    PermanentReason.UNKNOWN_MODEL: "{cli} can't use this model",
    PermanentReason.NO_ACCESS: "{cli}'s account has no access",
}
_NEXT = {
    PermanentReason.NO_CREDIT: "add credit with its provider, or use another account: {login}",
    PermanentReason.SUBSCRIPTION_ENDED: "renew it, or use another account: {login}",
    PermanentReason.UNKNOWN_MODEL: "name a model that the account may use, for {cli} or in its script's settings",
    PermanentReason.NO_ACCESS: "use an account that has it: {login}",
}


def sentence(failure: PermanentFailure, cli: str) -> str:
    """Say what is wrong, in the CLI's words, and what to do about it; one line.

    Args:
        failure: what a run said.
        cli: the name of its program.
    """
    login = login_step(cli)
    what, step = _WHAT[failure.reason], _NEXT.get(failure.reason, "{login}")
    said = f": {failure.text}" if failure.text else ""
    return f"{what.format(cli=cli)}{said} · next: {step.format(cli=cli, login=login)}"


@dataclass(frozen=True, slots=True)
class Standstill:
    """What the last turns in a row came to.

    Attributes:
        permanent: how many failed in a way that no repetition mends.
        idle: how many ended well and came to nothing; what failed, or was ended by a limit, has rules of its own.
        same: how many failed with the same `words`, or with none, at once and without an answer.
        answered: a turn went well, or had an answer.
    """

    permanent: int = 0
    idle: int = 0
    same: int = 0
    words: str = ""
    answered: bool = False

    def after(self, outcome: Outcome, worked: bool | None, seconds: float = 0.0) -> Standstill:
        """Count one more turn.

        Args:
            worked: whether it changed anything; None: nobody can tell.
            seconds: that it took.
        """
        permanent = self.permanent + 1 if outcome.permanent else 0
        idle = 0 if worked or worked is None else self.idle + (outcome.failure is None)
        answered = self.answered or outcome.failure is None or bool(outcome.said)
        words = _same_words(outcome, seconds)
        counts = words and (not answered or outcome.status == NOT_STARTED)
        same = (self.same + 1 if words == self.words else 1) if counts else 0
        return Standstill(permanent, idle, same, words, answered)

    def judge(self, decision: Decision, outcome: Outcome, limits: Limits, cli: str) -> Decision:
        """Say what follows instead of `decision`: completion always wins, and so does what a setup ends by itself.

        Args:
            decision: the policy's.
            outcome: of the last turn.
            limits: how much is enough.
            cli: the program that was run.
        """
        if decision.verdict is Verdict.COMPLETE:
            return decision
        goes_on = decision.verdict is Verdict.CONTINUE
        if failure := outcome.permanent:
            words = sentence(failure, cli)
            ours = goes_on or (decision.status is None and decision.reason in _GIVEN_UP)
            if ours and 0 < limits.permanent_failures <= self.permanent:
                return Decision(Verdict.INCOMPLETE, failure.reason.value, words, status=NOT_READY)
            return decision if goes_on or decision.detail else replace(decision, detail=words)
        enough = limits.same_failures * (1 if outcome.error else _MUTE)
        if goes_on and 0 < enough <= self.same and outcome.failure:
            times, step = f"{self.same} turns in a row failed in the same way", _step(outcome, cli)
            what = outcome.failure
            if outcome.error and outcome.error not in what:
                what = f"{what}: {outcome.error}"
            elif not outcome.error and not outcome.silent:
                what = f"{what}, without a word"
            detail = f"{times}: {what} · next: {step}"
            return Decision(Verdict.INCOMPLETE, SAME, detail, status=NOT_READY)
        if goes_on and outcome.failure is None and 0 < limits.max_idle <= self.idle:
            words = last_words(outcome.words)
            detail = f"{plural(self.idle, 'turn')} in a row changed nothing{f'; {words}' if words else ''}"
            return Decision(Verdict.INCOMPLETE, IDLE, detail, status=1)
        return decision


def _same_words(outcome: Outcome, seconds: float) -> str:
    """What a failure says that may be there each time, words with digits aside; '' of any other turn."""
    ours = outcome.failure is None or outcome.limit or outcome.timed_out or outcome.idle or outcome.files_changed
    words = outcome.error or outcome.failure or ""
    if ours or seconds > _AT_ONCE or may_pass(words):
        return ""
    return re.sub(r"\S*\d\S*", "0", words)


def _step(outcome: Outcome, cli: str) -> str:
    """What to do about a failure, as far as it is known of the CLI."""
    known = find_cli(cli)
    for drift in known.drifts if known is not None else ():
        if re.search(drift.pattern, outcome.error or "", re.IGNORECASE):
            return drift.hint
    return f"try it by hand: {cli}"


class WorkWatch:
    """Says whether a turn changed anything but the loop's own files.

    Args:
        settings: of the loop; what git doesn't see is looked at only where idle turns count.
        progress: says how far the plan has come.
        tree: the working tree before the turn; None: git can't be asked.
    """

    def __init__(
        self, settings: LoopSettings, progress: Callable[[], tuple[int, int] | None], tree: TreeState | None
    ) -> None:
        self._counts = settings.limits.max_idle > 0
        self._progress = progress
        self._before = progress() if self._counts else None
        self._walker = WorkDetector(settings.project, settings.files) if self._counts and tree is None else None
        self._files = self._walker.look() if self._walker else None

    def worked(self, turn: Turn, outcome: Outcome) -> bool | None:
        """Say so of the turn that is over; None: nobody can tell."""
        if outcome.files_changed or outcome.ticked or outcome.plan not in (None, turn.plan):
            return True
        if self._counts and self._progress() != self._before:
            return True
        if turn.changes is not None:
            return turn.changes.count > 0
        if self._walker is None or self._files is None:
            return None
        return self._walker.changed(self._files, self._walker.look())


def last_words(text: str) -> str:
    """Quote the last question of an assistant, else its last sentence; '' where it said nothing.

    >>> last_words("I looked around. Shall I take SQLite or Postgres?\\n\\nTell me.")
    'the assistant asks: "Shall I take SQLite or Postgres?"'
    """
    text = _BLOCK.sub("", text[-_LOOKED_AT:])
    pieces = [each.strip(_AROUND) for each in _SENTENCES.split(text)]
    questions = [each for each in pieces if each.endswith(("?", "\uff1f")) and each.strip("?\uff1f")]
    if questions:
        return f'the assistant asks: "{one_line(questions[-1], _WORDS)}"'
    last = one_line(last_sentence(text) or "", _WORDS)
    return f'its last words: "{last}"' if last else ""
