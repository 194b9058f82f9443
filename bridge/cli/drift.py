"""``ralph-bridge drift``: scripts compared with the CLIs that are installed here."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from bridge.base.wording import tame
from bridge.cli._failures import guarded
from bridge.cli._help import completes
from bridge.cli._terminal import Style, print_json, say, show, sign

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.verify.drift import DriftFinding, DriftReport


@click.command()
@click.argument("scripts", nargs=-1, metavar="[SCRIPT]...", shell_complete=completes("SCRIPT"))
@click.option("--run", "run_it", is_flag=True, help="Also run the CLI, offline, against a scripted model server.")
@click.option("--format", "kind", type=click.Choice(["text", "json", "markdown"]), default="text",
              show_default=True, help="What to print; Markdown is for an issue or a job's summary.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("-q", "--quiet", is_flag=True, help="Show only what did not pass.")
def drift(*, scripts: tuple[str, ...], run_it: bool, kind: str, as_json: bool, quiet: bool) -> int:
    """Compare drivers and agents with the CLIs that are installed on this machine.

    SCRIPT is a path, or the name of a driver or agent; default: all that ship with ralph-bridge. The report
    says whether the CLI is there and new enough, and whether it knows every option that the script passes,
    where it passes it. With --run, in namespaces without a network, it also says whether the command lines
    are accepted, the prompt arrives, tools work, the filter shows the text, the session id is found and
    resumes, and how the CLI deals with odd prompts.

    A CLI that is newer than the version that ralph-bridge was held against is named, with the facts recorded of
    that version: which still hold, which may have changed, and which were not re-checked.

    Exit codes: 0 nothing failed (limits of a CLI are named and are no failure), 1 a script has to be changed,
    2 usage, 4 a CLI is not installed, or namespaces for --run are not available.
    """
    with guarded():
        kind = "json" if as_json else kind
        reports = _reports(scripts, run=run_it, quiet=quiet, as_text=kind == "text")
        if kind == "json":
            print_json({"run": run_it, "scripts": [each.as_data() for each in reports]})
        elif kind == "markdown":
            from bridge.verify.drift.report import markdown

            show(markdown(reports, run=run_it))
        else:
            show(_summary(reports) + "\n")
        return _code(reports, named=bool(scripts))


def _reports(scripts: tuple[str, ...], *, run: bool, quiet: bool, as_text: bool) -> list[DriftReport]:
    from bridge.cli._call import find
    from bridge.errors import SandboxUnavailable
    from bridge.verify.drift import examine
    from bridge.verify.rehearsal.sandbox import missing

    paths = [find(script) for script in scripts] or _shipped()
    if run and (why := missing()):
        raise SandboxUnavailable(f"--run: {why}\n  next: run it as root, or leave --run out")
    reports = []
    for path in paths:
        if run and sys.stderr.isatty():
            say(f"{path} ...")
        reports.append(examine(path, run=run))
        if as_text:
            show(rendered(reports[-1], quiet=quiet))
    return reports


def _shipped() -> list[Path]:
    from bridge.base.resources import NOT_DRIVERS, shipped

    return [
        path
        for kind in ("drivers", "agents")
        for path in sorted(shipped(kind).glob("*.sh"))
        if path.stem not in NOT_DRIVERS
    ]


def _code(reports: list[DriftReport], *, named: bool) -> int:
    """Of all shipped scripts, most people have one CLI: only scripts that were named need theirs."""
    if any(each.failed for each in reports):
        return 1
    there = [each.installed for each in reports]
    return 0 if all(there) or (any(there) and not named) else 4


def _summary(reports: list[DriftReport]) -> str:
    failed = sum(each.failed for each in reports)
    absent = sum(not each.installed and not each.failed for each in reports)
    good = len(reports) - failed - absent
    parts = [f"{good} in step with {'its CLI' if good == 1 else 'their CLIs'}"]
    parts += [f"{failed} drifted"] if failed else []
    newer = sum(each.newer for each in reports)
    parts += [f"{newer} with a CLI newer than what was recorded"] if newer else []
    parts += [f"{absent} without {'its CLI' if absent == 1 else 'their CLIs'} on this machine"] if absent else []
    return ", ".join(parts)


def rendered(report: DriftReport, *, quiet: bool = False) -> str:
    style = Style(sys.stdout)
    cli = f"{report.cli} {report.version}".strip() if report.cli else "could not be asked"
    lines = [f"{style(report.script, 'bold')} · {report.kind} · {cli}"]
    wide = max((len(each.check) for each in report.findings), default=0)
    for each in report.findings:
        if not quiet or each.status.value not in ("passed", "skipped"):
            lines += _lines(each, wide, style)
    lines += _since_the_pin(report, style, quiet=quiet) if report.newer else []
    return "\n".join(lines) + "\n\n"


def _since_the_pin(report: DriftReport, style: Style, *, quiet: bool) -> list[str]:
    """What becomes of the recorded facts, and what would tell of those that nobody looked at."""
    shown = [each for each in report.recorded if not (quiet and each.state == "holds")]
    wide = max((len(each.state) for each in shown), default=0)
    lines = [f"  {sign('warning', style)} newer than {report.pin}, of which these facts were recorded:"]
    lines += [f"    {each.state:<{wide}}  {each.text}" for each in shown]
    for by, number in Counter(each.by for each in shown if each.by).items():
        lines.append(f"    next: {by} checks {number} of them")
    return lines


def _lines(finding: DriftFinding, wide: int, style: Style) -> list[str]:
    number = f" ({finding.drift})" if finding.drift and finding.status.value != "passed" else ""
    lines = [f"  {sign(finding.status.value, style)} {finding.check:<{wide}}  {tame(finding.detail)}{number}"]
    if finding.hook:
        where = f"{finding.hook}, line {finding.line}" if finding.line else finding.hook
        lines.append(f"    {'':<{wide}}  in {where}")
    if finding.hint and finding.status.value != "passed":
        lines.append(f"    {'':<{wide}}  next: {tame(finding.hint)}")
    return lines
