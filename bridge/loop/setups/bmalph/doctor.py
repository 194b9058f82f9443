"""The checks of ``doctor`` in a bmalph project; ids are stable, those of bmalph's own doctor as there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.base.files import ANYWHERE
from bridge.base.json_files import read_text
from bridge.errors import BridgeError
from bridge.loop.engine.plan import parse_plan
from bridge.loop.setups.bmalph import layout
from bridge.loop.setups.diagnosis import DoctorCheck, Examined, checks, failed_with, passed, warned
from bridge.loop.setups.dot_ralph.doctor import DRIVER, DriverCase, settings
from bridge.loop.setups.dot_ralph.folder import fix_plan
from bridge.loop.setups.dot_ralph.state_checks import MACHINE, STALE, STATE, prompt

if TYPE_CHECKING:
    from collections.abc import Mapping


def _kind(case: DriverCase) -> Examined:
    try:
        seen = layout.require(case.folder)
    except BridgeError as error:
        return failed_with(error)
    note = {"kin": "a plan or settings, with our drivers: ", "bare": "a prompt only, with our drivers: "}
    return passed(note.get(seen.flavour, "") + ", ".join(seen.evidence[:6]))


def _controller(case: DriverCase) -> Examined:
    """`bmalph run` starts this script; our own `run` needs none."""
    if layout.look(case.folder).flavour != "bmalph":
        return passed("not needed here")
    text = read_text(case.folder / layout.CONTROLLER)
    if text is None or not text.strip():
        what = "missing" if text is None else "empty"
        return warned(f"{what}: `ralph-bridge run` needs none, `bmalph run` does", "bmalph upgrade")
    if "ralph-bridge stand-in" in text:
        return passed("ralph-bridge stands in for it")
    version = re.search(r"^# bmalph-version: (\S+)", text, re.MULTILINE)
    return passed(f"the original, version {version[1]}" if version else "the original")


def _plan(case: DriverCase) -> Examined:
    path = fix_plan(case.folder)
    if path is None:
        return warned(
            f"no {case.folder.shown}/@fix_plan.md: the loop can't count tasks", "write `- [ ] task` lines"
        )
    return checks.open_tasks(parse_plan(read_text(path, root=ANYWHERE) or ""), case.folder.name_of(path))


CHECKS: Mapping[str, DoctorCheck[DriverCase]] = {
    **MACHINE,
    "git-repo": DoctorCheck("git repository with commits", checks.git, 60),
    "ralph-project": DoctorCheck("the project is ready for a loop", _kind),
    "unserved": DoctorCheck("no setting asks for what ralph-bridge can't do", checks.unserved),
    "ralph-loop": DoctorCheck("ralph_loop.sh present and has content", _controller),
    "ralphrc": DoctorCheck("settings can be used", settings),
    "prompt": DoctorCheck("the prompt is there", prompt),
    "fix-plan": DoctorCheck("the fix plan has open tasks", _plan),
    **DRIVER,
    "stale-state": STALE,
    **STATE,
}
