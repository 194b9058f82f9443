"""``ralph-bridge diff``: how two versions of a script behave differently."""

from __future__ import annotations

import click

from bridge.cli.common import write


@click.command()
@click.argument("old", type=click.Path(exists=True, dir_okay=False))
@click.argument("new", type=click.Path(exists=True, dir_okay=False))
@click.option("--format", "kind", type=click.Choice(["text", "json", "markdown"]), default="text",
              show_default=True, help="How the differences are shown.")  # fmt: skip
def diff(old: str, new: str, kind: str) -> int:
    """Compare the behaviour of OLD and NEW, two versions of a driver or an agent.

    Both are run over the same inputs: contexts, sessions, settings, special characters, recorded events. Equal
    differences are one change, with the inputs that it concerns. Exit codes: 0 the same, 1 different, 2 no
    scripts to compare.
    """
    from bridge.verify.diff import compare
    from bridge.verify.diff.render import RENDERERS

    difference = compare(old, new)
    write(RENDERERS[kind](difference))
    return 1 if difference.changes else 0
