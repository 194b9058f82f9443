"""What the analysis and the review of a loop leave for the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.records import delete, read_object, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.setups.bmalph.folder import Folder

__all__ = [
    "delete_analysis",
    "delete_findings",
    "read_analysis",
    "read_findings",
    "write_findings",
]


def read_analysis(folder: Folder) -> dict[str, Any]:
    """Return the field ``analysis`` of ``.response_analysis``; {} without one."""
    found = (read_object(folder / ".response_analysis") or {}).get("analysis")
    return found if isinstance(found, dict) else {}


def delete_analysis(folder: Folder) -> None:
    """Delete ``.response_analysis``."""
    delete(folder / ".response_analysis")


def write_findings(folder: Folder, findings: Mapping[str, Any]) -> None:
    """Write ``.review_findings.json``: the object of the model as it is."""
    write_json(folder / ".review_findings.json", dict(findings))


def read_findings(folder: Folder) -> dict[str, Any]:
    """Return ``.review_findings.json``; {} without one."""
    return read_object(folder / ".review_findings.json") or {}


def delete_findings(folder: Folder) -> None:
    """Delete ``.review_findings.json``."""
    delete(folder / ".review_findings.json")
