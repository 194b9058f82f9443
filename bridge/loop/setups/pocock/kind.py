"""The kind as one object."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.loop.setups.prompted.files import own_script, setup_at
from bridge.loop.setups.prompted.kind import prompted_kind
from bridge.loop.setups.prompted.task_lists import alone, planned, ticked
from bridge.loop.setups.setup_kind import PlanKind

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.setups.setup_kind import Setup


NAME, ROOT = "pocock", "ralph.sh"
LOOPS = (
    "ralph/afk.sh",
    "afk-ralph.sh",
    "plans/ralph.sh",
    "scripts/afk-ralph.sh",
    "ralph-afk.sh",
    "plans/afk-claude.sh",
    ROOT,
)
"""Scripts that take a number of turns, the newest form first. That name at the root is snarktank's, too."""
ONCE = ("ralph/once.sh", "ralph-once.sh", "plans/ralph-once.sh", "scripts/ralph-once.sh", "plans/once-claude.sh")
"""Scripts that start one session for a person."""
PLANS = ("plans/prd.json", "prd.json", "PRD.md", "prd.md", "plans/prd.md")
PROGRESS = ("progress.txt", "plans/progress.txt")
_PROMPTS = ("ralph/prompt.md", "plans/prompt.md")


def detect(folder: Path) -> Setup | None:
    """The first of its scripts that carries a prompt; a folder that is snarktank's isn't ours.

    Where none does and nothing else can be run, the first with a plan or so beside it: its run says what to do.
    """
    there = [each for each in (*LOOPS, *ONCE) if (folder / each).is_file()]
    if not there:
        return None
    from bridge.loop.setups.projects import has_prompt
    from bridge.loop.setups.snarktank.kind import detect as snarktanks

    beside = any((folder / each).is_file() for each in (*PLANS, *PROGRESS, *_PROMPTS))
    names = [each for each in there if (each != ROOT or beside or len(there) > 1) and _carries(folder, each)]
    if beside and not has_prompt(folder):
        names += [each for each in there if each != ROOT]
    if not names or (names[0] in ONCE and _has_loop(folder)) or snarktanks(folder) is not None:
        return None
    return at(folder, names[0])


def _has_loop(folder: Path) -> bool:
    """Whether a script of another name is the loop of which this one takes a single turn."""
    from bridge.loop.setups.script.which import candidates

    return any(os.path.relpath(each.path, folder) not in ONCE for each in candidates(folder))


def _carries(folder: Path, name: str) -> bool:
    """Whether a script calls a CLI; of one whose name says nothing, with a prompt that is its own."""
    from bridge.loop.setups.script.which import LoopScript
    from bridge.loop.setups.snarktank.kind import feeds_file

    path = folder / name
    return bool(LoopScript(own_script(path), folder).calls) and not (name == ROOT and feeds_file(folder, path))


def at(folder: Path, name: str) -> Setup:
    """The setup of that script."""
    signs = (name, *PLANS, *PROGRESS, *_PROMPTS)
    return setup_at(NAME, folder, folder, name, signs, "once" if name in ONCE else "")


def missing(folder: Path) -> tuple[str, ...]:
    """What there isn't of it."""
    found = [each for each in (*LOOPS, *ONCE) if (folder / each).is_file()]
    if not found:
        return (f"there is none of {', '.join((*LOOPS, *ONCE))}",)
    return () if detect(folder) else (f"{found[0]} gives no CLI that is known a prompt, or is another setup's",)


KIND = prompted_kind(
    name=NAME,
    title="Matt Pocock's ralph",
    page="pocock",
    signs=(*((each,) for each in (*LOOPS, *ONCE) if each != ROOT), *((ROOT, each) for each in (*PLANS, *PROGRESS))),
    detect=detect,
    missing=missing,
    module="bridge.loop.setups.pocock.job",
    believed=(*LOOPS, *ONCE, *_PROMPTS),
    plan=PlanKind(files=PLANS, planned=planned, ticked=ticked, alone=alone, asks="script", prompts=_PROMPTS),
    copied=(*LOOPS, *ONCE, *PLANS, *PROGRESS, *_PROMPTS),
    appended=PROGRESS,
    endless=True,
)
