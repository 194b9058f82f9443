"""``ralph-bridge report``: what a run of the loop was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bridge.base.files import LONGEST_LINE
from bridge.base.packages import room
from bridge.base.wording import plural
from bridge.cli._failures import guarded
from bridge.cli._help import completes
from bridge.cli._options import choose_loop, loop_option, project_folder, project_option
from bridge.cli._output_file import write_output
from bridge.cli._terminal import say, write
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

FORMATS = ("text", "md", "json", "html")


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    output = click.option("-o", "--output", metavar="FILE", shell_complete=completes("FILE"),
                          help="Write it there.  [default: stdout]")  # fmt: skip
    return click.option("--format", "kind", type=click.Choice(FORMATS), default="text", show_default=True)(
        output(command)
    )


def write_report(text: str, output: str | None) -> None:
    if output is None:
        write(text)
    else:
        write_output(f"-o {output}", output, text)
        say(f"written: {output}")


@click.command()
@loop_option
@project_option
@click.option("--run", "run", metavar="ID",
              help="The run to report, by its id or the beginning of it.  [default: the last]")  # fmt: skip
@click.option("--all", "every", is_flag=True, help="Report all runs that there are records of.")
@report_options
def report(
    *, setup_name: str | None, project: str | None, run: str | None, every: bool, kind: str, output: str | None
) -> None:
    """Report what a run was: why it ended, turns and failures, time, tokens and money, tasks, commits, files.

    Without --run it is the last run; where that went on from runs that were killed, these and the sum of all;
    where it had no turn, the one before, too. Read from the loop's records and from git, in every kind of
    setup; nothing is written but --output. What nobody knows is called unknown. The records:
    docs/turn-records.md. Of a swarm: ralph-bridge swarm report.

    Exit codes: 0 reported; 2 no loop has run here, or there is no such run.
    """
    from bridge.loop.report import formats
    from bridge.loop.report.run_report import read_report, with_pull_requests

    with guarded():
        if run is not None and every:
            raise click.UsageError("--run and --all exclude each other")
        folder = project_folder(project)
        loop = choose_loop(folder, setup_name)
        try:
            found = read_report(loop, run=run, every=every)
        except LookupError as error:
            raise ConfigurationError(f"{error.args[0]}\n  next: ralph-bridge status, or --setup NAME") from error
        if (swarm := room("bridge.loop.swarm.status")) is not None:
            found = with_pull_requests(found, swarm.pulls_of(folder))
        for path, count in found.skipped.items():
            say(f"note: {path}: {plural(count, 'line')} of more than {LONGEST_LINE >> 20} MiB: not ours, skipped")
        write_report(formats.FORMATS[kind](found), output)
