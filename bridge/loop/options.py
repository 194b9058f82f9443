"""How to run a loop: everything that is settled before it starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from bridge.git.repository import ALL_WORK, Files
from bridge.loop.decide import Limits, Rules
from bridge.loop.turn_logs import TURN_LOG_BYTES
from bridge.process.program import Graces

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["GateSettings", "LoopSettings", "ReviewSettings"]


@dataclass(frozen=True, slots=True)
class GateSettings:
    """Quality gates.

    Attributes:
        test_command: what tells whether the tests pass; '' for none.
        commands: gates, separated by semicolons; '' for none.
        mode: what a failed one does.
        timeout: seconds that each may take.
        on_completion_only: run them only when the agent says that it is done.
    """

    test_command: str = ""
    commands: str = ""
    mode: Literal["warn", "block", "circuit-breaker"] = "warn"
    timeout: float = 120.0
    on_completion_only: bool = False


@dataclass(frozen=True, slots=True)
class ReviewSettings:
    """Reviews between loops.

    Attributes:
        mode: ``enhanced`` (every `interval` loops) or ``ultimate`` (after each ticked task); else off.
        interval: loops between two reviews.
        prompt: the review's prompt file, as the driver gets to see it.
        tools: what the reviewer may use, for drivers with an allowlist.
        usual_tools: what the agent may use otherwise.
        last_head: the commit that was reviewed last, or ''.
    """

    mode: str = "off"
    interval: int = 5
    prompt: str = ".ralph/REVIEW_PROMPT.md"
    tools: str = "Read,Glob,Grep"
    usual_tools: str = ""
    last_head: str = ""


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """How to run a loop.

    Attributes:
        project: the project's folder; the CLI runs in it.
        prompt: the prompt file, as the driver gets to see it.
        limits: when to give up.
        rules: what the setup wants.
        live: show events as they come, where the driver can.
        promise: the completion promise to look for, or None.
        timeout: seconds that one run may take, or None.
        resume: resume the session of the run before.
        env: environment of the CLI; None for this process's own.
        measure: ask git what a run changed.
        files: which of the project's files are no work.
        track: compare what a run claims with the boxes that it ticked.
        write_timeout: seconds without a written file after which a run is ended, or None.
        heartbeat_seconds: how often to look for written files.
        poll_seconds: how often :class:`~bridge.loop.events.RunProgress` comes.
        gates, review: see there.
        graces: how long the CLI may take to obey each signal.
        turn_log_bytes: of what a run prints, its beginning and its end are kept; 0: all of it.
    """

    project: Path
    prompt: str = ".ralph/PROMPT.md"
    limits: Limits = field(default_factory=Limits)
    rules: Rules = field(default_factory=Rules)
    live: bool = True
    promise: str | None = None
    timeout: float | None = None
    resume: bool = True
    env: Mapping[str, str] | None = None
    measure: bool = False
    files: Files = ALL_WORK
    track: bool = False
    write_timeout: float | None = None
    heartbeat_seconds: float = 30.0
    poll_seconds: float = 2.0
    gates: GateSettings = field(default_factory=GateSettings)
    review: ReviewSettings = field(default_factory=ReviewSettings)
    graces: Graces = field(default_factory=Graces)
    turn_log_bytes: int = TURN_LOG_BYTES
