"""``ralph-bridge run``: the loop of a project."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge.cli._help import completes
from bridge.cli._options import (
    caps_options,
    project_folder,
    project_option,
    settings_option,
    setup_option,
    taken_caps,
    taken_notify,
)
from bridge.cli._run_kind import run_kind
from bridge.cli._terminal import guarded
from bridge.setups import PLAIN, detect, kinds
from bridge.setups.asked import RunOptions
from bridge.setups.projects import choose

if TYPE_CHECKING:
    from bridge.setups.model import SetupKind

_FRANKBRIA = {
    "sandbox": "SANDBOX_PROVIDER",
    "github_issue": "GITHUB_ISSUE",
    "agent_provider": "AGENT_PROVIDER",
}
_TAKEN = (
    *("driver", "agent", "words", "max_iterations", "max_minutes", "caps", "calls", "max_failures", "max_idle"),
    *("timeout", "retry_delay", "allowed_tools", "live", "settings"),
)
"""Parameters that are called alike in :class:`RunOptions`."""


class _Run(click.Command):
    """Of a kind that says so, the words are those of its own controller: in its order, with its exit codes."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Look whose words these are."""
        words = list(args)
        owner = None if extra.get("resilient_parsing") else _owner(words)
        context = super().make_context(info_name, args if owner is None else [], parent, **extra)
        context.obj = owner and (*owner, words)
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Run the loop."""
        if ctx.obj is None:
            return super().invoke(ctx)
        kind, folder, words = ctx.obj
        return import_module(kind.command).run_here(folder, words)


def _owner(words: list[str]) -> tuple[SetupKind, Path] | None:
    """The kind that has words of its own and the project of that kind, if these are about one."""
    asked: dict[str, str] = {}
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option in ("--project", "--setup") and (equals or at + 1 < len(words)):
            asked[option] = value if equals else words[at + 1]
    name = asked.get("--setup")
    folder = Path(asked["--project"]) if "--project" in asked else project_folder(None)
    own = {each for each, kind in kinds().items() if kind.own_words}
    if not folder.is_dir() or name not in (None, *own):
        return None
    found = [setup.name for setup in detect(folder)]
    if (name not in found) if name else (len(found) != 1 or found[0] not in own):
        return None
    return kinds()[name or found[0]], project_folder(asked.get("--project"), tell=True)


@click.command(cls=_Run)
@click.argument("words", metavar="[WORDS]...", nargs=-1, shell_complete=completes("WORDS"))
@setup_option
@click.option(
    "--driver",
    metavar="NAME|PATH",
    shell_complete=completes("DRIVER"),
    help="The driver to use, by path or name.  [default: claude-code]",
)
@click.option(
    "--prompt",
    metavar="FILE",
    shell_complete=completes("FILE"),
    help="The prompt file.  [default: .ralph/PROMPT.md, else PROMPT.md]",
)
@project_option
@click.option(
    "--max-iterations",
    type=click.IntRange(1),
    metavar="N",
    help="Stop after this many iterations.  [default: 50; no limit in a bmalph setup]",
)
@click.option(
    "--max-minutes",
    type=click.FloatRange(0, min_open=True),
    metavar="MINUTES",
    help="Stop after this many minutes, and end the turn that is under way.",
)
@caps_options
@click.option("--calls", metavar="N", help="Limit successful turns per clock hour (bmalph setup).")
@click.option("--live/--no-live", default=True, help="Show output as it comes.  [default: where supported]")
@click.option("--completion-promise", metavar="TEXT", help="Also stop when the assistant promises TEXT.")
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), metavar="MINUTES", help="Time limit for each turn."
)
@click.option(
    "--retry-delay",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="Pause after a failed turn; doubled after each further one.  [default: 5; 30 in a bmalph setup]",
)
@click.option(
    "--max-failures",
    type=click.IntRange(0),
    metavar="N",
    help="Stop after this many failed turns in a row; 0: never.",
)
@click.option(
    "--max-idle",
    type=click.IntRange(0),
    metavar="N",
    help="Stop after this many turns in a row that changed nothing; 0: never.  [default: 5; not where a"
    " circuit breaker does that]",
)
@click.option("--no-continue", is_flag=True, help="Start a new session in every iteration.")
@click.option(
    "--allowed-tools", metavar="LIST", help='The tools that the agent may use, such as "Read, Bash(make *)".'
)
@click.option(
    "--agent",
    metavar="NAME|PATH",
    shell_complete=completes("AGENT"),
    help="The agent to use instead of a driver, by path or name.  [default in a ralph-loop setup: its AGENT]",
)
@click.option("--process", is_flag=True, help="With plan: plan from the process specifications.")
@click.option("--strict-compat", is_flag=True, help="Keep the visible quirks of the original controller.")
@click.option("--no-lift", is_flag=True, help="Let bash run every filter of the agent.")
@click.option("--sandbox", metavar="PROVIDER", hidden=True)  # frankbria's options, to be refused with the reason
@click.option("--github-issue", metavar="REF", hidden=True)
@click.option("--agent-provider", metavar="NAME", hidden=True)
@click.option("--dry-run", is_flag=True, help="Print the command (or the prompt) that would be run, and stop.")
@settings_option
@click.option("-q", "--quiet", is_flag=True, help="Show only the assistant's text, and no lines about the steps.")
@click.pass_context
def run(context: click.Context, /, *, setup_name: str | None, project: str | None, **given: Any) -> int:
    """Run the coding CLI again and again until the work is done.

    The loop ends when the assistant's RALPH_STATUS block says EXIT_SIGNAL: true, when the assistant
    gives the completion promise, when every box of @fix_plan.md is ticked, or after --max-iterations.
    With --agent in a folder without a setup, the promise is COMPLETE unless another one is named.

    In a ralph-loop setup WORDS are those of its controller: plan [N], build [N], align-specs [N],
    prompt FILE [N], help [TOPIC]; without any: build when there is a plan with tasks, else plan.

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
        given["caps"] = taken_caps(given)
        theirs = {key: given.pop(name) for name, key in _FRANKBRIA.items()}
        asked_for = given["settings"] | {key: value for key, value in theirs.items() if value is not None}
        refuse(folder, os.environ, given=asked_for, driver=given["driver"] or given["agent"])
        setup = choose(folder, setup_name, given["words"])
        if setup is None or (setup.bare and not setup_name):
            kind, setup = kinds()[PLAIN], None
        else:
            kind, folder = kinds()[setup.name], setup.project
        return run_kind(context, kind, folder, setup, _asked(given, folder))


def _asked(given: dict[str, Any], folder: Path) -> RunOptions:
    return RunOptions(
        promise=given["completion_promise"],
        resume=not given["no_continue"],
        prompt=_prompt_in(folder, given["prompt"]),
        **{name: given[name] for name in _TAKEN},
    )


def _prompt_in(folder: Path, prompt: str | None) -> str | None:
    """The prompt file as it is seen from `folder`; given it was from where the user is."""
    if not prompt:
        return prompt
    path = Path(os.path.abspath(prompt))
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)
