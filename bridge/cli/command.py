"""``ralph-bridge command``: the argv that a driver builds."""

from __future__ import annotations

import shlex

import click

from bridge.cli.common import os_text, print_json, settings_option, write


@click.command()
@click.argument("driver_name", metavar="DRIVER")
@click.argument("prompt")
@click.option("--context", default="", metavar="TEXT", help="Loop context for this iteration.")
@click.option("--session", default="", metavar="ID", help="Session to resume (turns CLAUDE_USE_CONTINUE on).")
@click.option("--live", is_flag=True, help="The command for live output.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["shell", "json", "nul"]),
    default="shell",
    show_default=True,
    help="A line for a shell, a JSON document, or the bare arguments each ended by a NUL byte.",
)
@settings_option
def command(
    driver_name: str, prompt: str, context: str, session: str, live: bool, form: str, settings: dict[str, str]
) -> int:
    """Print the command line that DRIVER (a path or a name) builds for the prompt file PROMPT."""
    from bridge.cli._scripts import driver_folders
    from bridge.driver import Driver

    chosen = {"CLAUDE_USE_CONTINUE": "true"} if session else {}
    chosen |= {name: os_text(value) for name, value in settings.items()}
    with Driver.load(driver_name, folders=driver_folders(), settings=chosen) as driver:
        argv = driver.build_command(os_text(prompt), os_text(context), os_text(session))
        if live:
            argv = driver.prepare_live_command()
        if form == "json":
            print_json({"driver": str(driver.script), "live": live, "argv": argv})
        elif form == "nul":
            write("".join(f"{argument}\0" for argument in argv))
        else:
            write(shlex.join(argv) + "\n")
    return 0
