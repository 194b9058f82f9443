"""The files of a project that the loop reads and writes, under ``.ralph/``."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

from bridge.errors import ProjectUnusable
from bridge.files import write_atomic
from bridge.loop.plan import Plan, parse_plan
from bridge.session_id import validate_session_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["ProjectFiles", "usable"]


@contextmanager
def usable(what: str) -> Iterator[None]:
    """Turn the system's refusal to read or write `what` into an error that names it.

    Raises:
        ProjectUnusable: the block raised an OSError.
    """
    try:
        yield
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        raise ProjectUnusable(f"{what} can't be used: {error.strerror or error}{where}") from error


class ProjectFiles:
    """Where things lie in a project, and how they are read and written.

    Args:
        project: the project's folder.
    """

    def __init__(self, project: Path) -> None:
        self.project = project
        self.folder = project / ".ralph"
        self.logs = self.folder / "logs"
        self.session_file = self.folder / ".claude_session_id"
        self.status_file = self.folder / "status.json"

    def prepare(self) -> None:
        """Create the folders that are missing."""
        with usable("the folder for logs"):
            self.logs.mkdir(parents=True, exist_ok=True)

    def new_log(self, kind: str, iteration: int) -> Path:
        """Return a log path that no earlier run has used."""
        stamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        path = self.logs / f"driver_{kind}_{iteration}_{stamp}.log"
        number = 1
        while path.exists():
            number += 1
            path = self.logs / f"driver_{kind}_{iteration}_{stamp}-{number}.log"
        return path

    def read_plan(self) -> Plan | None:
        """Read the fix plan: in ``.ralph/``, else in the project's folder, else None."""
        for folder in (self.folder, self.project):
            with usable("the fix plan"), suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return parse_plan((folder / "@fix_plan.md").read_text("utf-8", "replace"))
        return None

    def read_session(self) -> tuple[str | None, bool]:
        """Return the saved session id, and whether the file holds something that is none."""
        text = ""
        with usable("the session file"), suppress(FileNotFoundError, NotADirectoryError):
            text = self.session_file.read_text("utf-8", "replace").strip()
        if text.startswith("{"):  # what older installations wrote
            with suppress(ValueError):
                record = json.loads(text)
                text = str(record.get("session_id") or record.get("sessionId") or "")
        first = text.splitlines()[0] if text else ""
        found = validate_session_id(first.strip())
        return found, bool(first) and found is None

    def save_session(self, session_id: str | None) -> None:
        """Save the session for the next run, or forget it."""
        with usable("the session file"):
            if session_id is None:
                self.session_file.unlink(missing_ok=True)
            else:
                write_atomic(self.session_file, session_id + "\n")

    def write_status(self, loop_count: int, last_action: str, status: str, exit_reason: str = "") -> None:
        """Write ``status.json``, which dashboards and `ralph-bridge status` read."""
        record = {
            "timestamp": datetime.now().astimezone().isoformat(timespec="seconds"),
            "loop_count": loop_count,
            "last_action": last_action,
            "status": status,
            "exit_reason": exit_reason,
        }
        with usable("the status file"):
            write_atomic(self.status_file, json.dumps(record, indent=2) + "\n")
