"""A CLI's own sandbox, where its commands run in a box of ours already. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.clis import find_cli

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
