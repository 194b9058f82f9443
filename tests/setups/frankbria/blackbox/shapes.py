"""The shapes of the loop's files, as the original loop, ``ralph-monitor`` and ``ralph-stats`` read them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STATUSES = {"running", "success", "completed", "halted", "paused", "stopped", "error"}
ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\+00:00|Z)"
_LOG = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] \[(INFO|WARN|ERROR|SUCCESS|LOOP|DEBUG)\] ")


def json_of(path: Path) -> Any:
    data = path.read_bytes()
    assert data.endswith(b"\n"), f"{path.name}: no newline at its end: {data[-40:]!r}"
    return json.loads(data, parse_constant=lambda name: AssertionError(name))


def _kinds(found: dict[str, Any], **kinds: type) -> None:
    for name, kind in kinds.items():
        assert isinstance(found.get(name), kind), f"{name}: {found.get(name)!r}"
        assert kind is not int or not isinstance(found[name], bool), f"{name}: {found[name]!r}"


def status(path: Path) -> None:
    found = json_of(path)
    _kinds(found, timestamp=str, last_action=str, status=str, exit_reason=str, sandbox=dict, next_reset=str)
    numbers = ("loop_count", "calls_made_this_hour", "max_calls_per_hour")
    _kinds(found, **dict.fromkeys((*numbers, "tokens_used_this_hour", "max_tokens_per_hour"), int))
    assert found["status"] in STATUSES, found["status"]
    assert re.fullmatch(ISO, found["timestamp"]), found["timestamp"]
    assert re.fullmatch(r"\d\d:\d\d:\d\d", found["next_reset"]), found["next_reset"]
    assert found["sandbox"] == {"provider": "none"}


def progress(path: Path) -> None:
    found = json_of(path)
    assert found["status"] in {"executing", "completed", "failed", "timed_out_productive"}, found
    if found["status"] == "executing":
        _kinds(found, indicator=str, elapsed_seconds=int, last_output=str, timestamp=str)


def breaker(path: Path) -> None:
    found = json_of(path)
    assert found["state"] in {"CLOSED", "HALF_OPEN", "OPEN"}, found
    counters = ("no_progress", "same_error", "permission_denials")
    _kinds(found, **{f"consecutive_{name}": int for name in counters}, total_opens=int, reason=str, last_change=str)
    assert re.fullmatch(ISO, found["last_change"]), found["last_change"]


def breaker_history(path: Path) -> None:
    for entry in json_of(path):
        _kinds(entry, timestamp=str, loop=int, from_state=str, to_state=str, reason=str)


def session(path: Path) -> None:
    found = json_of(path)
    keys = {"session_id", "created_at", "last_used", "reset_at", "reset_reason"}
    assert keys <= set(found), keys - set(found)
    assert isinstance(found["session_id"], str)


def session_history(path: Path) -> None:
    found = json_of(path)
    assert len(found) <= 50
    for entry in found:
        _kinds(entry, timestamp=str, from_state=str, to_state=str, reason=str, loop_number=int)


def session_id(path: Path) -> None:
    _kinds(json_of(path), session_id=str, timestamp=str)


def exit_signals(path: Path) -> None:
    found = json_of(path)
    for name in ("test_only_loops", "done_signals", "completion_indicators"):
        assert all(type(number) is int for number in found[name]), found
        assert len(found[name]) <= 5, found


def analysis(path: Path) -> None:
    found = json_of(path)
    _kinds(found, loop_number=int, timestamp=str, output_file=str, output_format=str, analysis=dict)
    names = ("has_completion_signal", "is_test_only", "is_stuck", "has_progress", "exit_signal", "asking_questions")
    _kinds(found["analysis"], **dict.fromkeys((*names, "has_permission_denials"), bool))
    numbers = ("files_modified", "confidence_score", "output_length", "permission_denial_count", "question_count")
    _kinds(found["analysis"], **dict.fromkeys(numbers, int), work_summary=str, denied_commands=list)


def counter(path: Path) -> None:
    assert re.fullmatch(r"\d+\n", path.read_text()), path.read_text()


def hour(path: Path) -> None:
    assert re.fullmatch(r"\d{10}\n", path.read_text()), path.read_text()


def log(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert _LOG.match(lines[0]), lines[0]
    assert all(_LOG.match(line) for line in lines if line.startswith("[")), lines


def metrics(path: Path) -> None:
    for line in path.read_text().splitlines():
        found = json.loads(line)
        _kinds(found, timestamp=str, loop=int, success=bool, calls=int)
        assert isinstance(found["duration"], int | float)
        assert re.fullmatch(ISO, found["timestamp"]), found["timestamp"]


SHAPES: dict[str, Callable[[Path], None]] = {
    "status.json": status,
    "progress.json": progress,
    ".circuit_breaker_state": breaker,
    ".circuit_breaker_history": breaker_history,
    ".ralph_session": session,
    ".ralph_session_history": session_history,
    ".claude_session_id": session_id,
    ".exit_signals": exit_signals,
    ".response_analysis": analysis,
    ".call_count": counter,
    ".token_count": counter,
    ".last_reset": hour,
    "logs/ralph.log": log,
    "logs/metrics.jsonl": metrics,
}


def check_all(folder: Path, *, but: tuple[str, ...] = ()) -> None:
    """Every file that is there has its shape, and none is left that was on its way."""
    for name, check in SHAPES.items():
        if name not in but and (folder / name).exists():
            check(folder / name)
    assert [path.name for path in folder.rglob("*.tmp")] == []
