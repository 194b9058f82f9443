"""The checks, by number, in a visible dict. A check's docstring is its documentation.

A check is a function of a `Subject` (what is known of one script) that yields problems::

    @behaviour("RB012", "No session flag without CLAUDE_USE_CONTINUE", DRIVER, harm=WRONG_SESSION)
    def no_session_unless_continued(subject: Subject) -> Iterator[Problem]:
        '''Why it matters, in a paragraph.

        Info: how a finding may be another severity than `harm` has, and when.

        Bad:  CLAUDE_CMD_ARGS+=("--resume" "$session_id")
        Good:
            if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
                CLAUDE_CMD_ARGS+=("--resume" "$session_id")
            fi
        '''
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
import textwrap
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.errors import ConfigurationError
from bridge.verify.hints import HINTS
from bridge.verify.model import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bridge.verify.harms import Harm
    from bridge.verify.subject import Subject

    Judge = Callable[[Subject], Iterator["Problem"]]

DRIVER, AGENT, BOTH = ("driver",), ("agent",), ("driver", "agent")
_ROOMS = (
    "script", "sourcing", "hooks", "running", "driver_answers", "driver_command", "driver_settings",
    "driver_options", "driver_hosts", "driver_sessions", "driver_live_command", "driver_live", "driver_filter",
    "agent_text", "agent_runs", "agent_filters",
)  # fmt: skip
"""The modules of `bridge.verify.checks`."""

Phase = Literal["static", "behaviour"]
"""Static checks never execute the script; behaviour checks run it in a fresh bash."""


class CannotTell(Exception):
    """Raised by a check that can't judge; its problems so far count.

    Args:
        why: such as: no CLI here, no help text.
        what: is not judged, such as: session resumption. Default: the whole clause.
    """

    def __init__(self, why: str, what: str = "") -> None:
        super().__init__(f"{what} ({why})" if what else why)


class NotApplicable(Exception):
    """Raised by a check: the clause doesn't concern this script; says why."""


class Problem(NamedTuple):
    """What a check has seen: a `Finding`, but for what the check itself knows.

    hook: default is the check's. line: default is the hook's first. severity: default is the check's.
    about: as a finding has it.
    """

    message: str
    line: int | None = None
    hook: str | None = None
    expected: str = ""
    hint: str = ""
    severity: Severity | None = None
    about: tuple[str, ...] = ()


_ALSO = re.compile(rf"^({'|'.join(severity.capitalize() for severity in Severity)}): (.+)\.\n?", re.MULTILINE)


class Documentation(NamedTuple):
    """Why a clause matters, an example that violates it, and the same as it should be.

    also: the other severities that a finding may have, each with the case.
    """

    why: str
    bad: str
    good: str
    also: Mapping[Severity, str]

    def __str__(self) -> str:
        examples = (
            f"{name}::\n\n{textwrap.indent(code, '    ')}"
            for name, code in (("Bad", self.bad), ("Good", self.good))
            if code
        )
        return "\n\n".join([self.why, *examples])


class Check(NamedTuple):
    """One numbered clause of a contract.

    harm: what comes of a violation, and so the severity.
    hook: the one that it is about, where there is one.
    gate: nothing else can be told of a script that fails it, so it is run whatever was selected.
    after_timeout: it is run when the time for the script is used up, too: it says what has used it.
    """

    code: str
    title: str
    applies: tuple[str, ...]
    phase: Phase
    harm: Harm
    judge: Judge
    hook: str | None = None
    gate: bool = False
    after_timeout: bool = False

    def run(self, subject: Subject) -> Iterator[Finding]:
        """What it finds in the script.

        Raises:
            CannotTell, NotApplicable: see there.
            BridgeError: the script can't be run.
        """
        for problem in self.judge(subject):
            yield self.finding(subject, problem)

    def finding(self, subject: Subject, problem: Problem) -> Finding:
        """A problem of a script as a finding of this check."""
        hook = problem.hook or self.hook
        problem = problem._replace(hook=hook)
        return Finding(
            self.code,
            self.severity if problem.severity is None else problem.severity,
            problem.message,
            subject.path,
            subject.facts.line(hook) if problem.line is None and hook is not None else problem.line,
            hook,
            problem.expected,
            problem.hint or HINTS.get(self.code, ""),
            problem.about,
            fix=subject.fix(self.code, problem),
        )

    @property
    def severity(self) -> Severity:
        """That of its findings, unless `Documentation.also` names the case."""
        return self.harm.severity

    @property
    def documentation(self) -> Documentation:
        """What the docstring of the function says."""
        why, _, examples = (inspect.getdoc(self.judge) or "").partition("\n\nBad:")
        bad, _, good = examples.partition("\nGood:")
        also = {Severity(word.lower()): case for word, case in _ALSO.findall(why)}
        bad, good = (textwrap.dedent(example).strip() for example in (bad, good))
        return Documentation(_ALSO.sub("", why).strip(), bad, good, also)


CHECKS: dict[str, Check] = {}
"""Every check by its code, in order of registration; `load` fills it."""


@cache
def load() -> Mapping[str, Check]:
    """All checks, in order of their codes. Each module registers its own when it is imported."""
    for name in _ROOMS:
        importlib.import_module(f"bridge.verify.checks.{name}")
    return MappingProxyType(dict(sorted(CHECKS.items())))


def _check(
    phase: Phase,
    code: str,
    title: str,
    applies: tuple[str, ...],
    *,
    harm: Harm,
    hook: str | None = None,
    gate: bool = False,
    after_timeout: bool = False,
) -> Callable[[Judge], Judge]:
    """Register a check under its number; a number is never used twice, and never used again."""

    def register(judge: Judge) -> Judge:
        assert code not in CHECKS, f"{code} is taken"
        CHECKS[code] = Check(code, title, applies, phase, harm, judge, hook, gate, after_timeout)
        return judge

    return register


static = partial(_check, "static")
behaviour = partial(_check, "behaviour")


def said(text: str, limit: int = 120) -> str:
    """What a script printed, short enough for a message."""
    shown = " ".join(text.split())
    return repr(shown if len(shown) <= limit else shown[: limit - 3] + "...")


def chosen(
    checks: Mapping[str, Check], select: Sequence[str], ignore: Sequence[str], *, static_only: bool = False
) -> tuple[Check, ...]:
    """The checks that shall run, in order of their codes; `select` and `ignore` hold codes, or how they begin.

    Raises:
        ConfigurationError: an entry is neither a code nor how one begins.
    """
    wanted = _codes(checks, select) if select else set(checks)
    wanted -= _codes(checks, ignore)
    return tuple(checks[code] for code in sorted(wanted) if checks[code].phase == "static" or not static_only)


def _codes(checks: Mapping[str, Check], entries: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for entry in entries:
        beginning = entry.strip().upper()
        matching = {code for code in checks if beginning and code.startswith(beginning)}
        if not matching:
            close = difflib.get_close_matches(beginning, checks, 1, 0.6)
            meant = (
                f"did you mean {close[0]}?" if close else "codes look like RB001; `ralph-bridge explain` lists them"
            )
            raise ConfigurationError(f"no check has the code {entry!r}; {meant}")
        found |= matching
    return found
