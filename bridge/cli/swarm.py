"""``ralph-bridge swarm``: many loops side by side."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge.base.files import confine
from bridge.cli._failures import guarded
from bridge.cli._help import Group, completes, json_option
from bridge.cli._numbers import ABOVE_ZERO
from bridge.cli._options import (
    WATCHES,
    caps_options,
    choose_loop,
    crew_options,
    filter_options,
    given_by_user,
    notify_options,
    project_folder,
    project_option,
    resumed_watch_options,
    run_options,
    sandbox_options,
    settings_option,
    setup_option,
    source_option,
    taken_filters,
    taken_notify,
    telemetry_options,
    watch_options,
    write_back_option,
)
from bridge.cli._swarm_view import drive_swarm, follow, headline, lines_of
from bridge.cli._terminal import print_json, say, show
from bridge.cli.report import report_options, write_report
from bridge.errors import ConfigurationError
from bridge.loop.engine.observers import OPTIONS as TELEMETRY
from bridge.loop.sandbox.recovery import look_behind
from bridge.loop.setups.box_options import OPTIONS as SANDBOX
from bridge.loop.setups.further_tools import OPTIONS as CREW
from bridge.loop.setups.options import OPTIONS

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager

    from bridge.loop.swarm.project import SwarmProject
    from bridge.loop.swarm.swarm_record import SwarmRecord
    from bridge.loop.tasks.task import Task


class _WithRunOptions(click.Command):
    """What stands behind ``--`` are options of ``run``, for each of the loops."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        words: list[str] = []
        if "--" in args:
            at = args.index("--")
            args, words = args[:at], args[at + 1 :]
        context = super().make_context(info_name, args, parent, **extra)
        context.obj = words
        return context


@click.group(cls=Group)
def swarm() -> None:
    """Run many loops side by side, each in a work tree of its own; merge what is complete.

    Nothing that an agent writes is lost: at each end of a task, whoever brought it about, all of it is on a branch.
    """


run_option = click.argument("run_name", metavar="[RUN]", required=False)
executor_option = click.option(
    "--executor", metavar="dask|tls://HOST:PORT|MODULE:NAME",
    help="Where the tasks run: a Dask cluster on this machine or elsewhere, or a function that gives a"
    " concurrent.futures.Executor.  [default: threads]")  # fmt: skip
insecure_option = click.option(
    "--insecure", is_flag=True,
    help="Let --executor be dask://HOST:PORT, a scheduler without TLS: whoever reaches its port runs code.",
)  # fmt: skip
hub_option = click.option(
    "--hub", metavar="URL",
    help="A bare repository by which work goes out and comes back, for workers that don't see these files.",
)  # fmt: skip
jobs_option = click.option(
    "-j", "--jobs", type=click.IntRange(1), metavar="N", help="So many at once.  [default: 2]"
)
summary_option = click.option("-q", "--quiet", is_flag=True, help="Print the summary alone.")


@swarm.command("run", cls=_WithRunOptions)
@click.argument("tasks_file", metavar="[TASKS]", required=False, shell_complete=completes("FILE"))
@project_option
@setup_option
@jobs_option
@source_option
@filter_options
@write_back_option
@click.option("--by", type=click.Choice(["box", "heading"]), default="box", help="What of the plan is one task.")
@click.option("--check", metavar="COMMAND", help="Has to succeed before a merge is committed, such as 'make test'.")
@click.option("--check-minutes", type=ABOVE_ZERO, metavar="MINUTES", default=60, show_default=True,
              help="That the check may take.")  # fmt: skip
@click.option("--into", metavar="BRANCH", help="Move BRANCH forward to the result at the end; see --pull-requests.")
@click.option("--pull-requests", is_flag=True,
              help="Merge nothing here: push each branch to origin, and open a pull request by gh, into --into or"
              " else the branch that is checked out.")  # fmt: skip
@watch_options
@click.option("--redo-conflicts/--no-redo-conflicts", default=True, show_default=True,
              help="Begin a task that conflicts once more, from what is merged.")  # fmt: skip
@click.option("--again", is_flag=True, help="Begin tasks anew that an earlier swarm has, and that aren't merged.")
@click.option("--tidy", is_flag=True, help="Remove a task's work tree once all of it is merged.")
@click.option("--trees", metavar="DIR", shell_complete=completes("DIR"),
              help="Make the work trees below DIR.  [default: $XDG_STATE_HOME/ralph-bridge]")  # fmt: skip
@click.option("--task-minutes", type=ABOVE_ZERO, metavar="MINUTES", help="That a task may take.")
@caps_options
@executor_option
@insecure_option
@hub_option
@run_options(
    "driver",
    "agent",
    "prompt",
    driver="For each loop, as in `run`; so are the next three.",
    agent="Instead of a driver.",
    prompt="The prompt file.",
)
@click.option("--max-iterations", type=click.IntRange(0), metavar="N",
              help="Stop each loop after so many iterations; 0: as the setup has it.  [default: 50 for bmalph and"
              " frankbria, else the setup's]")  # fmt: skip
@crew_options
@sandbox_options
@telemetry_options
@settings_option
@summary_option
@click.pass_context
def run(context: click.Context, /, **given: Any) -> int:
    """Work on many tasks at once. TASKS is a YAML file, a list of stories in JSON, or a file with a task
    per line.

    Without TASKS they are the open boxes of the project's fix plan. Each one gets a work tree, a branch
    (ralph/task/RUN/TASK) and a loop of its own. What is complete is merged into ralph/swarm/RUN; your work tree
    isn't touched. The caps are for all tasks together. Options of `run` for each loop go behind --:

        ralph-bridge swarm run -j 4 --check 'make test' --max-cost 20 -- --max-iterations 10 --max-cost 2

    With --pull-requests nothing is merged here; --watch, --reviews and --merge see to what becomes of them.

    Exit codes: 0 all merged, or proposed (and come to the end that was asked for); 1 something isn't (listed, with
    its branch and what can be done); 2 usage or configuration; 4 the environment is not ready; 130 and 143 after
    Ctrl-C and TERM, work saved.
    """
    from bridge.loop.engine.notify import notifying
    from bridge.loop.swarm.opening import Swarm
    from bridge.loop.swarm.project import open_project
    from bridge.loop.tasks import open_source
    from bridge.loop.tasks.task import Asked
    from bridge.loop.tasks.task_order import ordered

    if given.pop("tokens_per_hour"):
        raise click.UsageError("--tokens-per-hour is for single loops: put it behind --", context)
    options = _run_options(context)
    for name in ("driver", "agent", "prompt", "max_iterations", "settings", *CREW, *SANDBOX, *TELEMETRY):
        if (value := given.pop(name)) or value == 0:
            options[name] = value
    with _ended_in_order(), notifying(taken_notify(given)):
        folder = project_folder(given.pop("project"), tell=True, first=look_behind)
        script, setup = options.get("driver") or options.get("agent"), given.pop("setup_name")
        settings, named = options.get("settings"), options.get("tasks")
        opened = open_project(folder, setup, script=script, settings=settings, tasks=named)
        by_heading = given.pop("by") == "heading"
        name, source = given.pop("tasks_file"), given["source"]
        filters = taken_filters(given)
        if name is not None and source is not None:
            raise click.UsageError("TASKS and --from exclude each other", context)
        if source is None and (wanting := filters.given()):
            raise click.UsageError(f"--{wanting[0]} is about tasks of --from", context)
        if source is None:
            tasks = _tasks(name, opened, by_heading=by_heading)
        else:
            asked = Asked(
                project=opened.folder, plan=opened.own.plan, by_heading=by_heading, filters=filters, tell=say
            )
            tasks = ordered(open_source(source, asked).tasks())
        quiet, jobs = given.pop("quiet"), given.pop("jobs") or 2
        with _executor(given, jobs) as executor:
            started = Swarm(folder, tasks, executor=executor, jobs=jobs, setup=setup, options=options, **given)
            return drive_swarm(started, quiet=quiet)


@swarm.command("resume")
@run_option
@project_option
@jobs_option
@click.option("--retry", metavar="LIST", help="Outcomes to try again: lost, failed, incomplete, timeout, conflict,"
              " 'check failed', closed, 'checks failed', unfinished.")  # fmt: skip
@run_options("max_cost", "max_tokens", max_cost="Another cap than before.", max_tokens="Another cap than before.")
@notify_options
@executor_option
@insecure_option
@hub_option
@resumed_watch_options
@summary_option
def resume(
    *, run_name: str | None, project: str | None, jobs: int | None, retry: str | None, quiet: bool, **given: Any
) -> int:
    """Go on with a swarm that was stopped or killed. What is merged isn't done again.

    Tasks that wait or were interrupted (by you, or by the end of the host) go on, what is complete is merged. What
    was lost (its worker was killed), failed or conflicted runs again only with --retry; its work is on its branch.
    """
    from bridge.loop.engine.notify import notifying
    from bridge.loop.swarm.opening import Swarm

    with (
        _ended_in_order(),
        notifying(taken_notify(given)),
        _executor(given, jobs or 2) as chosen,
    ):
        wanted = [each.strip() for each in (retry or "").split(",") if each.strip()]
        given |= {name: None for name in WATCHES if not given_by_user(name)}
        going = Swarm.resume(
            project_folder(project, first=look_behind), run_name, retry=wanted, executor=chosen, jobs=jobs, **given
        )
        return drive_swarm(going, quiet=quiet)


@swarm.command("stop")
@run_option
@project_option
@click.option("--now", is_flag=True, help="End the turns that are under way, too.")
def stop(*, run_name: str | None, project: str | None, now: bool) -> int:
    """Ask a swarm to end: behind the turns that are under way, or at once. Their work is saved."""
    from bridge.loop.engine.lock import standing
    from bridge.loop.swarm.folder import ask_to_stop, find_run
    from bridge.loop.swarm.project import open_project

    with guarded():
        folder = find_run(open_project(project_folder(project)).swarms, run_name)
        if not standing(folder).running:
            say(f"swarm {folder.name} is not at work")
            return 1
        ask_to_stop(folder, "now" if now else "soon")
        say(f"swarm {folder.name} ends {'now' if now else 'behind the turns that are under way'}")
        return 0


@swarm.command("status")
@run_option
@project_option
@json_option
def status(*, run_name: str | None, project: str | None, as_json: bool) -> None:
    """Show where a swarm stands: the one at work, else the last."""
    with guarded():
        seen = _seen(run_name, project)
        if as_json:
            print_json(seen)
        else:
            show(lines_of(seen))


@swarm.command("watch")
@run_option
@project_option
def watch(*, run_name: str | None, project: str | None) -> None:
    """Follow a swarm that is at work until it ends."""
    with guarded("no longer watching"):
        show(lines_of(follow(lambda: _seen(run_name, project))))


@swarm.command("tell")
@click.argument("task")
@click.argument("text")
@run_option
@project_option
def tell(*, task: str, text: str, run_name: str | None, project: str | None) -> int:
    """Send the loop of TASK a message for its next turn: TEXT, or stdin for `-`. See `ralph-bridge tell`.

    Exit codes: 0; 1 its loop is not at work, or not on this machine; 2 there is no such task, or no text.
    """
    from bridge.cli.tell import send

    with guarded():
        opened, known, _ = _found(run_name, project)
        found = next((each for each in known.tasks if each.task.id == task), None)
        if found is None:
            ids = ", ".join(each.task.id for each in known.tasks)
            raise ConfigurationError(f"swarm {known.run} has no task {task!r}\n  next: name one of {ids}")
        folder = Path(found.tree) / opened.prefix
        if found.step != "running" or not folder.is_dir():
            say(f"no loop is at work on {task} here", "  next: `ralph-bridge swarm status`")
            return 1
        confine(folder)
        return send(choose_loop(folder, None), text)


@swarm.command("list")
@project_option
@json_option
def list_runs(*, project: str | None, as_json: bool) -> None:
    """List this project's swarms."""
    from bridge.loop.swarm.folder import runs
    from bridge.loop.swarm.project import open_project
    from bridge.loop.swarm.status import shown
    from bridge.loop.swarm.swarm_record import read_swarm

    with guarded():
        swarms = open_project(project_folder(project)).swarms
        found = [shown(known, each) for each in runs(swarms) if (known := read_swarm(each)) is not None]
        if as_json:
            print_json({"swarms": found})
        else:
            show("".join(f"{headline(each)}\n" for each in found))


@swarm.command("report")
@run_option
@project_option
@report_options
def report(*, run_name: str | None, project: str | None, kind: str, output: str | None) -> None:
    """Report what a swarm was: tasks, what became of each and what can be done, turns, time, tokens, money.

    With a time line per worker. Read from the swarm's record and from git; nothing is written but --output. A
    task's own loop, turn by turn: ralph-bridge report --project TREE.
    """
    from bridge.loop.swarm import report_formats
    from bridge.loop.swarm.report import read_swarm_report

    with guarded():
        opened, known, folder = _found(run_name, project)
        found = read_swarm_report(opened, known, folder, time.time())
        write_report(report_formats.FORMATS[kind](found), output)


@swarm.command("clean")
@run_option
@project_option
def clean(*, run_name: str | None, project: str | None) -> int:
    """Remove what is proven merged: work trees, branches, records. Anything else stays, and is told.

    Exit codes: 0 nothing is left of these swarms, 1 something stays.
    """
    from bridge.loop.swarm.cleaning import clean as cleaned
    from bridge.loop.swarm.folder import find_run, runs
    from bridge.loop.swarm.project import open_project

    with guarded():
        opened = open_project(project_folder(project))
        folders = [find_run(opened.swarms, run_name)] if run_name else runs(opened.swarms)
        left = False
        for folder in folders:
            for each in cleaned(opened, folder):
                show(f"stays    {each.what}: {each.stays}\n" if each.stays else f"removed  {each.what}\n")
                left = left or bool(each.stays)
        return 1 if left else 0


# -- what they share ---------------------------------------------------------------------------------


def _ended_in_order() -> AbstractContextManager[None]:
    return guarded(
        "interrupted: the workers were ended, and their work is saved; `ralph-bridge swarm resume` goes on"
    )


def _executor(given: dict[str, Any], jobs: int) -> AbstractContextManager[Executor | None]:
    """What the options of `executor_option` and those below it ask for; taken out of a command's parameters."""
    from bridge.loop.swarm.executors import opened

    return opened(given.pop("executor"), jobs, given.pop("hub"), insecure=given.pop("insecure"))


def _run_options(context: click.Context) -> dict[str, Any]:
    """Read what stands behind ``--`` as ``run`` would, and give it as `Loop.open` takes it."""
    from bridge.cli.run import run as single

    words: list[str] = context.obj or []
    parsed = click.Command("run", params=single.params).make_context("swarm run --", words, context.parent)
    options: dict[str, Any] = {}
    for name, value in parsed.params.items():
        if parsed.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE or value in ((), None):
            continue
        if name == "calls":
            options["calls"] = int(value) if str(value).isdigit() else value
        elif name != "words" and name in OPTIONS and OPTIONS[name].python:
            options[name] = value
        else:
            flag = next(each.opts[0] for each in single.params if each.name == name)
            shown = flag if flag.startswith("-") else "WORDS"
            raise click.UsageError(f"{shown} does not apply to the loops of a swarm", context)
    return options


def _tasks(name: str | None, opened: SwarmProject, *, by_heading: bool) -> list[Task] | None:
    from bridge.base.json_files import read_text
    from bridge.loop.tasks.task_lines import from_lines, from_yaml

    if name is None:
        text = opened.plan_text()
        return None if text is None else opened.format.tasks(text, opened.plan or "", by_heading=by_heading)
    text = read_text(Path(name))
    if text is None:
        raise ConfigurationError(f"{name}: there is no such file with tasks")
    is_plan = opened.plan is not None and os.path.realpath(name) == os.path.realpath(opened.folder / opened.plan)
    if name.endswith((".yaml", ".yml")) and not is_plan:
        return from_yaml(text, name)
    if not name.endswith((".md", ".json")) and not is_plan:
        return from_lines(text, name)
    tasks = opened.format.tasks(text, name, by_heading=by_heading)
    if is_plan:
        return tasks
    return [replace(each, boxes=(), prompt=each.prompt.replace("- [ ] ", "", 1)) for each in tasks]


def _seen(run_name: str | None, project: str | None) -> dict[str, Any]:
    from bridge.loop.swarm.status import shown

    _, known, folder = _found(run_name, project)
    return shown(known, folder)


def _found(run_name: str | None, project: str | None) -> tuple[SwarmProject, SwarmRecord, Path]:
    from bridge.loop.swarm.folder import find_run
    from bridge.loop.swarm.project import open_project
    from bridge.loop.swarm.swarm_record import read_swarm

    opened = open_project(project_folder(project))
    folder = find_run(opened.swarms, run_name)
    known = read_swarm(folder)
    if known is None:
        raise ConfigurationError(f"{folder}: the record is not to be understood")
    return opened, known, folder
