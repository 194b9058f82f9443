"""Checks of ``.ralph`` that ``doctor`` makes in the projects of both loops; ids are stable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.setups.diagnosis import DoctorCheck, checks
from bridge.setups.dot_ralph.doctor import state, tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.setups.dot_ralph.doctor.case import FolderCase

MACHINE: Mapping[str, DoctorCheck[FolderCase[Any]]] = {
    **checks.MACHINE,
    "folder-writable": DoctorCheck("the loop's folder can be written to", tree.writable, fix=tree.make_folders),
}
"""What is looked at first."""

STATE: Mapping[str, DoctorCheck[FolderCase[Any]]] = {
    "gitignore": DoctorCheck("git ignores the loop's state", tree.ignored, 60, tree.ignore),
    "tracked-state": DoctorCheck("git does not track the loop's state", tree.tracked, 60),
    "status-file": DoctorCheck("status.json can be read", state.status_file),
    "circuit-breaker": DoctorCheck("circuit breaker", state.circuit),
    "ralph-session": DoctorCheck("session", state.session),
    "api-calls": DoctorCheck("calls of this hour", state.api_calls),
    "loop-lock": DoctorCheck("the loop's lock can be taken", state.lock_file),
    "second-loop": DoctorCheck("no other loop is running", state.second_loop),
    "orphaned-agents": DoctorCheck("no agent runs without its loop", state.orphans, fix=state.end_orphans),
}
"""What is looked at last."""
