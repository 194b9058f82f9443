"""A call of the Stop hook: what it says, and which project it is about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridge.setups.wiggum.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Call", "projects", "read_call"]

_CAP = 8


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the hook, as far as it could be understood.

    Attributes:
        session_id: whose turn ends; None: it wasn't said.
        active: the turn goes on because of a Stop hook already.
        message: the assistant's last message; None: it wasn't said.
        transcript: the file that should hold it, or None.
        cwd: where the session is.
        cap: blocks in a row after which the CLI ends the turn by itself; 0: never.
        cap_given: the user has named that number.
        legacy: an outer shell loop asks, by exit status.
    """

    session_id: str | None
    active: bool
    message: str | None
    transcript: Path | None
    cwd: Path
    cap: int = _CAP
    cap_given: bool = False
    legacy: bool = False


def read_call(document: dict[str, Any], env: Mapping[str, str], cwd: Path, *, legacy: bool) -> Call:
    """Read what came in, value by value: one of another type than expected counts as missing."""

    def text(key: str) -> str | None:
        value = document.get(key)
        return value if isinstance(value, str) else None

    path = text("transcript_path") or (env.get("CLAUDE_TRANSCRIPT") if legacy else None)
    named = Path(text("cwd") or cwd)
    cap = env.get("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "")
    return Call(
        session_id=text("session_id") or None,
        active=document.get("stop_hook_active") is True,
        message=text("last_assistant_message"),
        transcript=Path(path).expanduser() if path else None,
        cwd=named if named.is_dir() else cwd,
        cap=int(cap) if cap.isascii() and cap.isdecimal() else _CAP,
        cap_given=cap.isascii() and cap.isdecimal(),
        legacy=legacy,
    )


def projects(call: Call, env: Mapping[str, str]) -> list[Layout]:
    """Say where the loop may be: the session's folder, those above it in the repository, the project's root."""
    folders = []
    for folder in (call.cwd, *call.cwd.parents):
        folders.append(folder)
        if (folder / ".git").exists():
            break
    else:
        del folders[1:]
    root = env.get("CLAUDE_PROJECT_DIR")
    return [Layout(folder) for folder in ([*folders, Path(root)] if root else folders)]
