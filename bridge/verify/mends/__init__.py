"""Mends: the one safe change with which a finding is gone, for the checks that have one.

A mend is a function of the script, its places and the problem that was found; it says which places are changed, or
None where it isn't sure. Whether the change makes anything worse is told by `bridge.verify.mends.trial`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from bridge.verify.mends import commands, statuses, variables, words
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


_LOCAL_IFS = (Recipe("declare IFS local", variables.local_ifs),)
_UNBUFFERED = (Recipe("don't let it buffer", commands.unbuffered),)
_RESET = (Recipe("reset the array first", variables.reset_first),)
_SUCCEED = (Recipe("put the condition into an if", statuses.succeeding),)


def _quote(parameter: int) -> tuple[Recipe, ...]:
    return (Recipe("quote what is one word", partial(words.quoted, parameter=parameter)),)


RECIPES: dict[str, tuple[Recipe, ...]] = {
    "RB002": (Recipe("name bash in the first line", commands.for_bash),),
    "RB004": (Recipe("write it as bash 3.2 has it", commands.for_old_bash),),
    "RB020": (Recipe("declare {about} local", variables.declared_local),),
    "RB021": _LOCAL_IFS,
    "RB024": _RESET,
    "RB030": (Recipe("return from the hook", statuses.returning),),
    "RB042": _UNBUFFERED,
    "RB043": (Recipe("let errors be seen", commands.with_errors),),
    "RB061": _LOCAL_IFS,
    "RB077": (
        Recipe("answer by the status", statuses.by_status),
        Recipe("look for the program without a word", commands.silent),
    ),
    "RB080": _SUCCEED,
    "RB100": _SUCCEED,
    "RB101": (Recipe("fail without a prompt", statuses.without_prompt),),
    "RB105": _quote(1),
    "RB106": _quote(1),
    "RB107": _quote(2),
    "RB109": _quote(3),
    "RB110": (Recipe("resume only where that is wanted", words.only_when_resumed),),
    "RB112": _RESET,
    "RB115": (Recipe("trim each entry", words.trimmed),),
    "RB118": (Recipe("print it on stderr", commands.to_stderr),),
    "RB133": _RESET,
    "RB179": (Recipe("read a last line without newline, too", words.to_the_end),),
    "RB182": _UNBUFFERED,
    "RB184": _SUCCEED,
    "RB186": _SUCCEED,
}
"""By the code of the check; the first one that knows the place is taken."""


def mends_of(code: str) -> list[str]:
    """What can be done about the findings of this check, where their place is sure, in the imperative."""
    return [recipe.title.format(about="the variable") for recipe in RECIPES.get(code, ())]


def fix_of(subject: Subject, code: str, problem: Problem) -> Fix | None:
    """The mend of a problem; None when there is none, or its place isn't sure."""
    for recipe in RECIPES.get(code, ()):
        edits = recipe.make(subject, Places(subject), problem)
        if edits:
            ordered = tuple(sorted(set(edits)))
            return Fix(recipe.title.format(about=problem.about), ordered)
    return None
