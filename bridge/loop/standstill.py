"""A loop that gets nowhere: failures that no repetition mends, and turns that come to nothing. Pure.

The same for every setup; how many of them are enough is a matter of its :class:`~bridge.loop.policy.Limits`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridge.clis import login_step
from bridge.git.work import WorkDetector
from bridge.loop.policy import Decision, Verdict
from bridge.stream.analysis.model import PermanentReason
from bridge.turn.progress import last_sentence
from bridge.wording import one_line, plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.git.tree import TreeState
    from bridge.loop.handler import Turn
    from bridge.loop.outcome import Outcome
    from bridge.loop.policy import Limits
    from bridge.loop.settings import LoopSettings
    from bridge.stream.analysis.model import PermanentFailure

IDLE = "no_file_changes"
"""Why a loop ends whose turns come to nothing."""

REASONS = frozenset((IDLE, *PermanentReason))
"""Why a loop ends that gets nowhere."""

NOT_READY = 4
"""Exit code for what the environment lacks."""

_GIVEN_UP = ("max_iterations", "consecutive_failures")
_BLOCK = re.compile(r"-*RALPH_STATUS-*.*", re.DOTALL)
_SENTENCES = re.compile(r"(?<=[.!?\u2026])[*_\"')]*\s+|\n+|(?<=[\u3002\uff01\uff1f])")
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
    """

    permanent: int = 0
    idle: int = 0

    def after(self, outcome: Outcome, worked: bool | None) -> Standstill:
        """Count one more turn.

        Args:
            outcome: what it came to.
            worked: whether it changed anything; None: nobody can tell.
        """
        permanent = self.permanent + 1 if outcome.permanent else 0
        idle = 0 if worked or worked is None else self.idle + (outcome.failure is None)
        return Standstill(permanent, idle)

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
        if goes_on and outcome.failure is None and 0 < limits.max_idle <= self.idle:
            words = last_words(outcome.words)
            detail = f"{plural(self.idle, 'turn')} in a row changed nothing{f'; {words}' if words else ''}"
            return Decision(Verdict.INCOMPLETE, IDLE, detail, status=1)
        return decision


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
