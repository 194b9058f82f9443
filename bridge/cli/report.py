"""``ralph-bridge report``: what a run of the loop was."""

from __future__ import annotations

from pathlib import Path

import click

from bridge.cli._options import choose_loop, loop_option, project_folder, project_option
from bridge.cli._terminal import guarded, say, write
from bridge.errors import ConfigurationError

FORMATS = {"text": "text", "md": "markdown", "json": "jsons", "html": "html"}
"""Format to the module of :mod:`bridge.report` that renders it."""


@click.command()
@loop_option
@project_option
@click.option(
    "--run", "run", metavar="ID", help="The run to report, by its id or the beginning of it.  [default: the last]"
)
@click.option("--all", "every", is_flag=True, help="Report all runs that there are records of.")
@click.option("--format", "kind", type=click.Choice(tuple(FORMATS)), default="text", show_default=True)
@click.option("-o", "--output", metavar="FILE", help="Write it there.  [default: stdout]")
def report(
    *, setup_name: str | None, project: str | None, run: str | None, every: bool, kind: str, output: str | None
) -> int:
    """Report what a run was: why it ended, turns and failures, time, tokens and money, tasks, commits, files.

    Read from the loop's records and from git, in every kind of setup; nothing is written but --output. What
    nobody knows is called unknown. The records: docs/turn-records.md.

    Exit codes: 0; 2 when no loop has run here, or there is no such run.
    """
    import importlib

    from bridge.files import write_atomic
    from bridge.report.model import read_report

    with guarded():
        if run is not None and every:
            raise click.UsageError("--run and --all exclude each other")
        loop = choose_loop(project_folder(project), setup_name)
        try:
            found = read_report(loop, run=run, every=every)
        except LookupError as error:
            raise ConfigurationError(f"{error.args[0]}\n  next: ralph-bridge status, or --setup NAME") from error
        text = importlib.import_module(f"bridge.report.{FORMATS[kind]}").render(found)
        if output is None:
            write(text)
        else:
            write_atomic(Path(output), text)
            say(f"written: {output}")
        return 0
