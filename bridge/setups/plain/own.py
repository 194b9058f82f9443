"""Which files of a plain folder the loop itself writes. Pure."""

from __future__ import annotations

import re

from bridge.git.repository import Files

__all__ = ["FILES", "IGNORED", "SAMPLES"]

_OWN = re.compile(
    r"\.ralph/(?:logs/.*|status\.json|live\.log|\.claude_session_id|\.ralph_bridge.*|.*\.lock|\..*\.tmp)", re.DOTALL
)

IGNORED = (".ralph/logs/", ".ralph/status.json", ".ralph/live.log", ".ralph/.*")
"""What git is best told to pass over."""

SAMPLES = (".ralph/status.json", ".ralph/live.log", ".ralph/logs/ralph.log", ".ralph/.ralph_bridge.json")
"""Files that show whether it does."""

FILES = Files(is_own=lambda path: _OWN.fullmatch(path) is not None)
"""What of a project is no work."""
