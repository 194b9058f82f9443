"""The jq that scripts get where the machine has none: how to start `bridge.stream.jq_command`."""

from __future__ import annotations

import sys
from pathlib import Path


def jq() -> list[str]:
    """Program and first arguments; empty where the binding ``jq`` (or Python itself) can't be found.

    ``-I`` and ``-S`` keep the environment, the working folder and site-packages out: that halves the time to start.
    """
    from importlib.util import find_spec

    found = find_spec("jq")
    if found is None or not found.origin or not sys.executable:
        return []
    return [sys.executable, "-I", "-S", "-B", str(Path(__file__).with_name("jq_command.py")), found.origin]


COMMANDS = {"jq": jq}
"""What `bridge.shell.Shell` is given as ``commands``."""
