"""The gates of a loop: what is asked for by options and the environment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.loop.gates import SECONDS, Gating

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.setups.options import RunOptions

OPTIONS = ("check", "check_every_turn", "check_minutes")
"""Those of a run that are about them."""

VARIABLES = {"check": "RALPH_BRIDGE_CHECK"}
"""Option to the variable that sets it."""


def gates_of(options: RunOptions, env: Mapping[str, str] | None = None) -> Gating | None:
    """Give the gates of a loop; None: it has none.

    Args:
        options: of the run.
        env: of this process; None: os.environ.

    Raises:
        ConfigurationError: a value that makes no sense.
    """
    env = os.environ if env is None else env
    check = (env.get(VARIABLES["check"], "") if options.check is None else options.check).strip()
    if "\0" in check:
        raise ConfigurationError(f"--check {check!r}: no command has a NUL in it\n  next: correct it")
    for name in ("check_every_turn", "check_minutes"):
        if getattr(options, name) and not check:
            raise ConfigurationError(
                f"--{name.replace('_', '-')} is about a check, and there is none\n  next: --check 'make test'"
            )
    if not check:
        return None
    minutes = options.check_minutes
    return Gating(
        check=check,
        every_turn=options.check_every_turn,
        seconds=SECONDS if minutes is None else minutes * 60,
    )
