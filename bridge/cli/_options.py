"""Options that several commands have, and what they mean: globals, the project, its setup."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge.cli._help import completes
from bridge.cli._terminal import say
from bridge.errors import ConfigurationError
from bridge.setups import PLAIN, kinds
from bridge.setups.projects import choose, project_above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.loop.caps import Caps
    from bridge.loop.notify import Notify
    from bridge.setups.overview import LoopPlace


def _settings(_ctx: click.Context, _parameter: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    from bridge.shell.protocol import check_name

    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigurationError(f"--set {pair!r}: expected NAME=VALUE, such as CLAUDE_USE_CONTINUE=true")
        settings[check_name(name)] = value
    return settings


settings_option = click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_settings,
    help="Set a global before the call; may be repeated.",
)


_amount = click.FloatRange(0, min_open=True)
CAPS = (
    click.option("--max-cost", type=_amount, metavar="USD", help="Start no turn when this much is spent."),
    click.option("--max-tokens", type=_amount, metavar="N", help="Start no turn when so many tokens are used."),
    click.option(
        "--tokens-per-hour", type=_amount, metavar="N", help="Wait for the next clock hour after so many tokens."
    ),
    click.option(
        "--price-in",
        type=click.FloatRange(0),
        metavar="USD",
        help="Price of a million tokens in, for a CLI that tells no cost.",
    ),
    click.option(
        "--price-out", type=click.FloatRange(0), metavar="USD", help="Price of a million tokens out, likewise."
    ),
)


NOTIFY = (
    click.option(
        "--notify",
        multiple=True,
        metavar="COMMAND|URL",
        help="Whom to tell; @FILE has one per line; may be repeated.  [default: $RALPH_BRIDGE_NOTIFY]",
    ),
    click.option(
        "--notify-on",
        metavar="LIST",
        help="What to tell: ended, limit, breaker, cap, refused, task.  [default: all of it]",
    ),
)


def taken_notify(given: dict[str, Any]) -> Notify:
    """Take those options out of a command's parameters.

    Raises:
        ConfigurationError: see :func:`bridge.loop.notify.read_notify`.
    """
    from bridge.loop.notify import read_notify

    return read_notify(os.environ, given.pop("notify"), given.pop("notify_on"))


def notify_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say whom to tell; :func:`taken_notify` reads them."""
    for option in reversed(NOTIFY):
        command = option(command)
    return command


def caps_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that cap what a run may use, for :func:`taken_caps`, and those above."""
    command = notify_options(command)
    for option in reversed(CAPS):
        command = option(command)
    return command


def taken_caps(given: dict[str, Any]) -> Caps:
    """Take those options out of a command's parameters."""
    from bridge.loop.caps import VARIABLES, Caps

    return Caps(**{name: given.pop(name) for name in VARIABLES})


project_option = click.option(
    "--project",
    metavar="DIR",
    shell_complete=completes("DIR"),
    help="The project's folder.  [default: this folder, or the nearest one above with a loop's files]",
)


def project_folder(given: str | None, *, tell: bool = False) -> Path:
    """The folder that ``--project`` names, absolute; without it, the project that the user is in.

    tell: say on stderr which project that is where it isn't the working folder.

    Raises:
        ConfigurationError: there is no such folder.
    """
    if given is None:
        here = Path(os.path.abspath("."))
        folder = project_above(here)
        if tell and folder != here:
            say(f"project: {folder} (the nearest folder above with a loop's files)")
        return folder
    folder = Path(os.path.abspath(given))
    if not folder.is_dir():
        raise ConfigurationError(f"--project {given}: there is no such folder")
    return folder


setup_option = click.option(
    "--setup",
    "setup_name",
    metavar="NAME",
    shell_complete=completes("SETUP"),
    help="The kind of setup.  [default: recognised by the project's files]",
)

loop_option = click.option(
    "--setup",
    "setup_name",
    metavar="NAME",
    shell_complete=completes("SETUP"),
    help="A kind of setup.  [default: the running loop, else the one that ran last]",
)


def choose_loop(folder: Path, name: str | None) -> LoopPlace:
    """The loop of `folder` to look at: of that kind, or the one that is at work, or ran last.

    Raises:
        ConfigurationError: no such kind; or none has run, and there are several setups.
    """
    from bridge.setups.overview import find_loop, the_loop

    known = kinds()
    if name is not None and name not in known:
        raise ConfigurationError(f"--setup {name}: there is no such setup; known: {', '.join(known)}")
    if name is None and (found := find_loop(folder)) is not None:
        return found
    if name is not None and known[name].installation is None:
        return the_loop(folder, name)
    setup = choose(folder, name)
    if setup is None or (name is None and setup.bare):
        return the_loop(folder, PLAIN)
    return the_loop(folder, setup.name, setup)


def refuse_options(context: click.Context, names: Iterable[str], why: str) -> None:
    """Refuse options that were given on the command line and don't apply.

    why: ends the sentence "--option does not apply ...".

    Raises:
        click.UsageError: names the first such option.
    """
    given = click.core.ParameterSource.COMMANDLINE
    for parameter in context.command.params:
        if parameter.name in names and context.get_parameter_source(parameter.name) is given:
            raise click.UsageError(f"{parameter.opts[0]} does not apply {why}", context)
