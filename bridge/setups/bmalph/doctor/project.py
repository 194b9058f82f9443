"""Checks of what people have written: layout, settings, prompt, plan, and what git should leave alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bridge.errors import BridgeError
from bridge.files import ANYWHERE
from bridge.loop.plan import parse_plan
from bridge.records import read_text
from bridge.setups.bmalph import layout
from bridge.setups.diagnosis import Examined, failed_with, passed, warned

if TYPE_CHECKING:
    from bridge.setups.bmalph.doctor.model import BmalphCase


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


def settings(case: BmalphCase) -> Examined:
    """Every setting can be used, and every line of the file is understood."""
    try:
        found = case.resolved()
    except BridgeError as error:
        return failed_with(error)
    if found.notices:
        return warned("\n".join(found.notices), "correct these lines")
    return passed(case.rc.shown if case.rc.exists else "no file: defaults and environment")


def plan(case: BmalphCase) -> Examined:
    """There are tasks, and some are open."""
    path = layout.fix_plan(case.folder)
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
