"""``ralph-bridge run``: the loop of a project."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge.cli._failures import guarded
from bridge.cli._help import completes
from bridge.cli._options import (
    caps_options,
    crew_options,
    filter_options,
    gate_options,
    project_folder,
    project_option,
    run_options,
    sandbox_options,
    settings_option,
    setup_option,
    source_option,
    taken_filters,
    taken_notify,
    taken_unserved,
    telemetry_options,
    unserved_options,
    write_back_option,
)
from bridge.cli._terminal import say
from bridge.setups import PLAIN, detect, kinds
from bridge.setups.options import RunOptions, check
from bridge.setups.projects import choose

if TYPE_CHECKING:
    from bridge.setups.model import Setup, SetupKind


class _Run(click.Command):
    """Of a kind that says so, the words are those of its own controller: in its order, with its exit codes."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        words = list(args)
        owner = None if extra.get("resilient_parsing") else _owner(words)
        context = super().make_context(info_name, args if owner is None else [], parent, **extra)
        context.obj = owner and (*owner, words)
        return context

    def invoke(self, ctx: click.Context) -> Any:
        if ctx.obj is None:
            return super().invoke(ctx)
        kind, folder, words = ctx.obj
        from bridge.cli._controller import run_words

        return run_words(kind.controller(), folder, words)


def _owner(words: list[str]) -> tuple[SetupKind, Path] | None:
    """The kind that has words of its own and the project of that kind, if these are about one."""
    named: dict[str, str] = {}
    for word, following in zip_longest(words, words[1:]):
        option, equals, value = word.partition("=")
        if option == "--from":
            return None  # the tasks of a source are no matter of a controller
        if option in ("--project", "--setup") and (equals or following is not None):
            named[option] = value if equals else following
    name = named.get("--setup")
    folder = Path(named["--project"]) if "--project" in named else project_folder(None)
    own = {each for each, kind in kinds().items() if kind.own_words}
    if not folder.is_dir() or name not in (None, *own):
        return None
    found = [setup.name for setup in detect(folder)]
    if (name not in found) if name else (len(found) != 1 or found[0] not in own):
        return None
    return kinds()[name or found[0]], project_folder(named.get("--project"), tell=True)


@click.command(cls=_Run)
@click.argument("words", metavar="[WORDS]...", nargs=-1, shell_complete=completes("WORDS"))
@setup_option
@run_options("driver", "prompt", "mode", "tasks")
@project_option
@run_options("max_iterations", "max_minutes")
@caps_options
@run_options("calls", "live", "promise", "timeout", "retry_delay", "max_failures", "max_idle", "resume", "push")
@run_options("allowed_tools", "agent", "process", "strict", "lift")
@unserved_options
@crew_options
@gate_options
@sandbox_options
@telemetry_options
@run_options("dry_run")
@source_option
@filter_options
@write_back_option
@click.option("--stop-on-failure", is_flag=True, help="Begin no further task behind one that isn't done (--from).")
@settings_option
@click.option("-q", "--quiet", is_flag=True, help="Show only the assistant's text, and no lines about the steps.")
def run(*, setup_name: str | None, project: str | None, quiet: bool, **given: Any) -> int:
    """Run the coding CLI again and again until the work is done.

    The loop ends when the assistant's RALPH_STATUS block says EXIT_SIGNAL: true, when the assistant
    gives the completion promise, when every box of @fix_plan.md is ticked, or after --max-iterations.
    With --agent in a folder without a setup, the promise is COMPLETE unless another one is named.
    Where the project has a script of its own (snarktank's ralph.sh, the playbook's loop.sh, Pocock's
    scripts, ralphy), it ends as that does: by its promise, its plan, or its number of turns.

    In a ralph-loop setup WORDS are those of its controller: plan [N], build [N], align-specs [N],
    prompt FILE [N], help [TOPIC]; without any: build when there is a plan with tasks, else plan.

    With --from, each open task of SOURCE gets a loop of its own, one after the other (docs/tasks.md):
    --max-iterations is for each task, caps and minutes are for all. Asked for again after a kill, it goes
    on where it was. Exit codes in every setup: 0 all tasks are done, 1 some aren't, 2, 4, 130 and 143 as below.

    Exit codes: 0 complete, 1 ended incomplete, 2 usage or configuration, 4 the environment is not
    ready, or the CLI not logged in, its key refused, its model unknown, 130 and 143 after Ctrl-C and TERM.

    Exit codes in a ralph-loop setup, those of its controller: 0 complete or all iterations used, 1 not
    started, or nothing was changed any more, 2 no plan to build, 3 a new plan is needed, 4 the agent
    failed.
    """
    from bridge.loop.notify import notifying
    from bridge.setups.unserved import refuse

    with guarded(), notifying(taken_notify(given)):
        folder = project_folder(project, tell=True)
        requested = given["settings"] | taken_unserved(given)
        refuse(
            folder, os.environ, given=requested, driver=given["driver"] or given["agent"], sandbox=given["sandbox"]
        )
        filters = taken_filters(given)
        about = {name: given.pop(name) for name in ("write_back", "stop_on_failure")}
        if (source := given.pop("source")) is not None:
            from bridge.cli._series import run_series

            given["prompt"] = _seen_in(folder, given["prompt"])
            return run_series(folder, setup_name, source, filters, given, quiet=quiet, **about)
        if wanting := [*filters.given(), *(name for name, each in about.items() if each not in (False, "none"))]:
            raise click.UsageError(f"--{wanting[0].replace('_', '-')} is about tasks of a source: give --from, too")
        setup = choose(folder, setup_name, given["words"])
        if setup is None or (setup.bare and not setup_name):
            kind, setup = kinds()[PLAIN], None
        else:
            kind, folder = kinds()[setup.name], setup.project
        for name in ("prompt", "tasks"):
            given[name] = _seen_in(folder, given[name])
        return run_kind(kind, folder, setup, RunOptions.of(given), quiet=quiet)


def _seen_in(folder: Path, name: str | None) -> str | None:
    """A file as it is seen from `folder`; given it was from where the user is."""
    if not name:
        return name
    path = Path(os.path.abspath(name))
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def run_kind(kind: SetupKind, folder: Path, setup: Setup | None, options: RunOptions, *, quiet: bool) -> int:
    """Run the loop of a project: 0 complete, 1 ended incomplete, 4 the CLI can't be used as it is.

    Args:
        setup: as it was found; None: nothing was.
        options: those that don't apply are refused.
        quiet: no line per step.
    """
    from bridge.cli._render import AT_OPEN_BREAKER, Renderer, drive, exit_code, first_line, preview
    from bridge.cli._view import view
    from bridge.git.ignore import unignored

    if options.words and "words" not in kind.options:
        raise click.UsageError(
            f"{options.words[0]!r} is a word of a controller, and {folder} is a {kind.name} setup"
        )
    check(kind, options, setup=setup, by_flag=True)
    if kind.command:
        code: int = import_module(kind.command).run_setup(setup, options, quiet=quiet)
        return code
    with kind.open(folder, setup, options, lambda line: say(f"note: {line}")) as opened:
        if options.dry_run:
            return preview(opened)
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        begun, most = opened.begun(), options.max_iterations
        if begun is not None:
            most = begun[1].limits.max_iterations
        if not quiet:
            where, samples = opened.state_files()
            if unignored(folder, samples):  # an agent's `git add -A` would commit it
                say(f"note: git does not ignore the loop's state in {where}; next: ralph-bridge doctor --fix")
            say(f"{kind.title} · {folder}" if begun is None else first_line(*begun))
        renderer = Renderer(max_iterations=most, quiet=quiet)
        with view(renderer, calls_per_hour=opened.calls_per_hour, max_iterations=most, quiet=quiet) as shown:
            end = drive(opened.events(), *shown)
        if opened.breaker_is_open(end) and not quiet:
            say(AT_OPEN_BREAKER)
        if remark := opened.remark(end):
            say(remark)
        return exit_code(end)
