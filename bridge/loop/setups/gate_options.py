"""The gates of a loop: what is asked for by options and the environment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bridge.errors import ConfigurationError
from bridge.loop.setups.further_tools import candidate, parse_tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.loop.engine.loop_settings import Gating
    from bridge.loop.setups.options import RunOptions

OPTIONS = ("check", "check_every_turn", "check_minutes", "review", "review_every", "review_rounds")
"""Those of a run that are about them."""

VARIABLES = {"check": "RALPH_BRIDGE_CHECK", "review": "RALPH_BRIDGE_REVIEW"}
"""Option to the variable that sets it."""


def gates_of(options: RunOptions, env: Mapping[str, str] | None = None) -> Gating | None:
    """Give the gates of a loop; None: it has none.

    Args:
        env: of this process; None: os.environ.

    Raises:
        ConfigurationError: a value that makes no sense.
    """
    from bridge.loop.engine.loop_settings import CHECK_SECONDS, REVIEW_ROUNDS, Gating, Reviewing

    env = os.environ if env is None else env
    asked = {name: getattr(options, name) for name in VARIABLES}
    check, tool = (
        (env.get(VARIABLES[name], "") if asked[name] is None else asked[name]).strip() for name in VARIABLES
    )
    if "\0" in check:
        raise ConfigurationError(f"--check {check!r}: no command has a NUL in it\n  next: correct it")
    for name in ("check_every_turn", "check_minutes", "review_every", "review_rounds"):
        about, _, _ = name.partition("_")
        if getattr(options, name) and not (check if about == "check" else tool):
            example = "--check 'make test'" if about == "check" else "--review driver:codex"
            raise ConfigurationError(
                f"--{name.replace('_', '-')} is about a {about}, and there is none\n  next: {example}"
            )
    if not check and not tool:
        return None
    minutes, spec = options.check_minutes, parse_tool(tool, "--review") if tool else None
    review = None
    if spec is not None:
        every, rounds = options.review_every or 0, options.review_rounds or REVIEW_ROUNDS
        review = Reviewing(tool=candidate(spec, env, reads_only=True), every=every, rounds=rounds)
    return Gating(
        review=review,
        check=check,
        every_turn=options.check_every_turn,
        seconds=CHECK_SECONDS if minutes is None else minutes * 60,
    )
