"""The words of verification: what a check is, what it finds, and the one stream of events.

The engine yields events; every report and the terminal only consume them.
"""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Kind = Literal["driver", "agent", "provider", "out-of-scope"]
"""What a script is, told by the functions that it defines. Helper scripts that define no hook are not run."""


class Severity(StrEnum):
    """How bad a finding is: an error breaks the contract, a warning will bite somebody, info is good to know."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


ERROR, WARNING, INFO = Severity


class Harm(Enum):
    """What comes of a violation, and so how severe it is: each check names its harm, and nothing else decides.

    An error breaks a loop, or loses work, or gives a wrong text or session. A warning will hurt later, or
    elsewhere. Info is good to know.
    """

    ENDS_THE_LOOP = ERROR, "the loop ends, hangs, or doesn't begin"
    TAKEN_FOR_ANOTHER = ERROR, "the loop doesn't find it, or takes it for something else"
    NO_EFFECT = ERROR, "it has no effect: nobody calls or reads it, and nothing says so"
    CHANGES_THE_LOOP = ERROR, "everything that the loop does afterwards is done differently"
    WRONG_COMMAND = ERROR, "the CLI refuses the command, or does something else"
    WRONG_PROMPT = ERROR, "the agent works on another text than it was given"
    WRONG_PERMISSIONS = ERROR, "the agent may do more, or less, than was allowed"
    WRONG_SESSION = ERROR, "the session is lost, or another one goes on"
    WRONG_RESPONSE = ERROR, "the loop reads another answer than the agent gave: it ends too early, or never"
    WRONG_STATUS = ERROR, "the loop takes a failure for a success, or a success for a failure"
    WRONG_DISPLAY = ERROR, "people see nothing, or something else, of a run that takes hours"
    RUNS_CODE = ERROR, "what a model has written is executed"
    LOSES_WORK = ERROR, "files, or the input, of others are changed or lost"
    UNEXPLAINED = ERROR, "it fails again and again, and nobody learns why"
    LEAKS = WARNING, "one day it is a variable of the loop"
    LITTERS = WARNING, "files stay behind, more with each turn"
    NOISE = WARNING, "it stands among what the loop prints or hands on"
    COSTS = WARNING, "it takes time, a network or a login at moments when nobody expects it"
    OLD_BASH = WARNING, "it fails on macOS, whose bash is 3.2"
    FRAGILE = WARNING, "it works here and now, and not with other hosts, CLIs or inputs"
    GOOD_TO_KNOW = INFO, "nothing breaks; people may want to know"

    def __init__(self, severity: Severity, why: str) -> None:
        self.severity = severity
        self.why = why


class CheckOutcome(StrEnum):
    """How a check went. UNKNOWN: it was not judged (the script can't be parsed, nobody knows the CLI's output)."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"

    @property
    def word(self) -> str:
        return "not judged" if self is CheckOutcome.UNKNOWN else self.value


class Aspect(StrEnum):
    """What a finding is about where that is no variable and no function: what `bridge.verify.folding` compares.

    The first group has the names of `bridge.verify.probe.state.ShellState`.
    """

    OPTIONS = "options"
    FOLDER = "cwd"
    IFS = "ifs"
    ARGUMENTS = "positional"
    TRAPS = "traps"
    UMASK = "umask"
    DESCRIPTORS = "descriptors"
    STDOUT = "standard output"
    STDERR = "standard error"

    ENDS = "the shell ends"
    NO_COMMAND = "no command, or one that depends on what was before"
    LIVE = "the live command"
    PROMPT = "prompt"
    CONTEXT = "context"
    SESSION = "session id"
    LOST = "lost on the way"
    TWICE = "there more than once"
    REMOVED = "removed"
    RAW = "events as they are"
    SHOWN = "shown, and no text"
    GOOD_RUN = "a run that went well"
    SIGPIPE = "ended by a pipe that closed"


class Edit(NamedTuple):
    """A change of a script: its bytes from offset `start` up to `end` become `text` (with surrogateescape).

    first, last: the same as (line, column), both from 1, columns in characters.
    """

    start: int
    end: int
    first: tuple[int, int]
    last: tuple[int, int]
    text: str


class Fix(NamedTuple):
    """The one safe mend of a finding. title: in the imperative. edits: in order, apart from each other."""

    title: str
    edits: tuple[Edit, ...]


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
    about: the variables and functions that it concerns, by their names, and `Aspect`; in no report.
    evidence: what else was seen of the same slip, each with the code of its check: ``RB081: it leaves behind arg``.
    fix: looked for only when mends were asked for; it was tried, and made nothing worse.
    """

    code: str
    severity: Severity
    message: str
    path: Path
    line: int | None = None
    hook: str | None = None
    expected: str = ""
    hint: str = ""
    about: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    fix: Fix | None = None


class CheckResult(NamedTuple):
    """One check on one script. `reason` says why it was skipped, or what was not judged, and why."""

    code: str
    title: str
    outcome: CheckOutcome
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    seconds: float = 0.0

    @property
    def unjudged(self) -> bool:
        """Whether it was not judged, or something was found and the rest of it not judged."""
        return self.outcome is CheckOutcome.UNKNOWN or (self.outcome is CheckOutcome.FAILED and bool(self.reason))


class RunStarted(NamedTuple):
    """First event: the scripts, in the order in which they will be reported."""

    scripts: tuple[Path, ...]


class ScriptStarted(NamedTuple):
    path: Path
    kind: Kind


class Branch(NamedTuple):
    """One way of a branching. taken: how often, None when that can't be told. reached: whether the branching was.

    line: of the branching. site: its number in the script. label: ``then``, ``case *``, ``&&`` ...
    """

    line: int
    site: int
    label: str
    taken: int | None
    reached: bool | None


class Coverage(NamedTuple):
    """What of a script was reached while it was observed.

    lines: each line on which a command begins, and how often one of them ran.
    functions: name, line, and how often it was called.
    unread: functions that the grammar could not read; nothing of them is among the rest.
    own_trap: the script sets a DEBUG trap of its own; what ran after that is not known.
    """

    lines: tuple[tuple[int, int], ...]
    branches: tuple[Branch, ...]
    functions: tuple[tuple[str, int, int], ...]
    unread: tuple[str, ...] = ()
    own_trap: bool = False

    @property
    def hit(self) -> int:
        return sum(times > 0 for _, times in self.lines)

    @property
    def missed(self) -> tuple[int, ...]:
        return tuple(line for line, times in self.lines if not times)

    @property
    def known_branches(self) -> tuple[Branch, ...]:
        """Those of which can be told whether they were taken."""
        return tuple(branch for branch in self.branches if branch.taken is not None)


class Mend(NamedTuple):
    """All fixes of one script together.

    before, after: the script, without and with them.
    fixed: the finding that each of them is for.
    left: fixes that touch the same places as others; they have their turn in a further run.
    written: whether the file holds them; then the results of its `ScriptFinished` are those of the mended script.
    refused: why they were not written although they should have been; empty otherwise.
    """

    before: bytes
    after: bytes
    fixed: tuple[Finding, ...]
    left: int = 0
    written: bool = False
    refused: str = ""


class ScriptFinished(NamedTuple):
    """A script is done.

    results: one per check that applies to its kind, ordered by code; empty when out of scope.
    matrix: hook to ``own``, ``default`` or ``absent``, for the capability matrix.
    name: what ``driver_name`` or the file says it is called.
    reason: why it is out of scope.
    mend: what can be mended, when that was asked for and there is something.
    coverage: when it was asked for, and the script was run.
    """

    path: Path
    kind: Kind
    results: tuple[CheckResult, ...]
    matrix: Mapping[str, str]
    name: str
    seconds: float
    reason: str = ""
    mend: Mend | None = None
    coverage: Coverage | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in order of line, then code."""
        found = (finding for result in self.results for finding in result.findings)
        return tuple(sorted(found, key=lambda f: (f.line or 0, f.code)))


class RunFinished(NamedTuple):
    """Last event: how many of what, over all scripts.

    unknown: checks that were not judged, or in part. refused: scripts whose mends could not be written.
    """

    scripts: int
    errors: int
    warnings: int
    infos: int
    seconds: float
    unknown: int = 0
    refused: int = 0


Event = RunStarted | ScriptStarted | ScriptFinished | RunFinished
