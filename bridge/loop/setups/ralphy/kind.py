"""The kind as one object."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from bridge.base.patterns import lazy
from bridge.errors import ConfigurationError
from bridge.loop.setups.prompted.files import setup_at
from bridge.loop.setups.prompted.kind import OPTIONS, prompted_kind
from bridge.loop.setups.prompted.task_lists import planned, with_done
from bridge.loop.setups.setup_kind import Installation, PlanKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bridge.loop.setups.setup_kind import Adopted, PlannedTask, Setup

NAME, SCRIPT = "ralphy", "ralphy.sh"
CONFIG, PROGRESS = ".ralphy/config.yaml", ".ralphy/progress.txt"
_LISTS = ("PRD.md", "prd.md", "tasks.yaml", "tasks.yml", "tasks.json")
LISTS = (*_LISTS, *(f".ralphy/{name}" for name in _LISTS))
"""Where the tasks may stand, unless they are named: the first that is there counts."""
BOX = lazy(r"^- \[([ xX])\][ \t]+(\S.*?)[ \t\r]*$", re.MULTILINE)
"""What the original takes for a task in Markdown: no other bullet, none that is indented."""


def detect(folder: Path) -> Setup | None:
    """Its configuration is there."""
    return None if missing(folder) else setup_at(NAME, folder, folder, SCRIPT, (SCRIPT, CONFIG))


def missing(folder: Path) -> tuple[str, ...]:
    """What there isn't of it."""
    return () if (folder / CONFIG).is_file() else (f"there is no {CONFIG}",)


def _nothing_to_do(setup: Setup) -> Adopted:
    what = (
        f"we don't stand in for {SCRIPT}, its old form" if setup.controller.is_file() else "no script stands in it"
    )
    raise ConfigurationError(
        f"{setup.project}: ralphy is one program for all projects; {what}\n  next: ralph-bridge run"
    )


def _planned(text: str, name: str) -> Sequence[PlannedTask] | None:
    return None if BOX.search(text) else planned(text, name)


KIND = prompted_kind(
    name=NAME,
    title=NAME,
    page="ralphy",
    signs=((CONFIG,),),
    detect=detect,
    missing=missing,
    module="bridge.loop.setups.ralphy.job",
    called=None,
    scripted=False,
    notes=(PROGRESS,),
    options=(OPTIONS - {"prompt"}) | {"tasks", "task"},
    plan=PlanKind(files=LISTS, planned=_planned, ticked=partial(with_done, key="completed"), asks="task"),
    copied=(CONFIG, PROGRESS),
    believed=(CONFIG, SCRIPT),
    appended=(PROGRESS,),
    programs=(SCRIPT,),
    installation=Installation(detect, missing, _nothing_to_do, _nothing_to_do),
)
