"""``ralph-bridge doctor``: is everything there that a loop needs, and is anything in its way?"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.cli._setups import choose, is_bare, setup_option
from bridge.cli._terminal import Style, guarded
from bridge.cli.common import print_json, write
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.setups.diagnosis import Finding

__all__ = ["doctor"]

_SIGNS = {"passed": ("✓", "ok", "green"), "warning": ("!", "!", "yellow"), "failed": ("✗", "x", "red")}


@click.command()
@setup_option
@click.option("--project", metavar="DIR", default=".", show_default=True, help="The project's folder.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def doctor(*, setup_name: str | None, project: str, as_json: bool) -> int:
    """Examine this project: programs, settings, driver or agent, CLI, repository, state.

    The checks are those of the setup that `run` would find here. Nothing is written, no agent is
    called. Exit status: 0 nothing failed (there may be warnings), 1 something failed, 2 usage.
    """
    with guarded():
        folder = Path(os.path.abspath(project))
        if not folder.is_dir():
            raise ConfigurationError(f"--project {project}: there is no such folder")
        findings = []
        if not as_json:
            _say(f"{folder}\n\n")
        for finding in _examined(folder, setup_name):
            findings.append(finding)
            if not as_json:
                _show(finding)
        counts = {status: sum(each.status == status for each in findings) for status in _SIGNS}
        if as_json:
            print_json({"results": [_result(each) for each in findings], "summary": _summary(counts)})
        else:
            _say(f"\n{_words(counts)}\n")
        return 1 if counts["failed"] else 0


def _examined(folder: Path, setup_name: str | None) -> Iterator[Finding]:
    """Make the checks of the folder's setup; of bmalph's where there is nothing that a loop could run on."""
    from bridge.loop.prompt import has_prompt
    from bridge.setups.bmalph import doctor as bmalph
    from bridge.setups.bmalph.folder import locate
    from bridge.setups.diagnosis import examine
    from bridge.setups.ralph_loop import doctor as ralph_loop

    setup = choose(folder, setup_name)
    if setup is not None and setup.name == ralph_loop.NAME:
        return examine(ralph_loop.Case(setup, os.environ), ralph_loop.CHECKS)
    plain = has_prompt(folder) if setup is None else not setup_name and is_bare(setup)
    return examine(bmalph.Case(locate(folder), os.environ), bmalph.PLAIN_CHECKS if plain else bmalph.CHECKS)


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


def _show(finding: Finding) -> None:
    style = Style(sys.stdout)
    sign, plain, colour = _SIGNS[finding.status]
    try:
        sign.encode(sys.stdout.encoding)
    except (UnicodeEncodeError, LookupError):
        sign = plain
    detail = _tame(finding.detail).split("\n")
    line = f"{style(sign, colour)} {finding.label}"
    if len(detail) == 1:
        line += f" ({detail[0]})" if detail[0] else ""
        detail = []
    lines = [line, *(f"    {each.strip()}" for each in detail)]
    if finding.hint and finding.status != "passed":
        lines.append(f"    next: {_tame(finding.hint)}")
    _say("\n".join(lines) + "\n")


def _tame(text: str) -> str:
    """Details hold what files and programs say, which must not move the cursor."""
    return "".join(each if each.isprintable() or each == "\n" else " " for each in text)


def _say(text: str) -> None:
    write(text.encode(sys.stdout.encoding or "utf-8", "replace"))
