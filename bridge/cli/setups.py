"""``ralph-bridge adopt``, ``eject`` and ``reset``, and what the stand-in runs in a controller's place."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.base.wording import tame
from bridge.cli._failures import guarded
from bridge.cli._options import project_folder, project_option, setup_option
from bridge.cli._terminal import say_all, show
from bridge.errors import ConfigurationError, SessionRefused
from bridge.loop.setups.options import RunOptions
from bridge.loop.setups.projects import choose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.loop.setups.setup_kind import Setup, SetupKind


@click.command()
@project_option
@setup_option
def adopt(*, project: str | None, setup_name: str | None) -> None:
    """Put a stand-in in the place of the setup's own controller.

    Whoever starts the controller (`./ralph plan 3`) gets ralph-bridge from then on, with the same words, messages
    and exit codes. The original is kept beside it; `ralph-bridge eject` puts it back byte for byte. Where one
    controller serves all projects of a user (frankbria's `ralph`), that is so in this project only.
    """
    from bridge.loop.setups import installations

    setup = _setup(project, setup_name)
    done = installations()[setup.name].adopt(setup)
    if done.set_aside is not None:
        show(f"an older original was there: it is {done.set_aside} now\n")
    what = "is ralph-bridge's stand-in now" if done.changed else "is ralph-bridge's stand-in already"
    show(f"{done.message or f'{done.controller} {what}; the original is {done.original}'}\n")


@click.command()
@project_option
@setup_option
def eject(*, project: str | None, setup_name: str | None) -> None:
    """Put the setup's own controller back, byte for byte.

    `ralph` of a user who has adopted several frankbria projects is put back with the last of them; in any folder,
    `--setup frankbria` forgets those that are gone.
    """
    from bridge.loop.setups import installations

    setup = _setup(project, setup_name, adopted=True)
    done = installations()[setup.name].eject(setup)
    what = "is the original again" if done.changed else "is the original: there is nothing to undo"
    show(f"{done.message or f'{done.controller} {what}'}\n")


def _setup(project: str | None, name: str | None, *, adopted: bool = False) -> Setup:
    """The setup of the project; `adopted`: by its marker, too, whatever has become of the rest."""
    from bridge.loop.setups import installations

    folder, known = project_folder(project), installations()
    for each, kind in known.items() if adopted else ():
        if name in (None, each) and kind.adopted and (setup := kind.adopted(folder, name is not None)) is not None:
            return setup
    setup = choose(folder, name)
    if setup is None:
        lacks = "\n  ".join(f"{each}: {'; '.join(kind.missing(folder))}" for each, kind in known.items())
        raise ConfigurationError(f"{folder} holds no setup\n  {lacks}")
    return setup


@click.command()
@project_option
def reset(*, project: str) -> None:
    """Close an open circuit breaker, and clear whatever else blocks the next start.

    This works in every kind of setup: the breaker of a bmalph loop becomes CLOSED and its session is reset, as
    ralph_loop.sh --reset-circuit does it; that of a wiggum loop becomes HALF, as with `wiggum reset`.
    Exit signals that an earlier run has left are dropped; a plan that `run --from` had put aside when it was
    killed is put back; what a turn in a box has left, and nobody has looked at, is taken as it is. Each step is
    shown on a line of its own; plans, logs and the count of this hour's calls stay.

    Exit codes: 0 reset, or nothing to reset; 4 a loop is at work here, whose pid is named.
    """
    with guarded():
        from bridge.loop.setups.projects import reset as clear

        folder = project_folder(project, first=lambda _folder: ())
        done = clear(folder)
        show("".join(f"{tame(line)}\n" for line in done) or "nothing to reset\n")


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
    from bridge.loop.setups import kinds

    kind = kinds().get(setup)
    if kind is None:
        raise ConfigurationError(f"{controller}: this ralph-bridge knows no setup {setup!r}; update it, or eject")
    return run_controller(kind, Path(controller), [os.fsdecode(word) for word in words])


def run_controller(kind: SetupKind, controller: Path, words: Sequence[str]) -> int:
    """Do what the controller at that path would, called with `words` in the working folder."""
    if kind.controller is not None:
        from bridge.cli._controller import run_words

        return run_words(kind.controller(), Path.cwd(), words, stand_in=controller)
    if kind.command:
        code: int = import_module(kind.command).controller(controller, words)
        return code
    with guarded():
        from bridge.cli.run import run_kind

        if kind.called is not None:
            try:
                setup, options = kind.called(controller, words)
            except SessionRefused as refusal:
                say_all(str(refusal))
                return refusal.exit_code
            return run_kind(kind, setup.project, setup, options, quiet=False)
        if words and "words" not in kind.options:
            raise click.UsageError(f"{words[0]!r}: a {kind.name} setup takes no words")
        found = kind.installation and kind.installation.detect(Path.cwd())
        if found is None:
            raise ConfigurationError(f"{Path.cwd()} holds no {kind.name} setup")
        return run_kind(kind, found.project, found, RunOptions(words=tuple(words)), quiet=False)
