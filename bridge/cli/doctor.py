"""``ralph-bridge doctor``: is everything there that a loop needs, and is anything in its way?"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from bridge.cli._terminal import Style, guarded, show, sign, tame
from bridge.cli.common import print_json, project_folder, project_option

if TYPE_CHECKING:
    from bridge.setups.bmalph.doctor import Finding

__all__ = ["doctor"]

_STATUSES = ("passed", "warning", "failed")


@click.command()
@project_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def doctor(*, project: str, as_json: bool) -> int:
    """Examine this project: programs, settings, driver, CLI, repository, state.

    Nothing is written, no agent is called. Exit status: 0 nothing failed (there may be warnings),
    1 something failed, 2 usage.
    """
    with guarded():
        from bridge.setups.bmalph.doctor import Case, examine
        from bridge.setups.bmalph.folder import locate

        case = Case(locate(project_folder(project)), os.environ)
        findings = []
        if not as_json:
            show(f"{case.folder.project}\n\n")
        for finding in examine(case):
            findings.append(finding)
            if not as_json:
                _print(finding)
        counts = {status: sum(each.status == status for each in findings) for status in _STATUSES}
        if as_json:
            print_json({"results": [_result(each) for each in findings], "summary": _summary(counts)})
        else:
            show(f"\n{_words(counts)}\n")
        return 1 if counts["failed"] else 0


def _result(finding: Finding) -> dict[str, object]:
    return {
        "id": finding.id,
        "label": finding.label,
        "status": finding.status,
        "passed": finding.status != "failed",
        "detail": finding.detail,
        "hint": finding.hint,
    }


def _summary(counts: dict[str, int]) -> dict[str, int]:
    good = counts["passed"] + counts["warning"]
    return {
        "passed": good,
        "failed": counts["failed"],
        "total": good + counts["failed"],
        "warnings": counts["warning"],
    }


def _words(counts: dict[str, int]) -> str:
    told = f"{counts['passed'] + counts['warning']} passed"
    if counts["warning"]:
        told += f" ({counts['warning']} with a warning)"
    return f"{told}, {counts['failed']} failed" if counts["failed"] else f"{told}, nothing failed"


def _print(finding: Finding) -> None:
    style = Style(sys.stdout)
    detail = tame(finding.detail, keep="\n").split("\n")
    line = f"{sign(finding.status, style)} {finding.label}"
    if len(detail) == 1:
        line += f" ({detail[0]})" if detail[0] else ""
        detail = []
    lines = [line, *(f"    {each.strip()}" for each in detail)]
    if finding.hint and finding.status != "passed":
        lines.append("    next: " + tame(finding.hint, keep="\n"))
    show("\n".join(lines) + "\n")
