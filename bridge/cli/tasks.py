"""``ralph-bridge tasks``: tasks where they live."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from bridge.cli._failures import guarded
from bridge.cli._help import Group, completes, json_option
from bridge.cli._options import filter_options, project_folder, project_option
from bridge.cli._terminal import print_json, say, show
from bridge.tasks.model import FILTERS, Asked

if TYPE_CHECKING:
    from pathlib import Path

    from bridge.setups.model import PlanKind
    from bridge.tasks.model import Source


@click.group(cls=Group)
def tasks() -> None:
    """Look at tasks where they live: in plans, files and trackers.

    SOURCE is a kind and what it takes, such as plan:fix_plan.md, prd:prd.json or github:OWNER/REPO.
    """


def taken_source(
    given: dict[str, Any], project: Path, plan: PlanKind | None = None, *, by_heading: bool = False
) -> Source | None:
    """Open the source that a command's parameters name, which are taken out of them; None: they name none.

    Raises:
        ConfigurationError: there is no such source; a filter without a source, or which it doesn't know.
    """
    from bridge.errors import ConfigurationError
    from bridge.tasks import open_source

    filters = {name: value for name in FILTERS if (value := given.pop(name)) is not None}
    if (named := given.pop("source")) is None:
        if filters:
            raise ConfigurationError(f"--{next(iter(filters))} is about --from SOURCE\n  next: give that, too")
        return None
    asked = Asked(project=project, argument="", filters=filters, env=os.environ, plan=plan, by_heading=by_heading)
    return open_source(named, asked)


source_argument = click.argument("source", shell_complete=completes("SOURCE"))


@tasks.command("list")
@source_argument
@filter_options
@project_option
@json_option
def list_tasks(*, project: str | None, as_json: bool, **given: Any) -> None:
    """List the open tasks of SOURCE, in the order in which they would be begun.

    Exit codes: 0 there are some; 2 there is no such source, or no open task; 4 it can't be reached.
    """
    with guarded():
        source = taken_source(given, project_folder(project))
        assert source is not None
        found = source.tasks()
        if as_json:
            fields = ("id", "title", "prompt", "needs", "ref", "priority", "labels")
            print_json({"tasks": [{name: getattr(each, name) for name in fields} for each in found]})
            return
        for each in found:
            needs = f" · needs {', '.join(each.needs)}" if each.needs else ""
            show(f"{each.id}  {each.title}{needs}\n")
        say(f"{len(found)} open")


@tasks.command("import")
@source_argument
@filter_options
@click.option("--to", "form", type=click.Choice(["plan", "prd", "yaml"]), required=True, help="The form to write.")
@click.option("-o", "--output", metavar="FILE", shell_complete=completes("FILE"),
              help="The file to write.  [default: stdout]")  # fmt: skip
@project_option
def import_tasks(*, form: str, output: str | None, project: str | None, **given: Any) -> None:
    """Copy the open tasks of SOURCE into a plan with boxes, a prd.json, or a list in YAML.

    A file that is there is not overwritten.
    """
    from pathlib import Path

    from bridge.errors import ConfigurationError
    from bridge.files import write_atomic
    from bridge.tasks.forms import written

    with guarded():
        source = taken_source(given, project_folder(project))
        assert source is not None
        text = written(source.tasks(), form)
        if output is None:
            show(text)
            return
        path = Path(os.path.abspath(output))
        if os.path.lexists(path):
            raise ConfigurationError(f"{output}: it is there already\n  next: name another file, or move it away")
        write_atomic(path, text)
        say(f"written: {output}")
