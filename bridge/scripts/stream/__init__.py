"""What the coding CLIs print: filters, readers, status blocks. Pure functions; nothing here prints."""

from __future__ import annotations

import sys
from pathlib import Path


def provided_jq() -> list[str]:
    """How to start `bridge.scripts.stream.jq_command`; empty where the binding ``jq`` (or Python) isn't found.

    ``-I`` and ``-S`` keep the environment, the working folder and site-packages out: that halves the time to start.
    """
    from importlib.util import find_spec

    found = find_spec("jq")
    if found is None or not found.origin or not sys.executable:
        return []
    return [sys.executable, "-I", "-S", "-B", str(Path(__file__).with_name("jq_command.py")), found.origin]


COMMANDS = {"jq": provided_jq}
"""What `bridge.shell.Shell` is given as ``commands``."""
