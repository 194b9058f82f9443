"""The kind as one object."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE
from bridge.base.json_files import read_text
from bridge.loop.setups.prompted.files import own_script, setup_at
from bridge.loop.setups.prompted.kind import prompted_kind
from bridge.loop.setups.prompted.task_lists import alone, planned, with_done
from bridge.loop.setups.setup_kind import PlanKind

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.loop.setups.setup_kind import Setup

NAME, SCRIPT, PRD, PROGRESS = "snarktank", "ralph.sh", "prd.json", "progress.txt"
PLACES = ("scripts/ralph", "ralph", ".ralph", "tools/ralph", ".agents/ralph", "")
LAST_BRANCH, ARCHIVE = ".last-branch", "archive"
PROMPTS = ("prompt.md", "CLAUDE.md")
_BESIDE = (PRD, *PROMPTS)
_FED = re.compile(r"(?<![\w@.-])(\w*prompt\w*\.md|CLAUDE\.md)\b", re.IGNORECASE)


def detect(folder: Path) -> Setup | None:
    """Its script, and a file that such a loop has beside it, or that the script gives its CLI.

    At the root, where such files may be anybody's, that file alone counts.
    """
    found = next((folder / place for place in PLACES if (folder / place / SCRIPT).is_file()), None)
    if found is None:
        return None
    return at(folder, found) if _is_one(folder, found) else None


def _is_one(folder: Path, home: Path) -> bool:
    if home != folder and (home / ".git").exists():  # a clone of the original, beside other projects
        return False
    if home != folder and any((home / name).is_file() for name in _BESIDE):
        return True
    return feeds_file(folder, home / SCRIPT)


def feeds_file(folder: Path, script: Path) -> bool:
    """Say whether a script names a prompt file that is there; else it carries the prompt itself."""
    text = read_text(own_script(script), root=ANYWHERE) or ""
    return any((folder / name).is_file() for name in _FED.findall(text))


def at(project: Path, home: Path) -> Setup:
    """The setup whose files lie there."""
    return setup_at(NAME, project, home, SCRIPT, (SCRIPT, *_BESIDE))


def missing(folder: Path) -> tuple[str, ...]:
    """What there isn't of it."""
    if all(not (folder / place / SCRIPT).is_file() for place in PLACES):
        return (f"there is no {PLACES[0]}/{SCRIPT}, nor one in {', '.join(PLACES[1:-1])} or the root",)
    return () if detect(folder) else (f"beside {SCRIPT} is none of {', '.join(_BESIDE)}",)


KIND = prompted_kind(
    name=NAME,
    title="snarktank's ralph",
    page="snarktank",
    signs=(*((f"{place}/{SCRIPT}",) for place in PLACES[:-1]), (SCRIPT, PRD), (SCRIPT, "prompt.md")),
    detect=detect,
    missing=missing,
    module="bridge.loop.setups.snarktank.job",
    nouns=("story", "stories"),
    believed=(SCRIPT, "prompt.md", "CLAUDE.md", LAST_BRANCH, ARCHIVE),
    notes=(PROGRESS, LAST_BRANCH, f"{ARCHIVE}/"),
    plan=PlanKind(files=(PRD,), always=True, planned=planned, ticked=with_done, alone=alone, asks="script"),
    copied=(SCRIPT, *_BESIDE, PROGRESS),
    own_per_task=(LAST_BRANCH, f"{ARCHIVE}/"),
    carried=(LAST_BRANCH,),
    appended=(PROGRESS,),
)
