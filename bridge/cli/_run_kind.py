"""``run`` of a kind of setup: by the command line of its own, or as any loop is run."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.cli._options import refuse_options
from bridge.cli._terminal import guarded, say
from bridge.errors import ConfigurationError
from bridge.setups.asked import RunOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.setups.model import Setup, SetupKind

_CALLED = {
    "promise": ("completion_promise",),
    "resume": ("no_continue",),
    "words": ("process", "strict_compat", "no_lift"),
}
"""Options of a kind that are called otherwise on the command line, or bring others along."""


def run_kind(context: click.Context, kind: SetupKind, folder: Path, setup: Setup | None, asked: RunOptions) -> int:
    """Run the loop of a project: 0 complete, 1 ended incomplete, 4 the CLI can't be used as it is.

    Args:
        context: of ``run``; options that don't apply are refused.
        kind: of the project's setup.
        folder: the project's.
        setup: as it was found; None: nothing was.
        asked: what is asked of the loop.
    """
    if kind.command:
        run = import_module(kind.command).run_setup
        code: int = run(context, folder, setup, asked)
        return code
    refuse_options(context, _foreign(kind), f"to a {kind.name} setup")
    if asked.words and "words" not in kind.options:
        raise click.UsageError(
            f"{asked.words[0]!r} is a word of a controller: a {kind.name} setup has none", context
        )
    return _run(kind, folder, setup, asked, quiet=context.params["quiet"])


def _foreign(kind: SetupKind) -> set[str]:
    """What `run` has, and the kind hasn't."""
    from bridge.setups import kinds

    foreign = {name for each in kinds().values() for name in each.options} - kind.options
    return {"dry_run", *(name for option in foreign for name in _CALLED.get(option, (option,)))}


def _run(kind: SetupKind, folder: Path, setup: Setup | None, asked: RunOptions, *, quiet: bool) -> int:
    from bridge.cli._render import Renderer, drive
    from bridge.cli._summary import exit_code

    with kind.open(folder, setup, asked, lambda line: say(f"note: {line}")) as opened:
        if not quiet:
            say(f"{kind.title} · {folder}")
        renderer = Renderer(max_iterations=asked.max_iterations, quiet=quiet)
        return exit_code(drive(opened.events(), renderer.show, renderer.interrupted))


def run_controller(kind: SetupKind, controller: Path, words: Sequence[str]) -> int:
    """Do what a controller would, called with `words` in the working folder.

    Args:
        kind: of its setup.
        controller: its path; a stand-in of ours lies there.
        words: of its command line.
    """
    if kind.command:
        code: int = import_module(kind.command).controller(controller, words)
        return code
    with guarded():
        if words and "words" not in kind.options:
            raise click.UsageError(f"{words[0]!r}: a {kind.name} setup takes no words")
        found = kind.installation and kind.installation.detect(Path.cwd())
        if found is None:
            raise ConfigurationError(f"{Path.cwd()} holds no {kind.name} setup")
        return _run(kind, found.project, found, RunOptions(words=words), quiet=False)
