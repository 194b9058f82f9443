"""The kind as one object."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.loop.setups.prompted.files import setup_at
from bridge.loop.setups.prompted.kind import SCRIPTED, prompted_kind
from bridge.loop.setups.setup_kind import PlanKind

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.setups.setup_kind import Setup


NAME, BUILD, PLAN_MODE, PLAN = "playbook", "build", "plan", "IMPLEMENTATION_PLAN.md"
PLACES = ("", ".ralph/", "ralph/")
"""Where its prompts may lie; its plan and its script lie there, or at the root."""
_BUILDS = tuple(f"{place}PROMPT_{BUILD}.md" for place in PLACES)
SCRIPTS = ("loop.sh", "ralph-loop.sh", "loop_streamed.sh", "ralph.sh", "scripts/ralph-loop.sh")


def prompt_name(mode: str) -> str:
    """The prompt file of a mode.

    >>> prompt_name("plan-work")
    'PROMPT_plan_work.md'
    """
    return f"PROMPT_{mode.replace('-', '_')}.md"


def place_of(folder: Path) -> str | None:
    """Where in a project the prompts lie, with a slash behind it; None: nowhere."""
    names = (prompt_name(BUILD), prompt_name(PLAN_MODE))
    return next((place for name in names for place in PLACES if os.path.lexists(folder / place / name)), None)


def detect(folder: Path) -> Setup | None:
    """A prompt to build or to plan makes a folder one; its script may be missing."""
    place = place_of(folder)
    if place is None:
        return None
    scripts = (f"{each}{name}" for each in dict.fromkeys((place, "")) for name in SCRIPTS)
    script = next((each for each in scripts if (folder / each).is_file()), f"{place}{SCRIPTS[0]}")
    prompts = (f"{place}{prompt_name(mode)}" for mode in (BUILD, PLAN_MODE))
    return setup_at(NAME, folder, folder, script, (*prompts, script))


def missing(folder: Path) -> tuple[str, ...]:
    """What there isn't of it."""
    places = f"neither at the root nor in {' or '.join(PLACES[1:])}"
    return () if place_of(folder) is not None else (f"there is no {prompt_name(BUILD)}, {places}",)


def _aside(_folder: Path, text: str) -> set[int]:
    from bridge.loop.setups.playbook.plan import aside

    return aside(text)


KIND = prompted_kind(
    name=NAME,
    title="the playbook",
    page="playbook",
    signs=tuple((f"{place}{prompt_name(mode)}",) for mode in (BUILD, PLAN_MODE) for place in PLACES),
    options=SCRIPTED | {"mode"},
    detect=detect,
    missing=missing,
    module="bridge.loop.setups.playbook.job",
    plan=PlanKind(
        files=tuple(f"{place}{PLAN}" for place in PLACES), wide=True, aside=_aside, asks="script", prompts=_BUILDS
    ),
    copied=tuple(f"{place}{name}" for place in PLACES for name in (prompt_name(BUILD), PLAN, *SCRIPTS)),
    believed=tuple(
        f"{place}{name}" for place in PLACES for name in (prompt_name(BUILD), prompt_name(PLAN_MODE), *SCRIPTS)
    ),
    appended=("progress.txt",),
    endless=True,
    endless_mode=BUILD,
)
