"""What the analysis, the quality gates and the review of a loop leave for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.setups.bmalph.files import stamps
from bridge.setups.bmalph.files.records import delete, read_object, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bridge.setups.bmalph.folder import Folder

__all__ = [
    "delete_analysis",
    "delete_findings",
    "read_analysis",
    "read_findings",
    "read_gates",
    "write_analysis",
    "write_findings",
    "write_gates",
]

_NUMBERS = (
    "files_modified",
    "format_confidence",
    "confidence_score",
    "tasks_completed_this_loop",
    "fix_plan_completed_delta",
    "permission_denial_count",
)
_BOOLEANS = (
    "is_test_only",
    "is_stuck",
    "exit_signal",
    "has_progress_tracking_mismatch",
    "has_permission_denials",
)


def write_analysis(
    folder: Folder, *, loop: int, output_file: Path, output_format: str, analysis: Mapping[str, Any], now: float
) -> None:
    """Write ``.response_analysis`` (section 5.5).

    Args:
        folder: the loop's folder.
        loop: the iteration.
        output_file: the log that was analysed.
        output_format: ``json`` or ``text``.
        analysis: the fields of section 5.5.
        now: the time.

    Raises:
        ValueError: a field that the readers of section 3.2 need as a number or boolean is something else.
        ProjectUnusable: the system refuses.
    """
    for names, kinds in ((_NUMBERS, (int, float)), (_BOOLEANS, (bool,))):
        for name in names:
            value = analysis.get(name, kinds[0]())
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise ValueError(f"analysis.{name} is {value!r}: expected {kinds[0].__name__}")
    record = {
        "loop_number": loop,
        "timestamp": stamps.iso(now),
        "output_file": folder.name_of(output_file),
        "output_format": output_format,
        "analysis": dict(analysis),
    }
    write_json(folder / ".response_analysis", record)


def read_analysis(folder: Folder) -> dict[str, Any]:
    """Return the field ``analysis`` of ``.response_analysis``; {} without one."""
    found = (read_object(folder / ".response_analysis") or {}).get("analysis")
    return found if isinstance(found, dict) else {}


def delete_analysis(folder: Folder) -> None:
    """Delete ``.response_analysis``."""
    delete(folder / ".response_analysis")


def write_gates(
    folder: Folder,
    *,
    loop: int,
    test_gate: Mapping[str, Any],
    custom_gates: Sequence[Mapping[str, Any]],
    overall: str,
    mode: str,
    now: float,
) -> None:
    """Write ``.quality_gate_results`` (section 4.12).

    Args:
        folder: the loop's folder.
        loop: the iteration.
        test_gate: status, tests_status_reported, verified, output.
        custom_gates: command, status, exit_code, output, duration_seconds, timed_out of each.
        overall: ``pass`` or ``fail``.
        mode: QUALITY_GATE_MODE.
        now: the time.
    """
    record = {
        "timestamp": stamps.iso(now),
        "loop_number": loop,
        "test_gate": dict(test_gate),
        "custom_gates": [dict(gate) for gate in custom_gates],
        "overall_status": overall,
        "mode": mode,
    }
    write_json(folder / ".quality_gate_results", record)


def read_gates(folder: Folder) -> dict[str, Any]:
    """Return ``.quality_gate_results``; {} without one."""
    return read_object(folder / ".quality_gate_results") or {}


def write_findings(folder: Folder, findings: Mapping[str, Any]) -> None:
    """Write ``.review_findings.json``: the object of the model as it is."""
    write_json(folder / ".review_findings.json", dict(findings))


def read_findings(folder: Folder) -> dict[str, Any]:
    """Return ``.review_findings.json``; {} without one."""
    return read_object(folder / ".review_findings.json") or {}


def delete_findings(folder: Folder) -> None:
    """Delete ``.review_findings.json``."""
    delete(folder / ".review_findings.json")
