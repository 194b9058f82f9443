"""Checks of a folder with a prompt and without a setup, as the plain ``run`` takes it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from bridge.setups.diagnosis import DoctorCheck, Examined, checks, passed, warned
from bridge.setups.dot_ralph.doctor import STATE, driver
from bridge.setups.plain.handler import PlainFiles
from bridge.setups.plain.settings import IGNORED, SAMPLES
from bridge.setups.projects import find_prompt

if TYPE_CHECKING:
    from collections.abc import Mapping


def kind(case: driver.DriverCase) -> Examined:
    """Any folder will do."""
    return passed(f"the plain loop, with a prompt and a driver: {case.project} holds no setup")


def git(case: driver.DriverCase) -> Examined:
    """The loop runs without a repository; then nothing tells work from none, and some CLIs refuse."""
    found = checks.git(case)
    return found if found.status == "passed" else warned(f"{found.detail}: some CLIs refuse", found.hint)


def prompt(case: driver.DriverCase) -> Examined:
    """There is something to say to the agent."""
    name = find_prompt(case.project, None)
    return passed(f"{name}, {(case.project / name).stat().st_size} bytes")


def plan(case: driver.DriverCase) -> Examined:
    """There are tasks, and some are open; the loop ends by a signal or a promise, too."""
    found = PlainFiles(case.project).read_plan()
    if found is None:
        return passed("none: the loop ends by the exit signal, the promise or --max-iterations")
    if not found.total:
        return warned("@fix_plan.md has no `- [ ] task` line", "write one for each task")
    if found.complete:
        return warned(f"all {found.total} tasks of @fix_plan.md are ticked: a run ends at once", "add open tasks")
    return passed(f"{found.done} of {found.total} tasks done")


def ignored(case: driver.DriverCase) -> Examined:
    """An agent's `git add -A` would commit what isn't ignored."""
    missing = checks.unignored(case, SAMPLES)
    if not missing:
        return passed()
    return warned(
        f"git does not ignore {', '.join(missing)}", f"printf '%s\\n' {shlex.join(IGNORED)} >> .gitignore"
    )


def ignore(case: driver.DriverCase) -> str:
    """Add the patterns to ``.gitignore``."""
    return checks.ignore(case, SAMPLES, IGNORED)


CHECKS: Mapping[str, DoctorCheck[driver.DriverCase]] = {
    **checks.MACHINE,
    "git-repo": DoctorCheck("git repository with commits", git, 60),
    "ralph-project": DoctorCheck("the project is ready for a loop", kind),
    "unserved": DoctorCheck("no setting asks for what ralph-bridge can't do", checks.unserved),
    "ralphrc": DoctorCheck("settings can be used", driver.settings),
    "prompt": DoctorCheck("the prompt is there", prompt),
    "fix-plan": DoctorCheck("the fix plan has open tasks", plan),
    **driver.CHECKS,
    "gitignore": DoctorCheck("git ignores the loop's state", ignored, 60, ignore),
    **{name: STATE[name] for name in ("status-file", "loop-lock", "second-loop", "orphaned-agents")},
}
