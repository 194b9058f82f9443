"""Which setup a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.errors import ConfigurationError
from bridge.setups.choosing import choose, is_bare

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bridge.setups.overview import Loop

__all__ = ["choose", "choose_loop", "is_bare", "loop_option", "refuse_options", "setup_option"]

setup_option = click.option(
    "--setup", "setup_name", metavar="NAME", help="Kind of the project's setup.  [default: told by its files]"
)

loop_option = click.option(
    "--setup",
    "setup_name",
    metavar="NAME",
    help="plain, bmalph, ralph-loop or wiggum.  [default: the loop at work, else the one that ran last]",
)


def choose_loop(folder: Path, name: str | None) -> Loop:
    """The loop of `folder` to look at: of that kind, or the one that is at work, or ran last.

    Raises:
        ConfigurationError: no such kind; or none has run, and there are several setups.
    """
    from bridge.setups.overview import KINDS, find_loop, the_loop

    if name is not None and name not in KINDS:
        raise ConfigurationError(f"--setup {name}: there is no such setup; known: {', '.join(KINDS)}")
    if name is None and (found := find_loop(folder)) is not None:
        return found
    if name in ("plain", "wiggum"):
        return the_loop(folder, name)
    setup = choose(folder, name)
    if setup is None or (name is None and setup.name == "bmalph" and is_bare(setup)):
        return the_loop(folder, "plain")
    return the_loop(folder, setup.name, setup)


def refuse_options(context: click.Context, names: Iterable[str], why: str) -> None:
    """Refuse options that were given on the command line and don't apply.

    Args:
        context: of the command.
        names: of its parameters.
        why: ends the sentence "--option does not apply ...".

    Raises:
        click.UsageError: names the first such option.
    """
    given = click.core.ParameterSource.COMMANDLINE
    for parameter in context.command.params:
        if parameter.name in names and context.get_parameter_source(parameter.name) is given:
            raise click.UsageError(f"{parameter.opts[0]} does not apply {why}", context)
