"""``ralph-bridge tasks``: tasks where they live."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from bridge.cli._failures import guarded
from bridge.cli._help import Group, completes, json_option
from bridge.cli._options import filter_options, project_folder, project_option, taken_filters
from bridge.cli._output_file import check_target, write_output
from bridge.cli._terminal import print_json, say, show
from bridge.loop.tasks import open_source
from bridge.loop.tasks.task import Asked
from bridge.loop.tasks.task_order import ordered

if TYPE_CHECKING:
    from bridge.loop.tasks.task import Task


@click.group(cls=Group)
def tasks() -> None:
    """Look at tasks where they live: in plans, files and trackers.

    SOURCE is a kind and what it takes, such as plan:fix_plan.md, speckit: or github:OWNER/REPO (docs/tasks.md).
    """


source_argument = click.argument("source", shell_complete=completes("SOURCE"))


def _tasks(source: str, project: str | None, given: dict[str, Any]) -> list[Task]:
    asked = Asked(project=project_folder(project), filters=taken_filters(given), tell=say)
    return ordered(open_source(source, asked).tasks())


@tasks.command("list")
@source_argument
@filter_options
@project_option
@json_option
def list_tasks(*, source: str, project: str | None, as_json: bool, **given: Any) -> None:
    """List the open tasks of SOURCE, in the order in which they would be begun, each with the numbers of those
    that it needs.

    Exit codes: 0 there are some; 2 there is no such source, or no open task; 4 its tracker can't be reached.
    """
    with guarded():
        found = _tasks(source, project, given)
        if as_json:
            fields = ("id", "title", "prompt", "needs", "ref", "priority", "labels")
            print_json({"tasks": [{name: getattr(each, name) for name in fields} for each in found]})
            return
        from bridge.cli._tasks_view import table

        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        show("".join(f"{line}\n" for line in table(found, width)))
        say(f"{len(found)} open")


@tasks.command("import")
@source_argument
@click.option("--to", "form", type=click.Choice(["plan", "prd", "yaml"]), required=True, help="The form to write.")
@click.option("-o", "--output", metavar="FILE", shell_complete=completes("FILE"),
              help="The file to write.  [default: stdout]")  # fmt: skip
@filter_options
@project_option
def import_tasks(*, source: str, form: str, output: str | None, project: str | None, **given: Any) -> None:
    """Copy the open tasks of SOURCE into a plan with boxes, a prd.json, or a list in YAML.

    A file that is there is not overwritten.
    """
    from bridge.errors import ConfigurationError
    from bridge.loop.tasks.task_formats import written

    with guarded():
        if output is not None:
            check_target(f"-o {output}", output)
            if os.path.lexists(output):
                raise ConfigurationError(
                    f"{output}: it is there already\n  next: name another file, or move it away"
                )
        text = written(_tasks(source, project, given), form)
        if output is None:
            show(text)
            return
        write_output(f"-o {output}", output, text)
        say(f"written: {output}")
