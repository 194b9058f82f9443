"""The command line of ``ralph_loop.sh``, for the stand-in."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from bridge.cli._terminal import guarded, say
from bridge.cli.common import os_text, write
from bridge.errors import BridgeError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bridge.setups.bmalph.flags import Plan
    from bridge.setups.bmalph.folder import Folder

__all__ = ["controller"]


def controller(_path: Path, words: Sequence[str]) -> int:
    """Do what ``ralph_loop.sh`` would, called with `words` in the project's folder.

    Exit codes are the documented ones: 0 for what is done at once and for every orderly end of a loop, 1 for
    what fails before the loop starts.
    """
    from bridge.setups.bmalph.controls import CONTROLS
    from bridge.setups.bmalph.flags import USAGE, parse
    from bridge.setups.bmalph.folder import locate

    plan = parse([os_text(word) for word in words])
    if plan.action == "error":
        say(plan.message)
        return 1
    if plan.action == "help":
        write(USAGE)
        return 0
    with guarded():
        try:
            folder = locate(".")
            if plan.action == "run":
                return _run(folder, plan)
            shown = CONTROLS[plan.action](folder, time.time())
            write(shown.text)
            return shown.code
        except BridgeError as error:
            say(f"Error: {error}")
            return 1


def _run(folder: Folder, plan: Plan) -> int:
    """Check everything, then start the loop."""
    from bridge.setups.bmalph.start import ready

    ready(folder, env=os.environ, options=plan.options)
    raise BridgeError("the loop itself is not wired to this command yet")
