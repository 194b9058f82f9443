"""Which files the loop itself writes: no work of the agent's, whatever git says of them (trap T6). Pure."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING

from bridge.git.repository import Files

if TYPE_CHECKING:
    from bridge.setups.bmalph.folder import Folder

__all__ = ["is_own_state", "own_files"]

_OWN = re.compile(
    r"(?:status\.json|progress\.json|live\.log|ralph\.log|logs/.*"
    r"|\.call_count|\.last_reset|\.exit_signals|\.response_analysis|\.circuit_breaker_(?:state|history)"
    r"|\.ralph_session(?:_history)?|\.claude_session_id|\.loop_start_sha|\.loop_diff_summary|\.last_output_length"
    r"|\.quality_gate_results|\.review_findings\.json|\.review_last_sha|\.(?:write_)?heartbeat_\w+|\.qg_tmp.*"
    r"|\.ralph_bridge.*|.*\.lock|\..*\.tmp|.*\.collapse_tmp)",
    re.DOTALL,
)
_ROOT_TEMPORARY = re.compile(r"\.response_analyzer\.\w+")


def own_files(folder: Folder) -> Files:
    """The loop's own files in its project."""
    return Files(is_own=partial(is_own_state, folder=os.path.relpath(folder.path, folder.project)))


def is_own_state(path: str, folder: str = ".ralph") -> bool:
    """Say whether a path, relative to the project, is a file that the loop itself writes.

    The plan, the prompt and the specs aren't: agents edit them.

    Args:
        path: the file.
        folder: the loop's folder, likewise.
    """
    inside = folder.rstrip("/") + "/"
    if path.startswith(inside):
        return _OWN.fullmatch(path.removeprefix(inside)) is not None
    return _ROOT_TEMPORARY.fullmatch(path) is not None
