"""What one turn came to, and whether that is a failure. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from bridge.base.json_ready import members, ready
from bridge.base.patterns import lazy
from bridge.base.records import dataclass
from bridge.base.wording import one_line
from bridge.errors import HookError, OutputNotFound, OutputUnreadable
from bridge.scripts.session_id import is_dead_session, validate_session_id
from bridge.scripts.stream.events.base import squeezed

if TYPE_CHECKING:
    from datetime import datetime

    from bridge.base.git.repository import Changes
    from bridge.loop.engine.plan import Plan
    from bridge.loop.turn.tool import Tool, TurnRequest, TurnResult
    from bridge.scripts.stream.analysis import Analysis, Limit, PermanentFailure


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one turn came to.

    Attributes:
        status: exit status, or minus the number of the signal that ended it.
        timed_out: it was ended because it ran for too long.
        idle: it was ended because it wrote no file for too long.
        mute: it was ended because it printed nothing for too long, which counts as `timed_out`, too.
        completed: False when its output ends without the event that closes a finished turn; None when
            such output has no closing event (plain text).
        said: the assistant's words, or output of an unknown kind, were there; None when nobody looked.
        is_error: the output itself reports failure.
        error: what it says about that.
        exit_signal: EXIT_SIGNAL of the status block in the assistant's text; None without one.
        promised: the completion promise stood in the assistant's text.
        plan: the fix plan after the turn; None when there is none.
        session_id: the session that the turn left behind.
        resumed: the turn had been given a session.
        dead_session: the CLI doesn't know that session, or failed without a word when it was to resume it.
        limit: the provider's limit that ended it, or None.
        analysis: of its output, or None.
        changes: by git, or None when nobody asked.
        denied: tools were refused.
        ticked: boxes of the plan that the turn ticked.
    """

    status: int = 0
    timed_out: bool = False
    idle: bool = False
    mute: bool = False
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
    changes: Changes | None = None
    denied: bool = False
    ticked: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Give it ready for JSON, without what was analysed to come to it."""
        return members(self, without=("analysis", "changes")) | {
            "failure": self.failure,
            "permanent": ready(self.permanent),
            "files_changed": self.files_changed if self.changes else None,
        }

    def not_complete(self) -> Self:
        """Give it without what it says about being complete."""
        analysis = self.analysis.not_complete() if self.analysis else None
        return replace(self, analysis=analysis, exit_signal=False, promised=False)

    @property
    def files_changed(self) -> int:
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

    @property
    def cut_short(self) -> str:
        """Why a turn that ran out of time was ended."""
        why = "it printed nothing for too long" if self.mute else "it ran for too long"
        return f"{why} and was ended"

    @property
    def permanent(self) -> PermanentFailure | None:
        return self.analysis.permanent if self.analysis is not None and self.failure is not None else None

    @property
    def words(self) -> str:
        return (self.analysis.last_text or self.analysis.text) if self.analysis is not None else ""

    @property
    def refused_tools(self) -> str:
        commands = self.analysis.denied_commands if self.analysis else ()
        return ", ".join(commands[:5]) or "a tool"

    @property
    def failure(self) -> str | None:
        """Why the turn counts as failed, or None.

        Status 0 alone is no success: a CLI that can't reach its provider may exit with 0 and print nothing. With
        words of the assistant it is one, whether or not the event came that closes a turn: which event that is
        differs from version to version of a CLI, and a loop that waits for the wrong one repeats its first turn for
        ever.
        """
        said = f": {self.error}" if self.error else ""
        if self.idle:
            return "it wrote no file for too long and was ended"
        if self.timed_out:
            return None if self.productive else self.cut_short + (said if self.said is False else "")
        if self.analysis is not None and self.analysis.turns_used_up and (self.files_changed or self.ticked > 0):
            return None
        if self.status < 0:
            return f"it was ended by signal {-self.status}{said}"
        if self.status > 0:
            return f"exit status {self.status}{said}"
        if self.is_error:
            return f"it reported an error{said}"
        if self.completed:
            return None
        cut = self.completed is False and (self.said is None or self.limit is not None)
        if self.silent and self.completed is None:
            return f"it printed nothing{said}"
        return f"its output ends without a result{said}" if cut or self.silent else None


O = TypeVar("O", bound=Outcome)  # noqa: E741

_ENDED_BY_SIGNAL = lazy(r": line \d+: +\d+ ([A-Z][\w ]*?)(?: +\(core dumped\))? {2,}")
"""What bash prints of a program that a signal has ended; its command follows, in any number of lines."""

_OWN_LINES = 3
"""Different lines of plain text, at most, that a CLI prints instead of an answer when it fails."""


def build_outcome(
    kind: type[O],
    result: TurnResult,
    request: TurnRequest,
    *,
    now: datetime,
    changes: Changes | None = None,
    plans: tuple[Plan | None, Plan | None] = (None, None),
    promise: str | None = None,
    last_length: int | None = None,
) -> O:
    """Say what a turn came to, as far as its output, git and the plan tell.

    Args:
        kind: Outcome, or what a setup has made of it.
        result: what the tool did.
        request: what it was asked.
        changes: what git saw, or None.
        plans: the fix plan before and after the turn.
        promise: the completion promise to look for, or None.
        last_length: characters of the last output that was plain text, or None.
    """
    from bridge.scripts.stream.analysis import RunFacts

    facts = RunFacts(
        now=now,
        loop_number=request.number,
        output_file=str(request.logs.output),
        files_changed=changes.count if changes else 0,
        exit_status=result.status,
        timed_out=result.timed_out or result.idle,
        last_output_length=last_length,
        stderr=result.stderr,
    )
    analysis = result.output.finish(facts)
    said, error = words_of(analysis, result)
    before, after = plans
    waited = _waited_for_its_limit(analysis, said=said, changes=changes)
    outcome = kind(
        status=result.status,
        timed_out=result.timed_out and not waited,
        idle=result.idle,
        mute=result.mute and not waited,
        completed=analysis.completed_turn,
        said=said,
        is_error=analysis.is_error,
        error=error,
        exit_signal=analysis.explicit_exit,
        promised=_promised(promise, analysis),
        plan=after,
        resumed=request.session is not None,
        limit=analysis.limit,
        analysis=analysis,
        changes=changes,
        denied=analysis.has_permission_denials,
        ticked=after.done - before.done if before and after else 0,
    )
    if outcome.resumed and outcome.failure:
        texts = result.stderr.decode("utf-8", "replace"), analysis.error, analysis.text if result.status else ""
        mute = result.status > 0 and not analysis.output_length and not result.stderr.strip()
        told = f"without a word, when it was to resume session {request.session}" if mute else outcome.error
        outcome = replace(outcome, dead_session=mute or is_dead_session(*texts), error=told)
    return outcome


def _waited_for_its_limit(analysis: Analysis, *, said: bool, changes: Changes | None) -> bool:
    """Whether a turn has come to nothing but a limit that names its end: that has cut it short, whoever ended it.

    One without an end, which a CLI repeats for ever, leaves nothing to wait for.
    """
    named = analysis.limit is not None and analysis.limit.resets_at is not None
    return named and not said and not (changes is not None and changes.count)


def words_of(analysis: Analysis, result: TurnResult) -> tuple[bool, str | None]:
    """Say whether the assistant has said anything, and what the CLI says about a failure.

    A line or two of plain text before a failure are the CLI's own words, and no answer; so is its error where some
    print that as the assistant's words, too.
    """
    said = _said(analysis) and not (analysis.is_error and squeezed(analysis.text) == squeezed(analysis.error or ""))
    words = analysis.error or (analysis.permanent.text if analysis.permanent else "")
    if not words and (result.status or analysis.is_error or not said):
        words = _last_line(result.stderr)
    if result.status > 0 and not result.timed_out and analysis.family == "text":
        lines = dict.fromkeys(filter(None, map(str.strip, analysis.text.splitlines())))
        if 0 < len(lines) <= _OWN_LINES:
            said, words = False, words or next(iter(lines))
    return said, one_line(words, 300) or None


def left_session(outcome: Outcome, tool: Tool, request: TurnRequest) -> str | None:
    """Find the session that the turn left behind; also of one that was ended, whose work goes on (trap T20)."""
    if outcome.failure is not None and not (outcome.timed_out or outcome.idle):
        return None
    try:
        return tool.recover_session_id(str(request.logs.output))
    except HookError:  # a session less costs some reading; the loop goes on
        return None
    except (OutputNotFound, OutputUnreadable):  # `git clean -fdx` of the agent takes ignored logs, too
        return validate_session_id(outcome.analysis.session_id) if outcome.analysis else None


def answer_of(outcome: Outcome) -> str:
    words = (outcome.analysis.text or outcome.analysis.last_text) if outcome.analysis else ""
    return words if not words or words.endswith("\n") else words + "\n"


def _said(analysis: Analysis) -> bool:
    """Whether there are words of the assistant; a JSON document that no reader knows counts as some."""
    unknown = analysis.family == "json" and analysis.completed_turn is None
    return unknown or bool(analysis.text.strip() or analysis.last_text.strip())


def _promised(promise: str | None, analysis: Analysis) -> bool:
    from bridge.scripts.stream.status import find_promise

    return promise is not None and find_promise(analysis.last_text or analysis.text, promise)


def _last_line(stderr: bytes) -> str:
    """The end of stderr is where programs say why they gave up."""
    text = stderr[-4096:].decode("utf-8", "replace")
    if found := _ENDED_BY_SIGNAL.search(text):
        return found[1]
    lines = text.split("\n")
    return next((line for line in reversed(lines) if line.strip()), "")
