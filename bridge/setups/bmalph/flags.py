"""The options of ``ralph_loop.sh``, as its stand-in takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.setups.dot_ralph import flags
from bridge.setups.dot_ralph.flags import Arguments, Grammar

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = f"""\
Usage: ralph_loop.sh [OPTIONS]

{flags.USAGE.format(calls="runs that may succeed")}

{flags.OWN_USAGE}

Settings: .ralph/.ralphrc and the environment; options are stronger than both.
ralph-bridge stands in for this script. `ralph-bridge eject` brings the original back.
"""

GRAMMAR = Grammar(flags={"-l": "live", "--live": "live"})


def parse(arguments: Sequence[str]) -> Arguments:
    """Read the options; see :func:`bridge.setups.dot_ralph.flags.parse`."""
    return flags.parse(arguments, GRAMMAR)
