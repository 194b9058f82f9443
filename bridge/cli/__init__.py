"""The command line: the only place that prints.

``--version`` answers before anything heavy is imported; each command's module is imported when it is used.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """The console script. Exit codes: 0 fine, 1 violated or incomplete, 2 usage, 3 our bug, 4 environment."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from bridge._version import __version__

        sys.stdout.write(f"ralph-bridge {__version__}\n")
        return
    from bridge.cli.app import run_app

    sys.exit(run_app(sys.argv[1:]))
