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

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bridge.verify.model import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bridge.verify.model import Finding

__all__ = ["CHECKS", "CannotTell", "Check", "NotApplicable", "check"]

Phase = Literal["static", "behaviour"]
"""Static checks never execute the script; behaviour checks run it in a fresh bash."""


class CannotTell(Exception):
    """Raised by a check: whether the clause holds can't be told; says why. Its findings so far count."""


class NotApplicable(Exception):
    """Raised by a check: the clause doesn't concern this script; says why."""


class Check(NamedTuple):
    """One numbered clause of a contract."""

    code: str
    title: str
    applies: tuple[str, ...]
    phase: Phase
    severity: Severity
    run: Callable[[Any], Iterator[Finding]]

    @property
    def doc(self) -> str:
        """The documentation: why it matters, a bad and a good example."""
        import inspect

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
) -> Callable[[Callable[[Any], Iterator[Finding]]], Callable[[Any], Iterator[Finding]]]:
    """Register a check under its number; a number is never used twice, and never used again."""

    def register(function: Callable[[Any], Iterator[Finding]]) -> Callable[[Any], Iterator[Finding]]:
        assert code not in CHECKS, f"{code} is taken"
        CHECKS[code] = Check(code, title, applies, phase, severity, function)
        return function

    return register
