"""What an analysis starts from beside the output, and the limits that it may find."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

LimitKind = Literal["five_hour", "weekly", "rate", "usage"]


def iso(now: datetime) -> str:
    """Write a time as the state files have it: UTC, whole seconds, ``+00:00``."""
    return now.astimezone(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a run from outside its output.

    Attributes:
        now: the time, aware; its zone is the one that a bare "4:47 PM" is understood in.
        loop_number: which loop it was.
        output_file: the path of the log, as the document shall name it.
        files_changed: how many files the run changed, by git.
        exit_status: of the CLI; not 0 means that its words are not believed.
        timed_out: it was ended for taking too long.
        last_output_length: ``.last_output_length``, or None when there is none.
        stderr: what it wrote to stderr, or the end of it.
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
        """True when the CLI ended by itself with status 0."""
        return self.exit_status == 0 and not self.timed_out


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that ended the run.

    Attributes:
        kind: ``five_hour``, ``weekly``, ``usage`` (a quota of unknown length) or ``rate`` (too many
            requests just now: over soon).
        resets_at: when it ends, in seconds since the epoch, or None when the CLI doesn't say.
        text: the CLI's words.
    """

    kind: LimitKind
    resets_at: float | None = None
    text: str = ""

    @property
    def said(self) -> str:
        """What the provider said about it, or of which kind it is: for people."""
        return self.text or f"the provider's {self.kind} limit"
