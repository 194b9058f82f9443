"""The click application: commands by name, and what each kind of failure means outside."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from bridge._version import __version__
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COMMANDS", "cli", "run_app"]

COMMANDS = {
    "adopt": ("bridge.cli.adopt", "Stand in for the setup's own controller."),
    "adapter": ("bridge.cli.adapter", "List, check, test and use adapters of interactive programs."),
    "call": ("bridge.cli.call", "Call one function of a script and show what it did."),
    "command": ("bridge.cli.command", "Print the command line that a driver builds."),
    "demo": ("bridge.cli.demo", "Watch a whole loop in a throw-away project."),
    "diff": ("bridge.cli.diff", "Show how two versions of a script behave differently."),
    "doctor": ("bridge.cli.doctor", "Examine this project: is a loop ready to run?"),
    "drift": ("bridge.cli.drift", "Hold scripts against the CLIs that are installed here."),
    "eject": ("bridge.cli.adopt", "Put the setup's own controller back."),
    "explain": ("bridge.cli.explain", "Explain a check of verify, or list them all."),
    "inspect": ("bridge.cli.inspect", "Show what a driver script offers."),
    "reset": ("bridge.cli.reset", "Close an open circuit breaker; clear what stops the next start."),
    "run": ("bridge.cli.run", "Run the loop in this project."),
    "session-id": ("bridge.cli.session_id", "Find the session id in a CLI's output."),
    "status": ("bridge.cli.status", "Show where this project's loop stands."),
    "stop-hook": ("bridge.cli.stop_hook", "Answer Claude Code's Stop hook for a loop in its session."),
    "verify": ("bridge.cli.verify", "Verify that drivers and agents are to contract."),
    "watch": ("bridge.cli.watch", "Watch the loop that is running in this project."),
    "wiggum": ("bridge.cli.wiggum", "Long unattended runs: promises, breaker, checkpoints."),
}
"""Command to its module (which has a click command of that name, ``-`` as ``_``) and one line of help."""

_HIDDEN = {
    "stand-in": ("bridge.cli.adopt", "What `adopt` puts in a controller's place runs this."),
}


class _Lazy(click.Group):
    """Imports a command's module only when that command is used."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        known = COMMANDS | _HIDDEN
        if name not in known:
            return None
        import importlib

        module = importlib.import_module(known[name][0])
        command: click.Command = getattr(module, name.replace("-", "_"))
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS | _HIDDEN and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, 1)
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {close[0]}?" if close else ""))
        return super().resolve_command(ctx, args)


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="ralph-bridge", message="%(prog)s %(version)s")
def cli() -> None:
    """Runs the shell scripts of ralph coding loops unchanged.

    Results go to stdout, everything else to stderr. Exit codes: 0 fine, 1 violated or the loop ended
    incomplete, 2 usage or configuration, 3 a bug of ralph-bridge, 4 the environment is not ready,
    130 and 143 ended by a signal.
    """


def run_app(arguments: Sequence[str]) -> int:
    """Run one command line; every failure becomes one message and an exit code."""
    try:
        result = cli.main(list(arguments), prog_name="ralph-bridge", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BridgeError as error:
        click.echo(f"ralph-bridge: error: {error}", err=True)
        return error.exit_code
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not complain about it when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _environment(error) or _bug(error)
    except Exception as error:
        return _bug(error)


def _environment(error: OSError) -> int:
    """Exit code 4 for what the machine lacks, wherever that was noticed; 0 if it is something else."""
    import errno

    lacks = {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.EROFS,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
    }
    if error.errno in lacks:
        where = f": {error.filename}" if error.filename else ""
        text = f"{error.strerror}{where}"
        if error.errno in (errno.ENOSPC, errno.EIO, errno.EFBIG) and sys.stdout is not None:
            # The interpreter must not try to flush to it again when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    else:
        try:
            os.getcwd()
            return 0
        except OSError:
            text = "the working folder does not exist any more\n  next: cd to one that does"
    click.echo(f"ralph-bridge: error: {text}", err=True)
    return 4


def _bug(error: Exception) -> int:
    """Exit code 3, with everything that we need to know in a file."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile(
        "w", prefix="ralph-bridge-crash-", suffix=".txt", delete=False, encoding="utf-8", errors="surrogateescape"
    ) as file:
        file.write(f"ralph-bridge {__version__}\nPython {sys.version}\n{sys.platform}\n{sys.argv!r}\n\n")
        traceback.print_exception(error, file=file)
    click.echo(
        f"ralph-bridge: a bug of ours: {type(error).__name__}: {error}\n  next: please report it with {file.name}",
        err=True,
    )
    return 3
