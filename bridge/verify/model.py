"""The words of verification: what a check is, what it finds, and the one stream of events.

The engine yields events; every report and the terminal only consume them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Kind = Literal["driver", "agent", "out-of-scope"]
"""What a script is, told by the functions that it defines. Helper scripts that define no hook are not run."""


class Severity(StrEnum):
    """How bad a finding is: an error breaks the contract, a warning will bite somebody, info is good to know."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


ERROR, WARNING, INFO = Severity


class Outcome(StrEnum):
    """How a check went. UNKNOWN: it could not be determined (the script can't be parsed, or the probe died)."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


class Finding(NamedTuple):
    """One thing that is not as the contract has it.

    code: of the check, such as ``RB012``.
    severity: see `Severity`.
    message: one sentence: what is wrong, with the value that was seen.
    path: the script.
    line: 1-based line, None when it concerns the whole script.
    hook: the function that it concerns, or None.
    expected: what the contract wants here, in a few words.
    hint: the next step.
    evidence: what else was seen of the same slip, each with the code of its check: ``RB081: it leaves behind arg``.
    """

    code: str
    severity: Severity
    message: str
    path: Path
    line: int | None = None
    hook: str | None = None
    expected: str = ""
    hint: str = ""
    evidence: tuple[str, ...] = ()


class CheckResult(NamedTuple):
    """One check on one script. `reason` says why it was skipped or is unknown."""

    code: str
    title: str
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    seconds: float = 0.0


class RunStarted(NamedTuple):
    """First event: the scripts, in the order in which they will be reported."""

    scripts: tuple[Path, ...]


class ScriptStarted(NamedTuple):
    """A script's turn."""

    path: Path
    kind: Kind


class ScriptFinished(NamedTuple):
    """A script is done.

    results: one per check that applies to its kind, ordered by code; empty when out of scope.
    matrix: hook to ``own``, ``default`` or ``absent``, for the capability matrix.
    name: what ``driver_name`` or the file says it is called.
    reason: why it is out of scope.
    """

    path: Path
    kind: Kind
    results: tuple[CheckResult, ...]
    matrix: Mapping[str, str]
    name: str
    seconds: float
    reason: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in order of line, then code."""
        found = (finding for result in self.results for finding in result.findings)
        return tuple(sorted(found, key=lambda f: (f.line or 0, f.code)))


class RunFinished(NamedTuple):
    """Last event: how many of what, over all scripts. unknown: checks that could not be determined."""

    scripts: int
    errors: int
    warnings: int
    infos: int
    seconds: float
    unknown: int = 0


Event = RunStarted | ScriptStarted | ScriptFinished | RunFinished
