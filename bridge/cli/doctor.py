"""``ralph-bridge doctor``: is everything there that a loop needs, and is anything in its way?"""

from __future__ import annotations

import os
import sys
from itertools import chain
from typing import TYPE_CHECKING

import click

from bridge.base.wording import tame
from bridge.cli._failures import guarded
from bridge.cli._help import completes, json_option
from bridge.cli._options import project_code_option, project_folder, project_option, setup_option
from bridge.cli._terminal import Style, print_json, show, sign
from bridge.errors import ConfigurationError
from bridge.loop.setups.projects import choose
from bridge.shell.consent import only_ours

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bridge.loop.setups.diagnosis import DoctorFinding


@click.command()
@setup_option
@project_option
@project_code_option
@click.option(
    "--script",
    metavar="PATH",
    shell_complete=completes("FILE"),
    help="A loop script that `run --script` would run.",
)
@click.option("--fix", is_flag=True, help="Take those of the next steps that are safe.")
@json_option
def doctor(
    *,
    setup_name: str | None,
    project: str | None,
    script: str | None,
    run_project_code: bool,
    fix: bool,
    as_json: bool,
) -> int:
    """Examine this project: programs, settings, driver or agent, CLI, repository, state.

    The checks are those of the setup that `run` would find here. No agent is called, and none of the project's
    scripts and programs is run without --run-project-code. Nothing is written without --fix. With it, rules for
    the loop's state are added to .gitignore, the folder for logs is made, the remains of a crashed run are
    cleared, and agents that a loop of this project has left running are ended; the last two only while no loop
    is running. For everything else the next step is named.

    Exit codes: 0 nothing failed (there may be warnings), 1 something failed, 2 usage, 4 nobody has looked at what
    a turn in a box has left (docs/sandbox.md).
    """
    with guarded(), only_ours(when=not run_project_code):
        folder = project_folder(project)
        if script is not None and not os.path.isfile(script):
            raise ConfigurationError(
                f"--script {script}: there is no such file\n  next: name the script that you start"
            )
        findings = []
        if not as_json:
            show(f"{tame(str(folder))}\n\n")
        for finding in _examined(folder, setup_name, script, fix=fix):
            findings.append(finding)
            if not as_json:
                _print(finding)
        statuses = [each.status for each in findings]
        failed, warnings = statuses.count("failed"), statuses.count("warning")
        good = statuses.count("passed") + warnings
        counts = {"passed": good, "failed": failed, "total": good + failed, "warnings": warnings}
        if as_json:
            print_json({"results": [_result(each, fix=fix) for each in findings], "summary": counts})
        else:
            safe = ", ".join(each.id for each in findings if each.fixable and each.status != "passed")
            if safe and not fix:
                show(f"\n`ralph-bridge doctor --fix` takes the safe steps: {safe}\n")
            show(f"\n{_words(counts)}\n")
        return 1 if failed else 0


def _examined(folder: Path, setup_name: str | None, script: str | None, *, fix: bool) -> Iterator[DoctorFinding]:
    """Make the checks of the folder's setup; those that say most where nothing is whole."""
    from bridge.loop.setups import PLAIN, SCRIPT, foreign, foreign_loops, kinds, project_file
    from bridge.loop.setups.diagnosis import examine
    from bridge.loop.setups.plain.doctor import BLANK_CHECKS, BlankCase, is_blank
    from bridge.loop.setups.projects import has_prompt

    if script is not None:
        from bridge.loop.setups.script.which import setup_of

        case, checks = kinds()[SCRIPT].checks(folder, setup_of(folder, script), os.environ)
        return examine(case, checks, fix=fix)
    setup = choose(folder, setup_name)
    own = setup is None and (has_prompt(folder) or foreign_loops.is_there(folder))
    beside = foreign.Beside(folder)
    if setup_name is None:
        beside = foreign.beside(folder, setup, prompt=own)
    settings = examine(BlankCase(folder, os.environ), project_file.checks(folder), fix=fix)
    last = chain(settings, examine(beside, foreign.checks(beside), fix=fix))
    if setup is None and setup_name is None and not own and is_blank(folder):
        blank = examine(BlankCase(folder, os.environ), BLANK_CHECKS, fix=fix)
        return chain(blank, last)
    name = PLAIN
    if setup is not None and (setup_name or not setup.bare):
        name = setup.name
    elif setup is None and not own:
        name = next((each.name for each in kinds().values() if each.by_default), PLAIN)
    case, checks = kinds()[name].checks(folder, setup, os.environ)
    return chain(examine(case, checks, fix=fix), last)


def _result(finding: DoctorFinding, *, fix: bool) -> dict[str, object]:
    record: dict[str, object] = {
        "id": finding.id,
        "label": finding.label,
        "status": finding.status,
        "passed": finding.status != "failed",
        "detail": finding.detail,
        "hint": finding.hint,
    }
    return record | {"fixed": finding.fixed or None} if fix else record


def _words(counts: dict[str, int]) -> str:
    warned = f" ({counts['warnings']} with a warning)" if counts["warnings"] else ""
    return f"{counts['passed']} passed{warned}, {counts['failed'] or 'nothing'} failed"


def _print(finding: DoctorFinding) -> None:
    style = Style(sys.stdout)
    detail = tame(finding.detail, keep="\n").split("\n")
    line = f"{sign(finding.status, style)} {finding.label}"
    if len(detail) == 1:
        line += f" ({detail[0]})" if detail[0] else ""
        detail = []
    lines = [line, *(f"    {each.strip()}" for each in detail)]
    if finding.fixed:
        lines.append("    done: " + tame(finding.fixed))
    if finding.hint and finding.status != "passed":
        lines.append("    next: " + tame(finding.hint, keep="\n"))
    show("\n".join(lines) + "\n")
