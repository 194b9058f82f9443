"""``ralph-bridge run``: the loop of a project."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from bridge.cli._failures import guarded
from bridge.cli._help import completes
from bridge.cli._options import (
    caps_options,
    crew_options,
    filter_options,
    gate_options,
    given_by_user,
    project_code_option,
    project_folder,
    project_option,
    run_options,
    sandbox_options,
    settings_option,
    setup_option,
    source_option,
    take_tool,
    taken_filters,
    taken_notify,
    taken_unserved,
    telemetry_options,
    tool_option,
    unserved_options,
    watch_options,
    write_back_option,
)
from bridge.cli._terminal import say
from bridge.errors import BridgeError, ProjectCodeNotRun
from bridge.loop.sandbox.recovery import look_behind
from bridge.loop.setups import PLAIN, SCRIPT, check, detect, kinds
from bridge.loop.setups.options import OPTIONS, RunOptions
from bridge.loop.setups.projects import choose, has_prompt
from bridge.shell.consent import allowing, only_ours

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from bridge.cli._json_lines import JsonLines
    from bridge.loop.setups.setup_kind import Opened, Setup, SetupKind


_GROUPS = {
    "Project": "script setup_name project prompt mode tasks",
    "Tool": "tool driver agent model allowed_tools live resume fallback escalate lift process strict settings",
    "Stop": "max_iterations max_minutes max_cost max_tokens tokens_per_hour price_in price_out promise timeout"
    " retry_delay max_failures max_idle max_silence max_context calls",
    "Box": "sandbox sandbox_write sandbox_env sandbox_network sandbox_image",
    "Check": "check check_every_turn check_minutes review review_every review_rounds push",
    "Tasks": "source label milestone search assignee limit write_back stop_on_failure",
    "Pull request": "pull_request into draft watch watch_minutes fix_rounds reviews merge",
    "Notices": "notify notify_on telemetry telemetry_content",
}
"""The options of ``run`` by what they are about; what isn't named here comes last."""


class _Run(click.Command):
    """Of a kind that says so, the words are those of its own controller: in its order, with its exit codes."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rest = {each.name: each.get_help_record(ctx) for each in self.get_params(ctx)}
        elsewhere = _of_other_kinds()
        for title, names in _GROUPS.items():
            rows = [row for name in names.split() if (row := rest.pop(name, None)) and name not in elsewhere]
            with formatter.section(title):
                formatter.write_dl(rows)
        with formatter.section("More"):
            formatter.write_dl([row for name, row in rest.items() if row and name not in elsewhere])
        if elsewhere:
            formatter.write_paragraph()
            formatter.write_text(
                "Options of kinds of setup that this folder isn't are not listed: docs/options.md has all."
            )

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
        if "--detach" in words:  # ours in every kind, as --json is: no controller has them
            from bridge.cli._detach import run_detached

            with guarded():
                return run_detached(folder)
        from bridge.cli._controller import run_words

        if "--json" not in words:
            return run_words(kind.controller(), folder, words)
        from bridge.cli._json_lines import json_lines

        with json_lines() as lines:
            rest = [word for word in words if word != "--json"]
            return lines.ended(run_words(kind.controller(), folder, rest, lines=lines))


def _of_other_kinds() -> frozenset[str]:
    """Name the options that only other kinds than those of this folder have."""
    with suppress(BridgeError):
        folder = project_folder(None)
        found = [each.name for each in detect(folder) if not each.bare] or [PLAIN]
        every, known = kinds(), frozenset(OPTIONS)
        special = frozenset(name for kind in every.values() for name in kind.options)
        own = frozenset(name for each in found for name in every[each].options)
        return (special - own) & known
    return frozenset()


def _owner(words: list[str]) -> tuple[SetupKind, Path] | None:
    """The kind that has words of its own and the project of that kind, if these are about one."""
    named: dict[str, str] = {}
    for word, following in zip_longest(words, words[1:]):
        option, equals, value = word.partition("=")
        if option in ("--from", "--script", "--pull-request"):
            return None  # the tasks of a source, a script, a pull request are no matter of a controller
        if option in ("--project", "--setup") and (equals or following is not None):
            named[option] = value if equals else following
    name = named.get("--setup")
    folder = Path(named["--project"]) if "--project" in named else project_folder(None, first=look_behind)
    own = {each for each, kind in kinds().items() if kind.own_words}
    if not folder.is_dir() or name not in (None, *own):
        return None
    found = [setup.name for setup in detect(folder)]
    if (name not in found) if name else (len(found) != 1 or found[0] not in own):
        return None
    return kinds()[name or found[0]], project_folder(named.get("--project"), tell=True, first=look_behind)


@click.command(cls=_Run)
@click.argument("words", metavar="[WORDS]...", nargs=-1, shell_complete=completes("WORDS"))
@run_options("script")
@setup_option
@tool_option
@run_options("driver", "prompt", "mode", "tasks")
@project_option
@run_options("max_iterations", "max_minutes")
@caps_options
@run_options(
    "calls",
    "live",
    "promise",
    "timeout",
    "exit_grace",
    "max_silence",
    "max_context",
    "retry_delay",
    "max_failures",
    "max_idle",
    "resume",
    "push",
)
@run_options("allowed_tools", "agent", "process", "strict", "lift")
@unserved_options
@crew_options
@gate_options
@sandbox_options
@telemetry_options
@run_options("dry_run")
@project_code_option
@source_option
@filter_options
@write_back_option
@click.option(
    "--pull-request", is_flag=True, help="Push the branch when the loop is complete, and open a pull request by gh."
)
@click.option(
    "--into", metavar="BRANCH", help="What the pull request goes into.  [default: the repository's default branch]"
)
@watch_options
@click.option("--stop-on-failure", is_flag=True, help="Begin no further task behind one that isn't done (--from).")
@settings_option
@click.option("--detach", is_flag=True, help="Run it without this terminal; `watch` shows it, `stop` ends it.")
@click.option("-q", "--quiet", is_flag=True, help="Show only the assistant's text, and no lines about the steps.")
@click.option("--json", "as_json", is_flag=True, help="Print the loop's events on stdout, one JSON object a line.")
def run(*, detach: bool, as_json: bool, project: str | None, **given: Any) -> int:
    """Run the coding CLI again and again until the work is done.

    The loop ends when the assistant's RALPH_STATUS block says EXIT_SIGNAL: true, when the assistant
    gives the completion promise, when every box of @fix_plan.md is ticked, or after --max-iterations.
    With --agent in a folder without a setup, the promise is COMPLETE unless another one is named.
    Where the project has a script of its own (snarktank's ralph.sh, the playbook's loop.sh, Pocock's
    scripts, ralphy), it ends as that does: by its promise, its plan, or its number of turns.
    Any other script that calls a coding CLI (ralph.sh, loop.sh, scripts/ralph.sh; or by --script PATH)
    is run as it is, with the host behind each of its calls; WORDS are its arguments, and the exit code
    is the script's (docs/any-script.md).

    In a ralph-loop setup WORDS are those of its controller: plan [N], build [N], align-specs [N],
    prompt FILE [N], help [TOPIC]; without any: build when there is a plan with tasks, else plan.

    With --from, each open task of SOURCE gets a loop of its own, one after the other (docs/tasks.md):
    --max-iterations is for each task, caps and minutes are for all. Asked for again after a kill, it goes
    on where it was. Exit codes in every setup: 0 all tasks are done, 1 some aren't, 2, 4, 130 and 143 as below.

    With --pull-request the branch that is checked out is pushed when the loop is complete, and proposed; --watch,
    --reviews and --merge see to what becomes of that (docs/swarm.md). Asked for again, it goes on where it was.

    Exit codes: 0 complete, 1 ended incomplete, 2 usage or configuration, 4 the environment is not
    ready, or the CLI not logged in, its key refused, its model unknown, 130 and 143 after Ctrl-C and TERM.

    Exit codes in a ralph-loop setup, those of its controller: 0 complete or all iterations used, 1 not
    started, or nothing was changed any more, 2 no plan to build, 3 a new plan is needed, 4 the agent
    failed.
    """
    if detach:
        from bridge.cli._detach import run_detached

        with guarded():
            return run_detached(project_folder(project, first=look_behind))
    if not as_json:
        return _run_here(project=project, **given)
    from bridge.cli._json_lines import json_lines

    with json_lines() as lines:
        if given["dry_run"]:
            raise click.UsageError("--json prints the events of a run, and --dry-run runs nothing")
        return lines.ended(_run_here(project=project, lines=lines, **given))


def _run_here(
    *,
    setup_name: str | None,
    project: str | None,
    quiet: bool,
    run_project_code: bool,
    lines: JsonLines | None = None,
    **given: Any,
) -> int:
    from bridge.loop.engine.notify import notifying
    from bridge.loop.setups.unserved import refuse

    looks = given["dry_run"] and not run_project_code
    with guarded(), notifying(taken_notify(given)), only_ours(when=looks), allowing(run_project_code):
        folder = project_folder(project, tell=True, first=look_behind)
        take_tool(given)
        _of_project(folder, given)
        requested = given["settings"] | taken_unserved(given)
        refuse(
            folder, os.environ, given=requested, driver=given["driver"] or given["agent"], sandbox=given["sandbox"]
        )
        filters = taken_filters(given)
        pull = {name: given.pop(name) for name in _GROUPS["Pull request"].split()}
        if pull["pull_request"] and given["source"] is not None:
            raise click.UsageError("--pull-request is for one loop: `swarm run --from` has --pull-requests")
        about = {name: given.pop(name) for name in ("write_back", "stop_on_failure")}
        if (source := given.pop("source")) is not None:
            from bridge.cli._series import run_series

            given["prompt"] = _seen_in(folder, given["prompt"])
            return run_series(folder, setup_name, source, filters, given, quiet=quiet, lines=lines, **about)
        if wanting := [*filters.given(), *(name for name, each in about.items() if each not in (False, "none"))]:
            raise click.UsageError(f"--{wanting[0].replace('_', '-')} is about tasks of a source: give --from, too")
        setup = choose(folder, setup_name, given["words"]) if given["script"] is None else None
        if given["script"] is not None:
            kind = kinds()[SCRIPT]
        elif setup is None or (not setup_name and (setup.bare or _means_plain(folder, setup, given))):
            kind, setup = kinds()[PLAIN], None
        else:
            kind, folder = kinds()[setup.name], setup.project
        for name in ("prompt", "tasks"):
            given[name] = _seen_in(folder, given[name])
        options = RunOptions.of(given | {"prints": lines is None})
        if pull.pop("pull_request"):
            from bridge.cli._pull import run_pull

            return run_pull(kind, folder, setup, options, pull, quiet=quiet, lines=lines)
        if wanting := [name for name in pull if given_by_user(name)]:
            flag = f"--{wanting[0].replace('_', '-')}"
            raise click.UsageError(f"{flag} is about a pull request: give --pull-request, too")
        return run_kind(kind, folder, setup, options, quiet=quiet, lines=lines)


def _means_plain(folder: Path, setup: Setup, given: dict[str, Any]) -> bool:
    """Whether options ask for the plain loop, where there is a prompt, and a setup that counts only as the last."""
    kind = kinds()[setup.name]
    if kind.installation is None or not kind.installation.last or not (given["prompt"] or has_prompt(folder)):
        return False
    return any(given[name] is not None for name in {"driver", "agent", "prompt"} - kind.options)


def _of_project(folder: Path, given: dict[str, Any]) -> None:
    """Take from the project's own file what the command line doesn't say."""
    from bridge.loop.sandbox.box_settings import users_word
    from bridge.loop.setups.project_file import project_options

    context = click.get_current_context()
    named = {"driver", "agent"} & {name for name, value in given.items() if value is not None}
    for name, value in project_options(folder, os.environ).items():
        if name in given and context.get_parameter_source(name) is ParameterSource.DEFAULT:
            if named and name in ("driver", "agent"):
                continue
            if name == "sandbox" and users_word(os.environ) is not None:
                continue
            given[name] = value


class _Resume(_Run):
    """The same command by another name, which people look for."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if not extra.get("resilient_parsing"):
            say("note: `resume` is `run`: a loop goes on from where its plan, its records and its work tree stand")
        return super().make_context(info_name, args, parent, **extra)


resume = _Resume("resume", params=run.params, callback=run.callback, help=run.help)


def _dry_run(opening: AbstractContextManager[Opened]) -> int:
    from bridge.cli._render import preview, preview_without

    try:
        with opening as opened:
            return preview(opened)
    except ProjectCodeNotRun as error:
        if not error.shown:
            raise
        return preview_without(error)


def _seen_in(folder: Path, name: str | None) -> str | None:
    """A file as it is seen from `folder`; given it was from where the user is."""
    if not name:
        return name
    path = Path(os.path.abspath(name))
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def run_kind(
    kind: SetupKind,
    folder: Path,
    setup: Setup | None,
    options: RunOptions,
    *,
    quiet: bool,
    lines: JsonLines | None = None,
) -> int:
    """Run the loop of a project: 0 complete, 1 ended incomplete, 4 the CLI can't be used as it is.

    Args:
        setup: None: nothing was found.
        options: those that don't apply are refused.
        lines: gets the events, instead of a terminal.
    """
    from bridge.cli._render import AT_OPEN_BREAKER, Renderer, drive, first_lines
    from bridge.cli._view import view

    if options.words and "words" not in kind.options:
        raise click.UsageError(
            f"{options.words[0]!r} is a word of a controller, and {folder} is a {kind.name} setup"
        )
    check(kind, options, setup=setup, by_flag=True)
    if lines is not None:
        with kind.open(folder, setup, options, lambda line: say(f"note: {line}")) as opened:
            return lines.run(opened.events()).exit_code
    if kind.command:
        code: int = import_module(kind.command).run_setup(setup, options, quiet=quiet)
        return code
    opening = kind.open(folder, setup, options, lambda line: say(f"note: {line}"))
    if options.dry_run:
        return _dry_run(opening)
    with opening as opened:
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        begun, most = opened.begun(), options.max_iterations
        if begun is not None:
            most = begun[1].limits.max_iterations
        if not quiet and begun is None:
            say(f"{kind.title} · {folder}")
        first = None if quiet or begun is None else first_lines(*begun)
        renderer = Renderer(max_iterations=most, quiet=quiet, steps_only=opened.prints, opening=first)
        if opened.prints:  # whose first call may be hours away
            renderer.begin()
        try:
            with view(renderer, calls_per_hour=opened.calls_per_hour, max_iterations=most, quiet=quiet) as shown:
                end = drive(opened.events(), *shown)
        finally:
            renderer.begin()
        if opened.breaker_is_open(end) and not quiet:
            say(AT_OPEN_BREAKER)
        if remark := opened.remark(end):
            say(remark)
        return end.exit_code
