"""The commands that ask one script, or compare two: ``call``, ``command``, ``session-id``, ``diff``."""

from __future__ import annotations

import math
import shlex
from typing import Any

import click

from bridge.base.resources import os_text
from bridge.cli._help import completes, json_option
from bridge.cli._options import settings_option
from bridge.cli._terminal import print_json, say, write
from bridge.shell import DEFAULT_TIMEOUT


def _seconds(_ctx: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not (value > 0 and math.isfinite(value)):
        raise click.BadParameter(f"{value:g} is not a time to wait; give seconds, such as 60")
    return value


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("script", shell_complete=completes("SCRIPT"))
@click.argument("hook", shell_complete=completes("HOOK"))
@click.argument("arguments", nargs=-1, metavar="[ARG]...", type=click.UNPROCESSED)
@settings_option
@click.option("--read", metavar="NAME", multiple=True,
              help="Show this global afterwards; may be repeated.")  # fmt: skip
@click.option("--stdin", type=click.Path(exists=True, dir_okay=False),
              help="The file that the hook reads on stdin.")  # fmt: skip
@click.option("--timeout", type=float, metavar="SECONDS", callback=_seconds,
              help=f"Time limit for the call, in seconds.  [default: {DEFAULT_TIMEOUT:g}]")  # fmt: skip
@click.option("--isolated", is_flag=True, help="Call it in a forked subshell.")
@json_option
def call(**given: Any) -> int:
    """Call HOOK of SCRIPT (a path, or the name of a driver or agent) with the given arguments.

    A hook that SCRIPT may omit, and omits, answers as the contract says: a capability counts as given, and the
    stream filter is "empty".

    Prints what the hook printed, then the globals in which it answers. The exit code is 0 when the hook
    returned 0, and 1 otherwise; --json shows the exact status. Put "--" before arguments that look like options.

    The hooks that an agent runs in a pipeline (agent_invoke, agent_format_display, agent_extract_response) get
    this command's own stdin and stderr, print while they run, and have no time limit unless --timeout sets one.
    """
    from bridge.cli._call import Call, call_hook

    return call_hook(Call(**given))


@click.command()
@click.argument("driver_name", metavar="DRIVER", shell_complete=completes("DRIVER"))
@click.argument("prompt", shell_complete=completes("FILE"))
@click.option("--context", default="", metavar="TEXT", help="Loop context for this iteration.")
@click.option("--session", default="", metavar="ID", help="Session to resume (turns CLAUDE_USE_CONTINUE on).")
@click.option("--live", is_flag=True, help="Print the command for live output.")
@click.option("--format", "form", type=click.Choice(["shell", "json", "nul"]), default="shell", show_default=True,
              help="A shell command line, a JSON document, or arguments, each ended by a NUL byte.")  # fmt: skip
@settings_option
def command(
    driver_name: str, prompt: str, context: str, session: str, live: bool, form: str, settings: dict[str, str]
) -> None:
    """Print the command line that DRIVER (a path or a name) builds for the prompt file PROMPT."""
    from bridge.cli._call import load_driver

    chosen = {"CLAUDE_USE_CONTINUE": "true"} if session else {}
    chosen |= {name: os_text(value) for name, value in settings.items()}
    with load_driver(driver_name, chosen) as driver:
        argv = driver.build_command(os_text(prompt), os_text(context), os_text(session))
        if live:
            argv = driver.prepare_live_command()
        if form == "json":
            print_json({"driver": str(driver.script), "live": live, "argv": argv})
        elif form == "nul":
            write("".join(f"{argument}\0" for argument in argv))
        else:
            write(shlex.join(argv) + "\n")


@click.command(name="session-id")
@click.argument("driver_name", metavar="DRIVER", shell_complete=completes("DRIVER"))
@click.argument("output_file", shell_complete=completes("FILE"))
@click.option("--json", "as_json", is_flag=True,
              help="Print one JSON document, which also names the step that found it.")  # fmt: skip
def session_id(driver_name: str, output_file: str, as_json: bool) -> int:
    """Find the session id in OUTPUT_FILE as the loop does: driver hook, generic extraction, fallback hook.

    Exit code 1 when no step finds a valid one.
    """
    from bridge.cli._call import load_driver
    from bridge.scripts.session_id import recover

    with load_driver(driver_name) as driver:
        found = recover(driver, os_text(output_file))
    if as_json:
        print_json({"session_id": found.session_id, "step": found.step, "rejected": list(found.rejected)})
    elif found.session_id is not None:
        write(found.session_id + "\n")
        say(f"found by: {found.step}")
    else:
        say("no session id: neither the driver, nor the output, nor the fallback gave one")
    for value in found.rejected:
        say(f"not a session id, passed over: {value[:80]!r}")
    return 0 if found.session_id is not None else 1


@click.command()
@click.argument("old", shell_complete=completes("SCRIPT"))
@click.argument("new", shell_complete=completes("SCRIPT"))
@click.option("--format", "kind", type=click.Choice(["text", "json", "markdown"]), default="text",
              show_default=True, help="How to show the differences.")  # fmt: skip
def diff(old: str, new: str, kind: str) -> int:
    """Compare the behaviour of OLD and NEW, two versions of a driver or an agent.

    Each is a path, a name, a version in git (HEAD~1:drivers/my.sh), or a process substitution: <(...).

    Both are run on the same inputs: contexts, sessions, settings, special characters, recorded events. Equal
    differences are shown as one change, with the inputs that it concerns.

    Exit codes: 0 no difference, 1 differences, 2 no scripts to compare.
    """
    from contextlib import ExitStack
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from bridge.cli._versions import version
    from bridge.verify.diff import compare
    from bridge.verify.diff.render import RENDERERS

    with ExitStack() as stack:
        folders = [Path(stack.enter_context(TemporaryDirectory(prefix="rb-diff-"))) for _ in range(2)]
        difference = compare(version(old, folders[0], other=new), version(new, folders[1], other=old))
    write(RENDERERS[kind](difference._replace(old=Path(old), new=Path(new))))
    return 1 if difference.changes else 0
