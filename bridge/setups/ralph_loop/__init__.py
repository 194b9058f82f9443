"""ralph-loop setups: ``agents/*.sh`` with ``agent_*`` functions, and the bash controller ``ralph`` around them.

``detect`` finds one, ``arguments`` reads its command line, ``settings`` its ``config``; ``opening`` checks and
loads, ``prompt`` and ``plan`` make the prompts; ``policy`` (pure) and ``store`` are its part of the loop,
``session_log`` has the log's lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.setups import standin
from bridge.setups.ralph_loop.detect import NAME, at, detect, missing

if TYPE_CHECKING:
    from bridge.setups.model import Adopted, Setup

__all__ = ["NAME", "adopt", "at", "detect", "eject", "missing"]


def adopt(setup: Setup) -> Adopted:
    """Put a stand-in where the controller is: see `bridge.setups.standin.adopt`."""
    return standin.adopt(setup.controller, NAME)


def eject(setup: Setup) -> Adopted:
    """Put the original controller back: see `bridge.setups.standin.eject`."""
    return standin.eject(setup.controller)
