"""Strict readers of the files (section 3.2): what bmalph's dashboard, doctor and status accept, and no more."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

STATES = {"running", "halted", "stopped", "completed", "success", "graceful_exit", "paused", "error"}
_CAMEL = {"loop_count": "loopCount", "tasks_completed": "tasksCompleted", "tasks_total": "tasksTotal"}
_LOG_LINE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] \[(INFO|WARN|ERROR|SUCCESS|LOOP|DEBUG)\] .*")


class Corrupt(AssertionError):
    """A reader would call the file corrupt."""


def need(fine: object, what: str) -> None:
    if not fine:
        raise Corrupt(what)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _object(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    need(data.endswith(b"\n"), f"{path.name}: no newline at its end: {data[-40:]!r}")
    try:
        value = json.loads(data, parse_constant=lambda name: need(False, name))
    except ValueError as error:
        raise Corrupt(f"{path.name}: {error}: {data[:200]!r}") from error
    need(isinstance(value, dict), f"{path.name}: no object")
    assert isinstance(value, dict)
    return value


def status(folder: Path) -> dict[str, Any]:
    record = _object(folder / "status.json")
    need(not any(camel in record and snake in record for snake, camel in _CAMEL.items()), "both spellings")
    need(is_number(record.get("loop_count")), "loop_count")
    need(record.get("status") in STATES, f"status {record.get('status')!r}")
    for name in ("tasks_completed", "tasks_total", "calls_made_this_hour", "max_calls_per_hour"):
        need(name not in record or is_number(record[name]), name)
    need("last_action" not in record or isinstance(record["last_action"], str), "last_action")
    return record


def breaker(folder: Path) -> dict[str, Any]:
    record = _object(folder / ".circuit_breaker_state")
    need(record.get("state") in {"CLOSED", "HALF_OPEN", "OPEN"}, "state")
    need(is_number(record.get("consecutive_no_progress")), "consecutive_no_progress")
    need("total_opens" not in record or is_number(record["total_opens"]), "total_opens")
    need("reason" not in record or isinstance(record["reason"], str), "reason")
    return record


def session(folder: Path) -> dict[str, Any]:
    record = _object(folder / ".ralph_session")
    need(isinstance(record.get("session_id"), str), "session_id")
    if record["session_id"]:
        need(isinstance(record.get("created_at"), str), "created_at")
        datetime.fromisoformat(record["created_at"])
    return record


def progress(folder: Path) -> dict[str, Any]:
    record = _object(folder / "progress.json")
    if record.get("status") == "executing":
        need(is_number(record.get("elapsed_seconds")), "elapsed_seconds")
        need(isinstance(record.get("indicator"), str), "indicator")
        need(isinstance(record.get("last_output"), str), "last_output")
    return record


def analysis(folder: Path) -> dict[str, Any]:
    found = _object(folder / ".response_analysis").get("analysis")
    need(isinstance(found, dict), "analysis")
    assert isinstance(found, dict)
    for name in (
        "files_modified",
        "format_confidence",
        "confidence_score",
        "tasks_completed_this_loop",
        "fix_plan_completed_delta",
        "permission_denial_count",
    ):
        need(is_number(found.get(name)), name)
    for name in (
        "is_test_only",
        "is_stuck",
        "exit_signal",
        "has_progress_tracking_mismatch",
        "has_permission_denials",
    ):
        need(isinstance(found.get(name), bool), name)
    return found


def findings(folder: Path) -> dict[str, Any]:
    record = _object(folder / ".review_findings.json")
    need(is_number(record.get("issues_found")), "issues_found")
    need(isinstance(record.get("severity"), str), "severity")
    need(isinstance(record.get("summary"), str), "summary")
    return record


def log(folder: Path) -> list[str]:
    """The last eight lines of the last 4096 bytes; every one has to be to format."""
    data = (folder / "logs" / "ralph.log").read_bytes()[-4096:].decode()
    lines = data.split("\n")[-9:-1]
    for line in lines[1:]:
        need(_LOG_LINE.fullmatch(line), line)
    return lines


READERS = {
    "status.json": status,
    ".circuit_breaker_state": breaker,
    ".ralph_session": session,
    "progress.json": progress,
    ".response_analysis": analysis,
    ".review_findings.json": findings,
    "logs/ralph.log": log,
}
"""By file; each takes the loop's folder and raises :class:`Corrupt`."""


def read_all(folder: Path) -> list[str]:
    """Read every file that is there; returns their names."""
    found = []
    for name, reader in READERS.items():
        try:
            reader(folder)
        except FileNotFoundError:
            continue
        found.append(name)
    return found
