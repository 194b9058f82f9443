"""``ralph-bridge adopt``, ``eject``, and what the stand-in runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.cli._options import project_folder, project_option, setup_option
from bridge.cli._terminal import write
from bridge.errors import ConfigurationError
from bridge.setups.projects import choose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.setups.model import Setup


@click.command()
@project_option
@setup_option
def adopt(*, project: str | None, setup_name: str | None) -> int:
    """Put a stand-in in the place of the setup's own controller.

    Whoever starts the controller (`./ralph plan 3`) gets ralph-bridge from then on, with the same words, messages
    and exit codes. The original is kept beside it; `ralph-bridge eject` puts it back byte for byte. Where one
    controller serves all projects of a user (frankbria's `ralph`), that is so in this project only.
    """
    from bridge.setups import module

    setup = _setup(project, setup_name)
    done = module(setup.name).adopt(setup)
    if done.set_aside is not None:
        write(f"an older original was there: it is {done.set_aside} now\n")
    what = "is ralph-bridge's stand-in now" if done.changed else "is ralph-bridge's stand-in already"
    write(f"{done.told or f'{done.controller} {what}; the original is {done.original}'}\n")
    return 0


@click.command()
@project_option
@setup_option
def eject(*, project: str | None, setup_name: str | None) -> int:
    """Put the setup's own controller back, byte for byte.

    `ralph` of a user who has adopted several frankbria projects is put back with the last of them; in any folder,
    `--setup frankbria` forgets those that are gone.
    """
    from bridge.setups import module

    setup = _setup(project, setup_name, adopted=True)
    done = module(setup.name).eject(setup)
    what = "is the original again" if done.changed else "is the original: there is nothing to undo"
    write(f"{done.told or f'{done.controller} {what}'}\n")
    return 0


def _setup(project: str | None, name: str | None, *, adopted: bool = False) -> Setup:
    """The setup of the project; `adopted`: by its marker, too, whatever has become of the rest."""
    from bridge.setups import SETUPS, module
    from bridge.setups.frankbria import adoption

    folder = project_folder(project)
    if adopted and (name == adoption.NAME or (name is None and adoption.is_adopted(folder))):
        return adoption.at(folder)
    setup = choose(folder, name)
    if setup is None:
        lacks = "\n  ".join(f"{each}: {'; '.join(module(each).missing(folder))}" for each in SETUPS)
        raise ConfigurationError(f"{folder} holds no setup\n  {lacks}")
    return setup


def _ralph_loop(controller: Path, words: Sequence[str]) -> int:
    from bridge.cli.ralph_loop import controller as run

    return run(controller, words)


def _bmalph(controller: Path, words: Sequence[str]) -> int:
    from bridge.cli.bmalph import controller as run

    return run(controller, words)


def _frankbria(controller: Path, words: Sequence[str]) -> int:
    from bridge.cli.frankbria import controller as run

    return run(controller, words)


CONTROLLERS: dict[str, Callable[[Path, Sequence[str]], int]] = {
    "bmalph": _bmalph,
    "frankbria": _frankbria,
    "ralph-loop": _ralph_loop,
}
"""Setup to what its stand-in does: given the controller's path and the words it was called with."""


@click.command(
    "stand-in",
    hidden=True,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("setup")
@click.argument("package")
@click.argument("controller")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def stand_in(*, setup: str, package: str, controller: str, words: tuple[str, ...]) -> int:
    """Do what the controller would. PACKAGE tells the stand-in's Python where we are, and is no use here."""
    del package
    if setup not in CONTROLLERS:
        raise ConfigurationError(f"{controller}: this ralph-bridge knows no setup {setup!r}; update it, or eject")
    return CONTROLLERS[setup](Path(controller), [os.fsdecode(word) for word in words])
