"""Mends: the one safe change with which a finding is gone, for the checks that have one.

A mend is a function of the script, its places and the problem that was found; it says which places are changed, or
None where it isn't sure. Whether the change makes anything worse is told by `bridge.verify.mends.trial`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridge.verify.mends import variables
from bridge.verify.mends.places import Places
from bridge.verify.model import Fix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.verify.model import Edit
    from bridge.verify.registry import Problem
    from bridge.verify.subject import Subject

    Make = Callable[[Subject, Places, Problem], Iterable[Edit] | None]


class Recipe(NamedTuple):
    """What a mend does, in the imperative, and what makes it; ``{about}`` is what the problem is about."""

    title: str
    make: Make


RECIPES: dict[str, tuple[Recipe, ...]] = {
    "RB020": (Recipe("declare {about} local", variables.declared_local),),
}
"""By the code of the check; the first one that knows the place is taken."""


def fix_of(subject: Subject, code: str, problem: Problem) -> Fix | None:
    """The mend of a problem; None when there is none, or its place isn't sure."""
    for recipe in RECIPES.get(code, ()):
        edits = recipe.make(subject, Places(subject), problem)
        if edits:
            ordered = tuple(sorted(set(edits)))
            return Fix(recipe.title.format(about=problem.about), ordered)
    return None
