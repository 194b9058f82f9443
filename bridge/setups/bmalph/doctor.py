"""The checks of ``doctor`` in a bmalph project; ids are stable, those of bmalph's own doctor as there."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from bridge.errors import BridgeError
from bridge.files import ANYWHERE
from bridge.loop.plan import parse_plan
from bridge.records import read_text
from bridge.setups.bmalph import layout
from bridge.setups.diagnosis import DoctorCheck, Examined, checks, failed_with, passed, warned
from bridge.setups.dot_ralph.doctor import MACHINE, STATE, driver, state, tree
from bridge.setups.dot_ralph.folder import fix_plan

if TYPE_CHECKING:
    from collections.abc import Mapping


class BmalphCase(driver.DriverCase):
    """What the checks get to see."""

    @cached_property
    def look(self) -> layout.ProjectLook:
        """What kind of project it is."""
        return layout.look(self.folder)


def kind(case: BmalphCase) -> Examined:
    """The project is one that the loop can run in."""
    try:
        seen = layout.require(case.folder)
    except BridgeError as error:
        return failed_with(error)
    note = {"kin": "a plan or settings, with our drivers: ", "bare": "a prompt only, with our drivers: "}
    return passed(note.get(seen.flavour, "") + ", ".join(seen.evidence[:6]))


def controller(case: BmalphCase) -> Examined:
    """`bmalph run` starts this script; our own `run` needs none."""
    if case.look.flavour != "bmalph":
        return passed("not needed here")
    text = read_text(case.folder / layout.CONTROLLER)
    if text is None or not text.strip():
        what = "missing" if text is None else "empty"
        return warned(f"{what}: `ralph-bridge run` needs none, `bmalph run` does", "bmalph upgrade")
    if "ralph-bridge stand-in" in text:
        return passed("ralph-bridge stands in for it")
    version = re.search(r"^# bmalph-version: (\S+)", text, re.MULTILINE)
    return passed(f"the original, version {version[1]}" if version else "the original")


def plan(case: BmalphCase) -> Examined:
    """There are tasks, and some are open."""
    path = fix_plan(case.folder)
    if path is None:
        return warned(
            f"no {case.folder.shown}/@fix_plan.md: the loop can't count tasks", "write `- [ ] task` lines"
        )
    name = case.folder.name_of(path)
    found = parse_plan(read_text(path, root=ANYWHERE) or "")
    if not found.total:
        return warned(f"{name} has no `- [ ] task` line", "write one for each task")
    if found.complete:
        return warned(f"all {found.total} tasks of {name} are ticked: a run ends at once", "add open tasks")
    return passed(f"{found.done} of {found.total} tasks done")


CHECKS: Mapping[str, DoctorCheck[BmalphCase]] = {
    **MACHINE,
    "git-repo": DoctorCheck("git repository with commits", checks.git, 60),
    "ralph-project": DoctorCheck("the project is ready for a loop", kind),
    "unserved": DoctorCheck("no setting asks for what ralph-bridge can't do", checks.unserved),
    "ralph-loop": DoctorCheck("ralph_loop.sh present and has content", controller),
    "ralphrc": DoctorCheck("settings can be used", driver.settings),
    "prompt": DoctorCheck("the prompt is there", tree.prompt),
    "fix-plan": DoctorCheck("the fix plan has open tasks", plan),
    **driver.CHECKS,
    "stale-state": DoctorCheck("nothing is left of a crashed run", state.leftovers, fix=state.clear_leftovers),
    **STATE,
}
