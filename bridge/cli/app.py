"""The click application: commands by name, and what each kind of failure means outside."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from bridge._version import __version__
from bridge.base.resources import likely
from bridge.cli._failures import exit_code, say_error
from bridge.cli._help import Group, write_commands
from bridge.cli._terminal import say, say_all, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem


SECTIONS = {
    "Start": {
        "demo": ("bridge.cli.demo", "Watch a whole loop in a throwaway project."),
        "doctor": ("bridge.cli.doctor", "Examine this project: is a loop ready to run?"),
        "init": ("bridge.cli.init", "Write a prompt and a plan to begin with."),
        "run": ("bridge.cli.run", "Run the loop in this project."),
        "resume": ("bridge.cli.run", "Run the loop again, from where it stands: the same as run."),
        "wiggum": ("bridge.cli.wiggum", "Run unattended for hours: promises, a breaker, checkpoints."),
        "swarm": ("bridge.cli.swarm", "Run many loops side by side, and merge what is complete."),
        "tasks": ("bridge.cli.tasks", "List tasks where they live, or copy them into another form."),
    },
    "Watch": {
        "status": ("bridge.cli.status", "Show the state of this project's loop."),
        "watch": ("bridge.cli.watch", "Watch the loop that is running in this project."),
        "tell": ("bridge.cli.tell", "Send the running loop a message for its next turn; pause it."),
        "stop": ("bridge.cli.stop", "End the running loop behind its turn, or now."),
        "report": ("bridge.cli.report", "Report what a run was: turns, time, tokens, cost, commits."),
    },
    "Scripts": {
        "drivers": ("bridge.cli.listing", "List the drivers that a name may mean."),
        "agents": ("bridge.cli.listing", "List the agents that a name may mean."),
        "new": ("bridge.cli.new", "Begin a driver or an agent of your own."),
        "verify": ("bridge.cli.verify", "Verify that drivers and agents meet the contract."),
        "explain": ("bridge.cli.explain", "Explain a check of verify or a hook, or list them all."),
        "inspect": ("bridge.cli.listing", "Show what a driver or agent script offers."),
        "call": ("bridge.cli.scripts", "Call one function of a script and show what it did."),
        "command": ("bridge.cli.scripts", "Print the command line that a driver builds."),
        "session-id": ("bridge.cli.scripts", "Find the session id in a CLI's output."),
        "diff": ("bridge.cli.scripts", "Show how two versions of a script behave differently."),
        "drift": ("bridge.cli.drift", "Test scripts against the real CLIs that are installed here."),
    },
    "Setups": {
        "adopt": ("bridge.cli.setups", "Take the place of the setup's own controller."),
        "eject": ("bridge.cli.setups", "Restore the setup's own controller."),
        "reset": ("bridge.cli.setups", "Close an open circuit breaker; clear whatever blocks the next start."),
        "stop-hook": ("bridge.cli.stop_hook", "Answer Claude Code's Stop hook for a loop in its session."),
    },
    "More": {
        "sandbox": ("bridge.cli.sandbox", "Make an image of a CLI, for turns in a container."),
        "adapter": ("bridge.cli.adapter", "List, check, test and use adapters for interactive programs."),
        "completion": ("bridge.cli.completion", "Print the script that completes commands in your shell."),
    },
}
"""Commands in sections: the module (which has a click command of that name, ``-`` as ``_``), and a line of help."""

COMMANDS = {name: command for commands in SECTIONS.values() for name, command in commands.items()}

_COMPLETE = "_RALPH_BRIDGE_COMPLETE"
"""Set when a shell asks for completions: click's name for it."""

_HIDDEN = {
    "stand-in": ("bridge.cli.setups", "What `adopt` puts in a controller's place runs this."),
}


class _Lazy(Group):
    """Imports a command's module only when that command is used."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        known = COMMANDS | _HIDDEN
        if name in known and name not in self.commands:
            import importlib

            module = importlib.import_module(known[name][0])
            self.add_command(getattr(module, name.replace("-", "_")), name)
        return super().get_command(ctx, name)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections = ((title, [(name, text) for name, (_, text) in rows.items()]) for title, rows in SECTIONS.items())
        write_commands(formatter, dict(sections))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """The commands, without importing each; and the options."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items()]
        offered = [each for each in found if each.value.startswith(incomplete)]
        return offered + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = COMMANDS | _HIDDEN
        if args and args[0] not in known and not args[0].startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}.{likely(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Lazy, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="ralph-bridge", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Run the shell scripts of ralph coding loops unchanged.

    Results go to stdout, everything else to stderr.

    Exit codes: 0 success; 1 a violation, or a loop that
    ended incomplete; 2 usage or configuration; 3 a bug in ralph-bridge; 4 the environment is not ready;
    130 and 143 ended by a signal.
    """
    if ctx.invoked_subcommand is None:
        show(f"{ctx.get_help()}\n")


def run_app(arguments: Sequence[str]) -> int:
    """Run one command line; every failure becomes one message and an exit code."""
    return exit_code(lambda: _run(arguments))


def _run(arguments: Sequence[str]) -> int:
    if _COMPLETE in os.environ:  # a shell asks for completions, and click answers
        from bridge.cli.completion import register

        register()
    try:
        result = cli.main(list(arguments), prog_name="ralph-bridge", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return 130
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        if context is not None:
            say_all(context.get_usage())
        say_error(error.format_message())
        if context is not None:
            say(f"  next: see `{context.command_path} --help`")
        return error.exit_code
