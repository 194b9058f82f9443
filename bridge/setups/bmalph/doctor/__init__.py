"""The checks of ``ralph-bridge doctor`` in a bmalph project, and in a folder that has a prompt and no setup.

Ids are stable; those that bmalph's own doctor has are called as there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.setups.bmalph.doctor import driver, plain, project
from bridge.setups.bmalph.doctor.model import BmalphCase
from bridge.setups.diagnosis import DoctorCheck, checks
from bridge.setups.dot_ralph.doctor import MACHINE, STATE, state, tree

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CHECKS", "PLAIN_CHECKS", "BmalphCase"]

CHECKS: Mapping[str, DoctorCheck[BmalphCase]] = {
    **MACHINE,
    "git-repo": DoctorCheck("git repository with commits", checks.git, 60),
    "ralph-project": DoctorCheck("the project is ready for a loop", project.kind),
    "unserved": DoctorCheck("no setting asks for what ralph-bridge can't do", checks.unserved),
    "ralph-loop": DoctorCheck("ralph_loop.sh present and has content", project.controller),
    "ralphrc": DoctorCheck("settings can be used", project.settings),
    "prompt": DoctorCheck("the prompt is there", tree.prompt),
    "fix-plan": DoctorCheck("the fix plan has open tasks", project.plan),
    "driver": DoctorCheck("the driver loads", driver.loads, 60),
    "driver-contract": DoctorCheck("the driver meets the contract", driver.contract, 120),
    "driver-tools": DoctorCheck("the allowed tools are the driver's", driver.tools, 60),
    "cli-available": DoctorCheck("the agent's CLI is installed", driver.available, 60),
    "cli-version": DoctorCheck("the agent's CLI is new enough", driver.version, 60),
    "cli-drift": DoctorCheck("the agent's CLI knows the driver's options", driver.drift, 90),
    "stale-state": DoctorCheck("nothing is left of a crashed run", state.leftovers, fix=state.clear_leftovers),
    **STATE,
}

PLAIN_CHECKS: Mapping[str, DoctorCheck[BmalphCase]] = {
    **checks.MACHINE,
    "git-repo": DoctorCheck("git repository with commits", plain.git, 60),
    "ralph-project": DoctorCheck("the project is ready for a loop", plain.kind),
    "unserved": CHECKS["unserved"],
    "ralphrc": CHECKS["ralphrc"],
    "prompt": DoctorCheck("the prompt is there", plain.prompt),
    "fix-plan": DoctorCheck("the fix plan has open tasks", plain.plan),
    **{name: CHECKS[name] for name in CHECKS if name.startswith(("driver", "cli-"))},
    "gitignore": DoctorCheck("git ignores the loop's state", plain.ignored, 60, plain.ignore),
    **{name: CHECKS[name] for name in ("status-file", "loop-lock", "second-loop", "orphaned-agents")},
}
