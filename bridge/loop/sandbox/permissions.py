"""What a command lets its CLI do: its permissions, and its own sandbox beside a box of ours. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from bridge.base.clis import find_cli

if TYPE_CHECKING:
    from collections.abc import Sequence


def without_own(program: str, arguments: Sequence[str]) -> list[str]:
    """Give a CLI's arguments with its own sandbox switched off, which could let no command run in a box of ours."""
    cli = find_cli(program)
    if cli is None or cli.own_sandbox is None:
        return [*arguments]
    own, found, told = cli.own_sandbox, [*arguments], False
    for at, word in enumerate(arguments):
        name, equals, _ = word.partition("=")
        if word == "--":
            break
        if at and arguments[at - 1] in own.options:
            found[at], told = own.without, True
        elif equals and name in own.options:
            found[at], told = f"{name}={own.without}", True
    return found if told else [*own.setting, *found]


_ALWAYS = "*"
"""In the place of options: the CLI asks for nothing, whatever its command says."""


def unrestricted(argv: Sequence[str], *, boxed: bool = False) -> bool | None:
    """Say whether a command lets its CLI do whatever it likes without asking; None: nobody knows.

    Args:
        argv: the command, its program first. boxed: it runs in a box of ours, without its own sandbox.
    """
    cli = find_cli(argv[0]) if argv else None
    if cli is None or not cli.unrestricted:
        return None
    if _ALWAYS in cli.unrestricted:
        return True
    words = without_own(argv[0], argv[1:]) if boxed else argv[1:]
    words = [word.replace('"', "") for word in words]  # as TOML has them: -c sandbox_mode="danger-full-access"
    pairs = {f"{word}={value}" for word, value in pairwise(words)}
    if pairs.union(words).intersection(cli.unrestricted):
        return True
    own = cli.own_sandbox
    # What no option says may stand in its settings.
    return None if own and not any(word.partition("=")[0] in own.options for word in words) else False


def commits_refused(argv: Sequence[str]) -> str:
    """Say in a sentence that a command's CLI can't commit in its own sandbox, and what to do; '': it can, or nobody
    knows. In a box of ours that sandbox is off.
    """
    cli = find_cli(argv[0]) if argv else None
    own = cli.own_sandbox if cli else None
    if cli is None or own is None or own.commits or unrestricted(argv) is not False:
        return ""
    return f"{cli.name} can't commit in its own sandbox; it can with `--sandbox bwrap`, which takes its place"
