"""How a loop without a setup gets to know that all is done: which file is the plan, and what the agent is asked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.files import ANYWHERE
from bridge.base.json_files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLANS = (".ralph/@fix_plan.md", ".ralph/fix_plan.md", "@fix_plan.md", "fix_plan.md")
"""Where a plan is looked for, relative to the project, behind the files that the prompt names."""
PROMISE = "COMPLETE"
"""The promise that is asked for where the prompt names none."""

_MENTION = re.compile(r"(?<![\w.@/])@((?:[\w.-]+/)*[\w.-]*\w\.(?:md|markdown|txt))\b", re.IGNORECASE)
_PROMISE = re.compile(r"<promise>\s*([^<>\n]{1,80}?)\s*</promise>")
_SIGNAL = re.compile(r"\bEXIT_SIGNAL\b|\bRALPH_STATUS\b")


class Ending(NamedTuple):
    """What ends a loop beside its limits.

    Attributes:
        promise: the promise that is looked for; None: none is.
        request: a sentence for the context of each turn, with a blank at its end; '': the prompt says enough.
        notice: a line for people about it, or ''.
    """

    promise: str | None
    request: str
    notice: str


def plan_files(prompt: str) -> tuple[str, ...]:
    """Name the files that may be the plan, relative to the project, in the order in which they count.

    A prompt that names a file by ``@NAME`` means it, as coding CLIs do; ``@fix_plan.md`` is a file's own name, too.

    >>> plan_files("Do the next task of @TODO.md.")[:3]
    ('@TODO.md', 'TODO.md', '.ralph/@fix_plan.md')
    """
    return tuple(dict.fromkeys((*_mentioned(prompt), *PLANS)))


def _mentioned(prompt: str) -> Iterator[str]:
    named = [each.removeprefix("./") for each in _MENTION.findall(prompt)]
    usual = {name.rpartition("/")[2].removeprefix("@") for name in PLANS}
    for name in sorted(named, key=lambda name: name.rpartition("/")[2] not in usual):  # a stable order
        if "/" not in name:
            yield f"@{name}"
        if ".." not in name.split("/"):
            yield name


def ending_of(
    prompt: str, plan: str | None, *, promise: str | None, agent: bool, foreign: str | None = None
) -> Ending:
    """Say how the loop is to end.

    Args:
        prompt: the words of the prompt.
        plan: the plan with boxes that was found, relative to the project, or None.
        promise: as the user has named it, or None.
        agent: an agent's script runs the turns; prompts for these ask for the promise COMPLETE.
        foreign: as the file of another tool names it, which told each turn itself how to give it.
    """
    if foreign and (promise or foreign) == foreign and f"<promise>{foreign}</promise>" not in prompt:
        return Ending(foreign, f"{_tasks(plan, prompt)}{_asked(foreign)}", "")
    promise = promise or foreign
    promises = dict.fromkeys(_PROMISE.findall(prompt))
    named = promise or (next(iter(promises)) if len(promises) == 1 else None)
    if promises or _SIGNAL.search(prompt) or (promise and promise in prompt):
        return Ending(named or (PROMISE if agent else None), "", "")
    if plan is not None:
        return Ending(named or (PROMISE if agent else None), _tasks(plan, prompt), "")
    wanted = named or PROMISE
    return Ending(
        wanted,
        _asked(wanted),
        f"the prompt names no way to say that all is done, and there is no plan ({looked_for(prompt)}): "
        f"each turn is told: when all is done, {_last(wanted)}",
    )


def _last(promise: str) -> str:
    return f"end your answer with <promise>{promise}</promise>"


def _asked(promise: str) -> str:
    return f"When all that the prompt asks for is done, and only then, {_last(promise)}. "


def _tasks(plan: str | None, prompt: str) -> str:
    if plan is None or plan.rpartition("/")[2].removeprefix("@") in prompt:
        return ""
    return f"The tasks are the boxes of {plan}: tick one, `- [x]`, when it is done. "


def looked_for(prompt: str) -> str:
    """Say which files would have been the plan."""
    return f"looked for {', '.join(plan_files(prompt))}"


def prompt_words(project: Path, prompt: str) -> str:
    """Read the prompt; '' where that can't be done, which the first turn tells."""
    return read_text(project / prompt, root=ANYWHERE) or ""
