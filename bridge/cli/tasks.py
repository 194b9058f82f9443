"""``ralph-bridge tasks``: tasks where they live."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from bridge.base.wording import columns, one_line
from bridge.cli._failures import guarded
from bridge.cli._flow import cut
from bridge.cli._help import Group, completes, json_option
from bridge.cli._options import filter_options, project_folder, project_option, taken_filters
from bridge.cli._output_file import check_target, write_output
from bridge.cli._terminal import print_json, say, show
from bridge.loop.tasks import open_source
from bridge.loop.tasks.task import Asked
from bridge.loop.tasks.task_order import ordered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridge.loop.tasks.task import Task

_MOST_LABELS = 30
_LEAST_TITLE = 20


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


def table(tasks: Sequence[Task], width: int | None = None) -> list[str]:
    """Tasks as lines: what each needs by number, titles cut where a terminal has no room for them. Pure.

    Args:
        width: cells of a line; None: as many as it takes.
    """
    number = {task.id: at for at, task in enumerate(tasks, 1)}
    rows = [("", "task", "priority", "needs", "labels")] + [
        (
            str(number[task.id]),
            one_line(task.id),
            "" if task.priority is None else f"{task.priority:g}",
            ranges([number[each] for each in task.needs if each in number]),
            one_line(", ".join(task.labels), _MOST_LABELS),
        )
        for task in tasks
    ]
    filled = [at for at in range(5) if any(row[at] for row in rows[1:])]
    left = columns([*[row[at] for at in filled], "|"] for row in rows)
    titles = ["title", *(one_line(task.title) for task in tasks)]
    room = None if width is None else max(width - len(left[0]) + 1, _LEAST_TITLE)
    return [
        (line[:-1] + (title if room is None else cut(title, room))).rstrip()
        for line, title in zip(left, titles, strict=True)
    ]


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as people write them.

    >>> ranges([3, 1, 2, 7])
    '1-3, 7'
    """
    found: list[list[int]] = []
    for each in sorted(numbers):
        if found and each == found[-1][-1] + 1:
            found[-1].append(each)
        else:
            found.append([each])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in found)
