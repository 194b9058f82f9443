"""Mends: the one safe change with which a finding is gone, for the checks that have one.

A mend is a function of the script, its places and the problem that was found; it says which places are changed, or
None where it isn't sure. Whether the change makes anything worse is told by `bridge.verify.mends.trial`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridge.verify.mends import commands, variables
from bridge.verify.mends.places import Places
from bridge.verify.model import Fix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.verify.model import Edit, Finding
    from bridge.verify.subject import Subject

    Make = Callable[[Subject, Places, Finding], Iterable[Edit] | None]


class Recipe(NamedTuple):
    """What a mend does, in the imperative, and what makes it; ``{about}`` is what the problem is about."""

    title: str
    make: Make


_LOCAL_IFS = Recipe("declare IFS local", variables.local_ifs)
_UNBUFFERED = Recipe("don't let it buffer", commands.unbuffered)
_RESET = Recipe("reset the array first", variables.reset_first)

RECIPES: dict[str, Recipe] = {
    "RB002": Recipe("name bash in the first line", commands.for_bash),
    "RB020": Recipe("declare {about} local", variables.declared_local),
    "RB021": _LOCAL_IFS,
    "RB024": _RESET,
    "RB030": Recipe("return from the hook", commands.returning),
    "RB042": _UNBUFFERED,
    "RB043": Recipe("let errors be seen", commands.with_errors),
    "RB061": _LOCAL_IFS,
    "RB110": Recipe("resume only where that is wanted", commands.only_when_resumed),
    "RB112": _RESET,
    "RB133": _RESET,
    "RB182": _UNBUFFERED,
}
"""By the code of the check. Where a mend is more than one change, `bridge.verify.hints` says what to do."""


def mends_of(code: str) -> list[str]:
    """What can be done about the findings of this check, where their place is sure, in the imperative."""
    return [RECIPES[code].title.format(about="the variable")] if code in RECIPES else []


def fix_of(subject: Subject, finding: Finding) -> Fix | None:
    """The mend of a finding; None when there is none, or its place isn't sure."""
    recipe = RECIPES.get(finding.code)
    edits = recipe.make(subject, Places(subject), finding) if recipe is not None else None
    if recipe is None or not edits:
        return None
    return Fix(recipe.title.format(about=", ".join(finding.about)), tuple(sorted(set(edits))))
