"""Which setup a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.setups.choosing import choose, is_bare

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["choose", "is_bare", "refuse_options", "setup_option"]

setup_option = click.option(
    "--setup", "setup_name", metavar="NAME", help="Kind of the project's setup.  [default: told by its files]"
)


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
