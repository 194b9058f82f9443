"""The checks of ``ralph-bridge doctor`` in a bmalph project, and in a folder that has a prompt and no setup.

Ids are stable; those that bmalph's own doctor has are called as there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.setups.bmalph.doctor import driver, plain, project
from bridge.setups.bmalph.doctor.model import BmalphCase
from bridge.setups.diagnosis import DoctorCheck, checks
from bridge.setups.dot_ralph.doctor import state, tree

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CHECKS", "PLAIN_CHECKS", "BmalphCase"]

CHECKS: Mapping[str, DoctorCheck[BmalphCase]] = {
    "bash-available": DoctorCheck("bash available", checks.bash),
    "git-repo": DoctorCheck("git repository with commits", checks.git, 60),
    "jq-available": DoctorCheck("jq available", checks.jq),
    "disk-space": DoctorCheck("disk space", checks.disk),
    "ralph-project": DoctorCheck("a project that the loop can run in", project.kind),
    "unserved": DoctorCheck("nothing is asked for that no loop here does", checks.unserved),
    "folder-writable": DoctorCheck("the loop's folder can be written to", tree.writable, fix=tree.make_folders),
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
    "gitignore": DoctorCheck("git ignores the loop's state", tree.ignored, 60, tree.ignore),
    "tracked-state": DoctorCheck("git does not track the loop's state", tree.tracked, 60),
    "status-file": DoctorCheck("status.json can be read", state.status_file),
    "circuit-breaker": DoctorCheck("circuit breaker", state.circuit),
    "ralph-session": DoctorCheck("session", state.session),
    "api-calls": DoctorCheck("calls of this hour", state.api_calls),
    "stale-state": DoctorCheck("nothing is left of a crashed run", state.leftovers, fix=state.clear_leftovers),
    "loop-lock": DoctorCheck("the loop's lock can be taken", state.lock_file),
    "second-loop": DoctorCheck("no second loop", state.second_loop),
    "orphaned-agents": DoctorCheck("no agent without a loop", state.orphans, fix=state.end_orphans),
}

PLAIN_CHECKS: Mapping[str, DoctorCheck[BmalphCase]] = {
    "bash-available": CHECKS["bash-available"],
    "git-repo": DoctorCheck("git repository with commits", plain.git, 60),
    "jq-available": CHECKS["jq-available"],
    "disk-space": CHECKS["disk-space"],
    "ralph-project": DoctorCheck("a project that the loop can run in", plain.kind),
    "unserved": CHECKS["unserved"],
    "ralphrc": CHECKS["ralphrc"],
    "prompt": DoctorCheck("the prompt is there", plain.prompt),
    "fix-plan": DoctorCheck("the fix plan has open tasks", plain.plan),
    **{name: CHECKS[name] for name in CHECKS if name.startswith(("driver", "cli-"))},
    "gitignore": DoctorCheck("git ignores the loop's state", plain.ignored, 60, plain.ignore),
    **{name: CHECKS[name] for name in ("status-file", "loop-lock", "second-loop", "orphaned-agents")},
}
