"""The checks, by number, in a visible dict. A check's docstring is its documentation.

A check is a function of a `Subject` (what is known of one script) that yields findings::

    @check("RB012", "No session flag without CLAUDE_USE_CONTINUE", applies=("driver",), phase="behaviour")
    def no_session_unless_continued(subject: Subject) -> Iterator[Finding]:
        '''Why it matters, in a paragraph.

        Bad::

            CLAUDE_CMD_ARGS+=("--resume" "$session_id")

        Good::

            if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
                CLAUDE_CMD_ARGS+=("--resume" "$session_id")
            fi
        '''
"""

from __future__ import annotations

import difflib
import inspect
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.errors import ConfigurationError
from bridge.verify.model import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bridge.verify.model import Finding
    from bridge.verify.subject import Subject

    Run = Callable[[Subject], Iterator[Finding]]

Phase = Literal["static", "behaviour"]
"""Static checks never execute the script; behaviour checks run it in a fresh bash."""


class CannotTell(Exception):
    """Raised by a check: whether the clause holds can't be told; says why. Its findings so far count."""


class NotApplicable(Exception):
    """Raised by a check: the clause doesn't concern this script; says why."""


class Check(NamedTuple):
    """One numbered clause of a contract.

    gate: nothing else can be told of a script that fails it, so it is run whatever was selected.
    after_timeout: it is run when the time for the script is used up, too: it says what has used it.
    """

    code: str
    title: str
    applies: tuple[str, ...]
    phase: Phase
    severity: Severity
    run: Run
    gate: bool = False
    after_timeout: bool = False

    @property
    def doc(self) -> str:
        """The documentation: why it matters, a bad and a good example."""
        return inspect.getdoc(self.run) or ""


CHECKS: dict[str, Check] = {}
"""Every check by its code, in order of registration; `load` in `bridge.verify.checks` fills it."""


def check(
    code: str,
    title: str,
    *,
    applies: tuple[str, ...],
    phase: Phase,
    severity: Severity = Severity.ERROR,
    gate: bool = False,
    after_timeout: bool = False,
) -> Callable[[Run], Run]:
    """Register a check under its number; a number is never used twice, and never used again."""

    def register(function: Run) -> Run:
        assert code not in CHECKS, f"{code} is taken"
        CHECKS[code] = Check(code, title, applies, phase, severity, function, gate, after_timeout)
        return function

    return register


def chosen(
    checks: Mapping[str, Check], select: Sequence[str], ignore: Sequence[str], *, static_only: bool = False
) -> tuple[Check, ...]:
    """The checks that shall run, in order of their codes.

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
