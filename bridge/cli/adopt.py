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
    from bridge.setups import installations

    setup = _setup(project, setup_name)
    done = installations()[setup.name].adopt(setup)
    if done.set_aside is not None:
        write(f"an older original was there: it is {done.set_aside} now\n")
    what = "is ralph-bridge's stand-in now" if done.changed else "is ralph-bridge's stand-in already"
    write(f"{done.message or f'{done.controller} {what}; the original is {done.original}'}\n")
    return 0


@click.command()
@project_option
@setup_option
def eject(*, project: str | None, setup_name: str | None) -> int:
    """Put the setup's own controller back, byte for byte.

    `ralph` of a user who has adopted several frankbria projects is put back with the last of them; in any folder,
    `--setup frankbria` forgets those that are gone.
    """
    from bridge.setups import installations

    setup = _setup(project, setup_name, adopted=True)
    done = installations()[setup.name].eject(setup)
    what = "is the original again" if done.changed else "is the original: there is nothing to undo"
    write(f"{done.message or f'{done.controller} {what}'}\n")
    return 0


def _setup(project: str | None, name: str | None, *, adopted: bool = False) -> Setup:
    """The setup of the project; `adopted`: by its marker, too, whatever has become of the rest."""
    from bridge.setups import installations

    folder, known = project_folder(project), installations()
    for each, kind in known.items() if adopted else ():
        if name in (None, each) and kind.adopted and (setup := kind.adopted(folder, name is not None)) is not None:
            return setup
    setup = choose(folder, name)
    if setup is None:
        lacks = "\n  ".join(f"{each}: {'; '.join(kind.missing(folder))}" for each, kind in known.items())
        raise ConfigurationError(f"{folder} holds no setup\n  {lacks}")
    return setup


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
    from bridge.cli._run_kind import run_controller
    from bridge.setups import kinds

    kind = kinds().get(setup)
    if kind is None:
        raise ConfigurationError(f"{controller}: this ralph-bridge knows no setup {setup!r}; update it, or eject")
    return run_controller(kind, Path(controller), [os.fsdecode(word) for word in words])
