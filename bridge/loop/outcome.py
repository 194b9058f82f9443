"""What one run of the CLI came to, and whether that is a failure. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.git.repository import Changes
    from bridge.loop.gates import GateOutcome, GateResults
    from bridge.loop.plan import Plan
    from bridge.stream.analysis import Analysis, Limit

__all__ = ["Outcome", "failure_of", "is_dead_session"]

# How the CLIs say that they don't know a session (drift D17).
_DEAD = re.compile(
    r"no conversation found with session id|--resume requires a valid session|no rollout found for thread"
    r"|thread/resume failed|session not found|no session, task,? or name matched|unknown session|no such session"
    r"|(?:session|thread|conversation)\b.{0,80}\b(?:does not exist|has expired|expired|could not be found)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of the CLI came to.

    Attributes:
        status: exit status, or minus the number of the signal that ended it.
        timed_out: it was ended because it ran for too long.
        idle: it was ended because it wrote no file for too long.
        completed: False when its output ends without the event that closes a finished turn; None when
            such output has no closing event (plain text).
        said: the assistant's words, or output of an unknown kind, were there; None when nobody looked.
        is_error: the output itself reports failure.
        error: what it says about that.
        exit_signal: EXIT_SIGNAL of the status block in the assistant's text; None without one.
        promised: the completion promise stood in the assistant's text.
        plan: the fix plan after the run; None when there is none.
        session_id: the session that the run left behind.
        resumed: the run had been given a session.
        dead_session: the CLI doesn't know that session.
        limit: the provider's limit that ended it, or None.
        analysis: of its output, as plan and gates left it, or None.
        reported: of its output, before plan and gates had their say.
        changes: by git, or None when nobody asked.
        gates: results of the quality gates, or None when none ran.
        gate: what follows from them.
        denied: tools were refused.
        ticked: boxes of the plan that the run ticked.
    """

    status: int = 0
    timed_out: bool = False
    idle: bool = False
    completed: bool | None = None
    said: bool | None = None
    is_error: bool = False
    error: str | None = None
    exit_signal: bool | None = None
    promised: bool = False
    plan: Plan | None = None
    session_id: str | None = None
    resumed: bool = False
    dead_session: bool = False
    limit: Limit | None = None
    analysis: Analysis | None = None
    reported: Analysis | None = None
    changes: Changes | None = None
    gates: GateResults | None = None
    gate: GateOutcome = "pass"
    denied: bool = False
    ticked: int = 0

    @property
    def files_changed(self) -> int:
        """How many files git saw changed."""
        return self.changes.count if self.changes else 0

    @property
    def productive(self) -> bool:
        """Whether it ran out of time and had changed files by then: its work is not thrown away (trap T19)."""
        return self.timed_out and self.files_changed > 0

    @property
    def silent(self) -> bool:
        """Whether it ended by itself and left nothing behind: no words, no changed file, no tick in the plan."""
        by_itself = self.status == 0 and not (self.timed_out or self.idle or self.is_error)
        return by_itself and self.said is False and not self.files_changed and self.ticked <= 0


def failure_of(outcome: Outcome) -> str | None:
    """Say why a run counts as failed, or None.

    Status 0 alone is no success: a CLI that can't reach its provider may exit with 0 and print nothing. With words
    of the assistant it is one, whether or not the event came that closes a turn: which event that is differs from
    version to version of a CLI, and a loop that waits for the wrong one repeats its first run for ever.
    """
    said = f": {outcome.error}" if outcome.error else ""
    if outcome.idle:
        return "it wrote no file for too long and was ended"
    if outcome.timed_out:
        return None if outcome.productive else "it ran for too long and was ended"
    if outcome.status < 0:
        return f"it was ended by signal {-outcome.status}{said}"
    if outcome.status > 0:
        return f"exit status {outcome.status}{said}"
    if outcome.is_error:
        return f"it reported an error{said}"
    if outcome.completed:
        return None
    cut = outcome.completed is False and (outcome.said is None or outcome.limit is not None)
    if outcome.silent and outcome.completed is None:
        return f"it printed nothing{said}"
    return f"its output ends without a result{said}" if cut or outcome.silent else None


def is_dead_session(*texts: str | None) -> bool:
    """Say whether a CLI's own words mean that it doesn't know the session that it was to resume."""
    return any(text and _DEAD.search(text) for text in texts)
