"""What a call of the Stop hook says, and what can be answered: JSON, or an exit status. Pure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.base.records import dataclass
from bridge.loop.setups.wiggum.files import Layout

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEFAULT_CAP = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    session_id: str | None  # whose turn ends; None: not known
    active: bool  # the turn goes on because of a Stop hook already
    message: str | None  # the assistant's last one; None: not given
    transcript: Path | None  # the file that should hold it
    cwd: Path  # where the session is
    cap: int  # blocks in a row after which the CLI ends the turn by itself; 0: never
    cap_given: bool  # the user has named that number
    legacy: bool  # an outer shell loop asks, by exit status

    def is_foreign(self, owner: str | None) -> bool:
        """Say whether a loop with that owner is another session's."""
        return not self.legacy and owner not in (None, self.session_id)

    def rests(self, blocks: int) -> bool:
        """Say whether the CLI would pass over one more block, after so many in a row."""
        return not self.legacy and 0 < self.cap <= blocks


def read_call(document: dict[str, Any], env: Mapping[str, str], cwd: Path, *, legacy: bool) -> HookCall:
    """Read what came in, value by value: one of another type than expected counts as missing."""

    def text(key: str) -> str | None:
        value = document.get(key)
        return value if isinstance(value, str) else None

    path = text("transcript_path") or (env.get("CLAUDE_TRANSCRIPT") if legacy else None)
    folder = Path(text("cwd") or cwd)
    cap = env.get("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "")
    cap_given = cap.isascii() and cap.isdecimal()
    return HookCall(
        session_id=text("session_id") or None,
        active=document.get("stop_hook_active") is True,
        message=text("last_assistant_message"),
        transcript=Path(path).expanduser() if path else None,
        cwd=folder if folder.is_dir() else cwd,
        cap=int(cap) if cap_given else _DEFAULT_CAP,
        cap_given=cap_given,
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


class HookResponse(NamedTuple):
    """What goes out: one line of JSON for stdout or nothing, a line for stderr or nothing, the exit status."""

    stdout: str = ""
    stderr: str = ""
    status: int = 0

    @property
    def document(self) -> dict[str, Any]:
        """The JSON that goes out; empty for nothing."""
        found: dict[str, Any] = json.loads(self.stdout) if self.stdout else {}
        return found


class Answer(NamedTuple):
    """The agent may stop, with a message to the user or silently; or goes on with a prompt."""

    message: str = ""
    prompt: str | None = None
    doubtful: bool = False  # it may stop because something is wrong

    @property
    def text(self) -> str:
        sender = "ralph-bridge stop-hook" if self.doubtful else "ralph"
        return f"{sender}: {self.message}" if self.message else ""

    def response(self, *, legacy: bool) -> HookResponse:
        """Say it as JSON or, to a shell loop, which brings its own prompt, by exit status."""
        if legacy:
            return HookResponse(stderr=self.text, status=0 if self.prompt is None else 1)
        document = {} if self.prompt is None else {"decision": "block", "reason": self.prompt}
        document |= {"systemMessage": self.text} if self.text else {}
        # ASCII only: whatever the locale says, and lone surrogates of a broken file, too.
        shown = json.dumps(document) + "\n" if document else ""
        return HookResponse(shown, self.text if self.doubtful else "")


def doubt(what: str) -> Answer:
    return Answer(what, doubtful=True)
