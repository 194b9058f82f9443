"""What a call of the Stop hook says, and what the hook can answer. Pure but for looking for folders."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.setups.wiggum.files import Layout

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEFAULT_CAP = 8


@dataclass(frozen=True, slots=True)
class HookCall:
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
    cap: int = _DEFAULT_CAP
    cap_given: bool = False
    legacy: bool = False

    def is_foreign(self, owner: str | None) -> bool:
        """Say whether a loop with that owner is another session's."""
        return not self.legacy and owner not in (None, self.session_id)

    def rests(self, blocks: int) -> bool:
        """Say whether the CLI would pass over one more block, after so many in a row."""
        return not self.legacy and 0 < self.cap <= blocks

    def allow(self, message: str = "") -> HookResponse:
        """See :func:`allow`."""
        return allow(message, legacy=self.legacy)

    def block(self, prompt: str, message: str) -> HookResponse:
        """Let the agent go on, with a prompt; an outer shell loop brings its own."""
        text = f"ralph: {message}"
        if self.legacy:
            return HookResponse(stderr=text, status=1)
        return HookResponse(_json_line(decision="block", reason=prompt, systemMessage=text))

    def fail_open(self, what: str) -> HookResponse:
        """See :func:`fail_open`."""
        return fail_open(what, legacy=self.legacy)


def read_call(document: dict[str, Any], env: Mapping[str, str], cwd: Path, *, legacy: bool) -> HookCall:
    """Read what came in, value by value: one of another type than expected counts as missing."""

    def text(key: str) -> str | None:
        value = document.get(key)
        return value if isinstance(value, str) else None

    path = text("transcript_path") or (env.get("CLAUDE_TRANSCRIPT") if legacy else None)
    named = Path(text("cwd") or cwd)
    cap = env.get("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "")
    return HookCall(
        session_id=text("session_id") or None,
        active=document.get("stop_hook_active") is True,
        message=text("last_assistant_message"),
        transcript=Path(path).expanduser() if path else None,
        cwd=named if named.is_dir() else cwd,
        cap=int(cap) if cap.isascii() and cap.isdecimal() else _DEFAULT_CAP,
        cap_given=cap.isascii() and cap.isdecimal(),
        legacy=legacy,
    )


def candidate_projects(call: HookCall, env: Mapping[str, str]) -> list[Layout]:
    """List where the loop may be: the session's folder, those above it in the repository, the project's root."""
    folders = []
    for folder in (call.cwd, *call.cwd.parents):
        folders.append(folder)
        if (folder / ".git").exists():
            break
    else:
        del folders[1:]
    root = env.get("CLAUDE_PROJECT_DIR")
    return [Layout(folder) for folder in ([*folders, Path(root)] if root else folders)]


# -- answers -----------------------------------------------------------------------------------------


class HookResponse(NamedTuple):
    """What goes out: one line of JSON for stdout or nothing, a line for stderr or nothing, the exit status.

    `doubtful`: the agent may stop because something is wrong.
    """

    stdout: str = ""
    stderr: str = ""
    status: int = 0
    doubtful: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """The JSON that goes out; empty for nothing."""
        found: dict[str, Any] = json.loads(self.stdout) if self.stdout else {}
        return found


def allow(message: str = "", *, legacy: bool = False) -> HookResponse:
    """Let the agent stop, with a message to the user, or silently."""
    if not message:
        return HookResponse()
    text = f"ralph: {message}"
    return HookResponse(stderr=text) if legacy else HookResponse(_json_line(systemMessage=text))


def fail_open(what: str, *, legacy: bool = False) -> HookResponse:
    """Let the agent stop because something is wrong, and say what."""
    text = f"ralph-bridge stop-hook: {what}"
    return HookResponse("" if legacy else _json_line(systemMessage=text), text, doubtful=True)


def _json_line(**document: str) -> str:
    # ASCII only: whatever the locale says, and lone surrogates of a broken file, too.
    return json.dumps(document) + "\n"
