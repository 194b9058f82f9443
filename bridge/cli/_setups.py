"""Which setup a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from bridge.setups.model import Setup
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


def choose(folder: Path, name: str | None, words: Sequence[str] = ()) -> Setup | None:
    """The setup of `folder`; None when there is none and nothing asked for one.

    Args:
        folder: the project's.
        name: as ``--setup`` gives it; with one, there has to be such a setup.
        words: of a controller's command line; with any, there has to be some setup. One that is nearly whole will
            do then: its own checks say best what it lacks.

    Raises:
        ConfigurationError: no such kind of setup; it is not there (says what is missing); or there are several.
    """
    from bridge.setups import SETUPS, detect, module

    if name is not None and name not in SETUPS:
        raise ConfigurationError(f"--setup {name}: there is no such setup; known: {', '.join(SETUPS)}")
    found = detect(folder) if name is None else [s for s in [module(name).detect(folder)] if s is not None]
    if len(found) > 1:
        raise ConfigurationError(_several(folder, found))
    if found:
        return found[0]
    if words and (name or "ralph-loop") == "ralph-loop":
        from bridge.setups.ralph_loop.detect import at, home_of

        if (controller := home_of(folder)) is not None:
            return at(folder, controller)
    if name is None and not words:
        return None
    asked = f"--setup {name}" if name else " ".join(words)
    lacks = "\n  ".join(
        f"{each}: {'; '.join(module(each).missing(folder))}" for each in ([name] if name else SETUPS)
    )
    raise ConfigurationError(f"{asked}: {folder} holds no such setup\n  {lacks}")


def is_bare(setup: Setup) -> bool:
    """Whether there is a prompt in ``.ralph`` and nothing else of a setup: the plain loop is for that."""
    from bridge.setups.bmalph.folder import locate
    from bridge.setups.bmalph.layout import look

    return look(locate(setup.project)).flavour == "bare"


def _several(folder: Path, found: Iterable[Setup]) -> str:
    seen = "".join(f"\n  {setup.name}: {', '.join(setup.evidence)}" for setup in found)
    return f"{folder} holds several setups{seen}\n  next: say which one with --setup"


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
