"""What an analysis starts from beside the output, and what it comes to: ``.ralph/.response_analysis`` and more."""

from __future__ import annotations

import json
from dataclasses import field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from bridge.base.records import dataclass
from bridge.scripts.stream.events.base import AMOUNTS, NO_USAGE, UNKNOWN_SIZE, ContextSize, Usage

LimitKind = Literal["five_hour", "weekly", "rate", "usage"]


def iso(now: datetime) -> str:
    """A time as the state files have it: UTC, whole seconds, ``+00:00``."""
    return now.astimezone(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is known of a run from outside its output.

    Attributes:
        now: aware; its zone is the one that a bare "4:47 PM" is understood in.
        output_file: the path of the log, as the document shall name it.
        files_changed: by git.
        exit_status: of the CLI; not 0 means that its words are not believed.
        last_output_length: ``.last_output_length``, or None when there is none.
        stderr: what it wrote there, or the end of it.
    """

    now: datetime
    loop_number: int = 0
    output_file: str = ""
    files_changed: int = 0
    exit_status: int = 0
    timed_out: bool = False
    last_output_length: int | None = None
    stderr: bytes = b""

    @property
    def ended_well(self) -> bool:
        return self.exit_status == 0 and not self.timed_out


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that ended the run.

    Attributes:
        kind: ``five_hour``, ``weekly``, ``usage`` (a quota of unknown length) or ``rate`` (too many
            requests just now: over soon).
        resets_at: when it ends, in seconds since the epoch, or None when the CLI doesn't say.
        text: the CLI's words.
        exact: `resets_at` is a number of the provider's; else it was read from words, and is doubted.
    """

    kind: LimitKind
    resets_at: float | None = None
    text: str = ""
    exact: bool = field(default=False, compare=False)

    @property
    def window(self) -> float:
        """Seconds that a limit of this kind can last."""
        return (5 if self.kind == "five_hour" else 7 * 24) * 3600.0

    @property
    def words(self) -> str:
        """What the provider said about it, or of which kind it is: for people."""
        return self.text or f"the provider's {self.kind} limit"


class PermanentReason(StrEnum):
    """Why repeating a turn is of no use, as a stable word."""

    NOT_LOGGED_IN = "not_logged_in"
    KEY_REFUSED = "key_refused"
    NO_CREDIT = "no_credit"
    SUBSCRIPTION_ENDED = "subscription_ended"
    UNKNOWN_MODEL = "unknown_model"
    NO_ACCESS = "no_access"


@dataclass(frozen=True, slots=True)
class PermanentFailure:
    """A failure that no repetition mends.

    Attributes:
        reason: of which kind.
        text: the CLI's words, one line.
    """

    reason: PermanentReason
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What one run of a CLI came to, for ``.response_analysis`` (the first group, in its order) and for the engine.

    Attributes:
        timestamp: UTC, whole seconds.
        is_stuck: more than five errors.
        has_progress: git saw changed files.
        files_modified: by git, or what the output claims when git saw none.
        format_confidence: 100 and 80 for JSON with and without a result, 70 for text with a status
            block, 30 for other text.
        confidence_score: how sure the completion is, in percent.
        tests_status: as claimed; ``UNKNOWN`` without a claim.
        fix_plan_completed_delta, has_progress_tracking_mismatch: see :meth:`tracked`.
        output_length: characters of the output, newlines at its end not counted.
        session_id: as the output has it, unchecked; ''.

        family, error, malformed: see :class:`bridge.scripts.stream.events.Answer`.
        last_text: the last message of `text`.
        explicit_exit: EXIT_SIGNAL as it was said in so many words, or None.
        completed_turn: the event that ends a turn was seen; None where there is no such event.
        permanent: why no repetition would mend the failure, or None.
        has_errors: lines of the output report errors, or the CLI itself does.
        error_fingerprint: what tells the first of these errors from others; ''.
        size: of the session's context behind the run.
    """

    loop_number: int = 0
    timestamp: str = ""
    output_file: str = ""
    output_format: Literal["json", "text"] = "text"
    has_completion_signal: bool = False
    is_test_only: bool = False
    is_stuck: bool = False
    has_progress: bool = False
    files_modified: int = 0
    format_confidence: int = 0
    confidence_score: int | float = 0
    exit_signal: bool = False
    tasks_completed_this_loop: int = 0
    tests_status: str = "UNKNOWN"
    fix_plan_completed_delta: int = 0
    has_progress_tracking_mismatch: bool = False
    work_summary: str = ""
    output_length: int = 0
    has_permission_denials: bool = False
    permission_denial_count: int = 0
    denied_commands: tuple[str, ...] = ()
    usage: Usage = NO_USAGE
    session_id: str = ""

    family: str = "text"
    text: str = field(default="", repr=False)
    last_text: str = field(default="", repr=False)
    explicit_exit: bool | None = None
    completed_turn: bool | None = None
    is_error: bool = False
    error: str | None = None
    api_error_status: int | None = None
    turns_used_up: bool = False
    limit: Limit | None = None
    permanent: PermanentFailure | None = None
    has_errors: bool = False
    error_fingerprint: str = ""
    malformed: int = 0
    size: ContextSize = UNKNOWN_SIZE

    def tracked(self, delta: int, *, mismatch: bool) -> Analysis:
        """The analysis with the plan's word in it; a mismatch takes back completion and exit."""
        return replace(
            self,
            fix_plan_completed_delta=delta,
            has_progress_tracking_mismatch=mismatch,
            has_completion_signal=self.has_completion_signal and not mismatch,
            exit_signal=self.exit_signal and not mismatch,
        )

    def denials_handled(self) -> Analysis:
        """As it is left behind after the permission policy saw the denials."""
        return replace(
            self.not_complete(), has_permission_denials=False, permission_denial_count=0, denied_commands=()
        )

    def not_complete(self) -> Analysis:
        """Without its claim to be complete: a quality gate said no."""
        return replace(self, has_completion_signal=False, exit_signal=False)

    def to_json(self) -> str:
        names = [each.name for each in fields(self)]
        begin, end = names.index("has_completion_signal"), names.index("usage")
        inner: dict[str, Any] = {name: getattr(self, name) for name in names[begin:end]}
        if self.output_format == "json":
            # Whoever adds up a log must not add up what a session had used before.
            usage = NO_USAGE if self.usage.cumulative else self.usage
            inner |= {key: getattr(usage, key) for key in AMOUNTS}
            inner["session_id"] = self.session_id
        document = {name: getattr(self, name) for name in names[:begin]} | {"analysis": inner}
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
