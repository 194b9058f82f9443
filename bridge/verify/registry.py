"""The checks, by number, in a visible dict. A check's docstring is its documentation.

A check is a function of a probe (static ones: of a `Subject`, what is known of one script) that yields problems::

    @driver("RB012", "No session flag without CLAUDE_USE_CONTINUE", Harm.WRONG_SESSION, hook=HOOK)
    def no_session_unless_continued(probe: DriverProbe) -> Iterator[Problem]:
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

import importlib
import inspect
import re
import textwrap
from contextlib import suppress
from dataclasses import KW_ONLY  # noqa: TC003 - looked up when the class is made
from functools import cache, partial, wraps
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from bridge.base import resources
from bridge.base.records import dataclass
from bridge.errors import BridgeError, ConfigurationError
from bridge.verify.findings import Finding, Harm, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from bridge.verify.probe.agent import AgentProbe
    from bridge.verify.probe.driver import DriverProbe
    from bridge.verify.probe.provider import ProviderProbe
    from bridge.verify.subject import Subject

    Where = Callable[[Subject], int | None]

DRIVER, AGENT, PROVIDER, BOTH = ("driver",), ("agent",), ("provider",), ("driver", "agent")
ALL = (*BOTH, *PROVIDER)
_ROOMS = {
    "script": ALL, "code": ALL, "sourcing": ALL, "sourcing_changes": ALL, "variables": ALL,
    "shell": ALL, "files": ALL, "options": BOTH, "driver_answers": DRIVER, "driver_matrix": DRIVER,
    "driver_command": DRIVER, "driver_prompt": DRIVER, "driver_settings": DRIVER, "driver_allowlist": DRIVER,
    "driver_hosts": DRIVER, "driver_sessions": DRIVER, "driver_recovery": DRIVER, "driver_live": DRIVER,
    "driver_filter": DRIVER, "agent_runs": AGENT, "agent_hooks": AGENT, "agent_response": AGENT,
    "agent_display": AGENT, "provider_command": PROVIDER, "provider_response": PROVIDER,
}  # fmt: skip
"""The modules of `bridge.verify.checks`, and the kinds of scripts that they are about."""

Phase = Literal["static", "behaviour"]
"""Static checks never execute the script; behaviour checks run it in a fresh bash."""


class CannotTell(Exception):
    """Raised by a check that can't judge, and why; its problems so far count. what: is not judged; default: all."""

    def __init__(self, why: str, what: str = "") -> None:
        super().__init__(f"{what} ({why})" if what else why)


class Settled(Exception):
    """Raised by what a check asks: there is nothing to judge, or another one says it; its problems so far count."""


class NotApplicable(Exception):
    """Raised by a check: the clause doesn't concern this script; says why."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What a check has seen: a `Finding`, but for what the check itself knows.

    hook, expected, hint, severity: default is the check's. line, or what gives it: default is the check's, too, and
    then the hook's first.
    """

    message: str
    _: KW_ONLY
    line: int | Where | None = None
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


@dataclass(frozen=True, kw_only=True)
class Check:
    """One numbered clause of a contract.

    harm: what comes of a violation, and so the severity.
    hook: the one that it is about, where there is one; of an adapter ``agent_NAME_...``.
    expected, hint: of its findings that have none of their own; `explain` gives the hint, too.
    gate: nothing else can be told of a script that fails it, so it is run whatever was selected.
    where: gives the line at fault, of a finding that has none; None from it, and without it: the
        hook's first.
    after_timeout: it is run when the time for the script is used up, too: it says what has used it.
    """

    code: str
    title: str
    applies: tuple[str, ...]
    phase: Phase
    harm: Harm
    judge: Callable[[Subject], Iterator[Problem]]
    hook: str | None = None
    expected: str = ""
    hint: str = ""
    gate: bool = False
    where: Where | None = None
    after_timeout: bool = False

    def run(self, subject: Subject) -> Iterator[Finding]:
        """What it finds in the script.

        Raises:
            CannotTell, NotApplicable: see there.
            BridgeError: the script can't be run.
        """
        return (self.finding(subject, problem) for problem in self.judge(subject))

    def finding(self, subject: Subject, problem: Problem) -> Finding:
        own = None if self.hook is None else subject.hook(self.hook)
        hook = problem.hook or own
        where = self.where if problem.line is None and hook == own else problem.line
        line = _line(where, subject) if callable(where) else where
        return Finding(
            code=self.code,
            severity=self.severity if problem.severity is None else problem.severity,
            message=problem.message,
            path=subject.path,
            line=subject.facts.line(hook) if line is None and hook is not None else line,
            hook=hook,
            expected=problem.expected or self.expected,
            hint=problem.hint or self.hint,
            about=problem.about,
        )

    @property
    def severity(self) -> Severity:
        """That of its findings, unless `Documentation.also` names the case."""
        return self.harm.severity

    @property
    def documentation(self) -> Documentation:
        why, _, examples = (inspect.getdoc(self.judge) or "").partition("\n\nBad:")
        bad, _, good = examples.partition("\nGood:")
        also = {Severity(word.lower()): case for word, case in _ALSO.findall(why)}
        bad, good = (textwrap.dedent(example).strip() for example in (bad, good))
        return Documentation(_ALSO.sub("", why).strip(), bad, good, also)


def _line(where: Where, subject: Subject) -> int | None:
    with suppress(BridgeError), subject.probe.by_the_way():
        return where(subject)
    return None


CHECKS: dict[str, Check] = {}
"""Every check by its code, in order of registration; `load` fills it."""
_LOADING = Lock()  # scripts of both kinds may be judged at once


@cache
def load(kind: str = "") -> Mapping[str, Check]:
    """The checks of scripts of this kind (default: all), in order of their codes.

    Each module registers its own when it is imported; those of other kinds are not imported.
    """
    with _LOADING:
        for name, applies in _ROOMS.items():
            if not kind or kind in applies:
                importlib.import_module(f"bridge.verify.checks.{name}")
        found = {code: check for code, check in sorted(CHECKS.items()) if not kind or kind in check.applies}
    return MappingProxyType(found)


RETIRED = {
    "RB011": "RB052",
    "RB013": "RB060",
    "RB021": "RB061 RB082 RB131",
    "RB022": "RB078 RB100 RB130",
    "RB023": "RB100 RB104",
    "RB024": "RB078 RB112 RB133",
    "RB040": "RB170",
    "RB043": "RB173",
    "RB044": "RB173",
}
"""Codes of checks that are no more, and those that judge the same by running the script: CI files name codes."""


def current(code: str) -> tuple[str, ...]:
    """The codes that judge today what a code, or the beginning of codes, has always stood for."""
    return tuple(RETIRED.get(code, code).split())


def titles() -> dict[str, str]:
    """Every check's title by its code, as the features that ship list them: nothing that judges is imported."""
    texts = (path.read_text(encoding="utf-8") for path in resources.shipped("features").glob("*clauses.feature"))
    return dict(sorted(row for text in texts for row in re.findall(r"\| (RB\d{3}) \| (.*?) +\|\n", text)))


_Seen = TypeVar("_Seen")


def _check(
    phase: Phase,
    applies: tuple[str, ...],
    look: Callable[[Subject], _Seen],
    code: str,
    title: str,
    harm: Harm,
    *,
    own: bool = False,
    **more: Any,
) -> Callable[[Callable[[_Seen], Iterator[Problem]]], Callable[[_Seen], Iterator[Problem]]]:
    """Register a check under its number, which is never used twice, and never used again.

    own: it says nothing of scripts that don't have its hook themselves. more: as `Check` has it.
    """

    def register(judge: Callable[[_Seen], Iterator[Problem]]) -> Callable[[_Seen], Iterator[Problem]]:
        @wraps(judge)
        def judged(subject: Subject) -> Iterator[Problem]:
            with suppress(Settled):
                if not own or subject.probe.own(more["hook"]):
                    yield from judge(look(subject))

        assert code not in CHECKS, f"{code} is taken"
        CHECKS[code] = Check(code=code, title=title, applies=applies, phase=phase, harm=harm, judge=judged, **more)
        return judge

    return register


def _subject(subject: Subject) -> Subject:
    return subject


def _driver(subject: Subject) -> DriverProbe:
    return subject.driver


def _provider(subject: Subject) -> ProviderProbe:
    return subject.provider


def _agent(subject: Subject) -> AgentProbe:
    return subject.agent


static = partial(_check, "static", ALL, _subject)
static_agent = partial(_check, "static", AGENT, _subject)
static_provider = partial(_check, "static", PROVIDER, _subject)
behaviour = partial(_check, "behaviour", ALL, _subject)
of_both = partial(_check, "behaviour", BOTH, _subject)
driver = partial(_check, "behaviour", DRIVER, _driver)
agent = partial(_check, "behaviour", AGENT, _agent)
provider = partial(_check, "behaviour", PROVIDER, _provider)


def chosen(
    select: Sequence[str], ignore: Sequence[str], kind: str = "", *, static_only: bool = False
) -> tuple[Check, ...]:
    """The checks of that kind that shall run, by their codes; `select` and `ignore` hold codes, or how they begin.

    Raises:
        ConfigurationError: an entry is neither a code nor how one begins.
    """
    wanted = codes_of(select or ["RB"]) - codes_of(ignore) if select or ignore else set(load(kind))
    return tuple(
        check
        for code, check in load(kind).items()
        if code in wanted and (check.phase == "static" or not static_only)
    )


def codes_of(entries: Iterable[str], option: str = "") -> set[str]:
    """The codes that entries name, by themselves or by their beginnings.

    Args:
        option: that they were given by, for the message.

    Raises:
        ConfigurationError: one of them names no check.
    """
    found: set[str] = set()
    for entry in entries:
        beginning = entry.strip().upper()
        matching = {code for code in load() if beginning and code.startswith(current(beginning))}
        if not matching:
            what = f"{option} {entry!r}".lstrip()
            raise ConfigurationError(f"{what}: there is no such check.{meant(beginning)}")
        found |= matching
    return found


def meant(code: str) -> str:
    """The end of a message about a code that there isn't: the likely meant one, and the next step."""
    checks = load()
    # A wrong number is nobody's slip of the pen for another one, unless it has the digits of one.
    digits = "".join(filter(str.isdigit, code))
    guess = f"RB{digits.zfill(3)}" if digits else ""
    found = f" Did you mean {guess}?" if guess in checks else resources.likely(code.upper(), checks)
    return f"{found}\n  next: `ralph-bridge explain` lists all checks"
