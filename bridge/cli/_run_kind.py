"""The loop of a project of any kind: as ``run`` shows it, and in the place of its controller."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridge.cli._terminal import AT_OPEN_BREAKER, guarded, say, shell_line, write
from bridge.errors import ConfigurationError
from bridge.setups.options import RunOptions, check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.setups.model import Opened, Setup, SetupKind


def run_kind(kind: SetupKind, folder: Path, setup: Setup | None, options: RunOptions, *, quiet: bool) -> int:
    """Run the loop of a project: 0 complete, 1 ended incomplete, 4 the CLI can't be used as it is.

    Args:
        kind: of the project's setup.
        folder: the project's.
        setup: as it was found; None: nothing was.
        options: what is asked of the loop; those that don't apply are refused.
        quiet: no line per step.
    """
    from bridge.cli._render import Renderer, drive
    from bridge.cli._summary import exit_code, first_line
    from bridge.cli._view import view
    from bridge.git.ignore import unignored

    if options.words and "words" not in kind.options:
        raise click.UsageError(
            f"{options.words[0]!r} is a word of a controller, and {folder} is a {kind.name} setup"
        )
    check(kind, options, setup=setup, by_flag=True)
    if kind.command:
        code: int = import_module(kind.command).run_setup(setup, options, quiet=quiet)
        return code
    with kind.open(folder, setup, options, lambda line: say(f"note: {line}")) as opened:
        if options.dry_run:
            return preview(opened)
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        begun, most = opened.begun(), options.max_iterations
        if begun is not None:
            most = begun[1].limits.max_iterations
        if not quiet:
            where, samples = opened.state_files()
            if unignored(folder, samples):  # an agent's `git add -A` would commit it
                say(f"note: git does not ignore the loop's state in {where}; next: ralph-bridge doctor --fix")
            say(f"{kind.title} · {folder}" if begun is None else first_line(*begun))
        renderer = Renderer(max_iterations=most, quiet=quiet)
        calls = opened.calls_per_hour
        shown = nullcontext((renderer.show, renderer.interrupted))
        with (
            shown if calls is None else view(renderer, calls_per_hour=calls, max_iterations=most, quiet=quiet) as (
                show,
                interrupted,
            )
        ):
            end = drive(opened.events(), show, interrupted)
        if opened.breaker_is_open(end) and not quiet:
            say(AT_OPEN_BREAKER)
        if remark := opened.remark(end):
            say(remark)
        return exit_code(end)


def preview(opened: Opened) -> int:
    """Print what would run on stdout, and on stderr what is to be known of it. Touches nothing."""
    lines, what = opened.preview()
    for line in lines:
        say(line)
    write(what if isinstance(what, bytes) else shell_line(what.argv, what.stdin))
    return 0


def run_controller(kind: SetupKind, controller: Path, words: Sequence[str]) -> int:
    """Do what a controller would, called with `words` in the working folder.

    Args:
        kind: of its setup.
        controller: its path; a stand-in of ours lies there.
        words: of its command line.
    """
    if kind.controller is not None:
        from bridge.cli._controller import run_words

        return run_words(kind.controller(), Path.cwd(), words, stand_in=controller)
    if kind.command:
        code: int = import_module(kind.command).controller(controller, words)
        return code
    with guarded():
        if words and "words" not in kind.options:
            raise click.UsageError(f"{words[0]!r}: a {kind.name} setup takes no words")
        found = kind.installation and kind.installation.detect(Path.cwd())
        if found is None:
            raise ConfigurationError(f"{Path.cwd()} holds no {kind.name} setup")
        return run_kind(kind, found.project, found, RunOptions(words=tuple(words)), quiet=False)
